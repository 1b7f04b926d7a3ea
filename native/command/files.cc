#include "files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

#include "../recordings/bytes.h"
#include "../system/files.h"

namespace tetraphone {
namespace {

namespace fs = std::filesystem;

constexpr char kPartial[] = ".partial-";  // in the name of a file that is still being written; as in Python

// Names of sound files that are not decoded here; evaluation/batch.py has them too.
constexpr std::string_view kNotDecoded[] = {
    ".3gp", ".aac", ".aif",  ".aifc", ".aiff", ".amr", ".au",   ".caf", ".flac", ".m4a", ".mka", ".mp3", ".mp4",
    ".nist", ".oga", ".ogg", ".opus", ".rf64", ".snd", ".sph", ".w64",  ".webm", ".wma"};

// What lies in a folder.
struct Found {
  std::vector<fs::path> recordings;
  std::vector<fs::path> not_decoded;
};

Error CannotWrite(const std::string& path, int error) {
  return {ErrorCode::kUnreadable, "cannot write " + path + ": " + std::generic_category().message(error) + "; " +
                                      MendOfWriting(error, "name a folder that you may write to")};
}

// Appends the recordings below a folder, by their names.
void ListFolder(const fs::path& folder, Found* found, std::vector<std::string>* faults) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().u8string().front() != '.') entries.push_back(at->path());
  }
  if (error) {
    faults->push_back("cannot read the folder " + folder.u8string() + ": " + error.message() +
                      "; give a readable folder");
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    std::error_code unknown;
    if (fs::is_directory(entry, unknown)) {
      if (!fs::is_symlink(entry, unknown)) ListFolder(entry, found, faults);
      continue;
    }
    const std::string suffix = SmallLetters(entry.extension().u8string());
    if (std::find(std::begin(kNotDecoded), std::end(kNotDecoded), suffix) != std::end(kNotDecoded)) {
      found->not_decoded.push_back(entry);
    } else if (suffix == ".wav" && fs::exists(entry, unknown) && !fs::is_regular_file(entry, unknown)) {
      faults->push_back(entry.u8string() + " is a pipe or a device; name it by itself, or leave it out");
    } else if (suffix == ".wav") {
      found->recordings.push_back(entry);
    }
  }
}

std::string ResultOf(const fs::path& place, const std::string& output, const std::string& suffix) {
  if (output.empty()) return "";
  return (PathOf(output) / place.parent_path() / PathOf(place.stem().u8string() + suffix)).u8string();
}

}  // namespace

fs::path PathOf(const std::string& utf8) { return fs::u8path(utf8); }

std::string PathFrom(const std::string& folder, const std::string& path) {
  std::error_code unknown;
  const fs::path whole = fs::absolute(PathOf(path), unknown).lexically_normal();
  fs::path from = fs::absolute(PathOf(folder), unknown).lexically_normal();
  if (!from.has_filename()) from = from.parent_path();  // as in "results/"
  const fs::path relative = whole.lexically_relative(from);
  return (relative.empty() ? whole : relative).generic_u8string();  // empty: on another drive of Windows
}

std::string SmallLetters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Jobs ListJobs(const std::vector<std::string>& named, const std::string& output, const std::string& suffix) {
  Jobs jobs;
  for (const std::string& name : named) {
    const fs::path path = PathOf(name);
    std::error_code unknown;
    if (!fs::is_directory(path, unknown)) {
      jobs.jobs.push_back({name, ResultOf(path.filename(), output, suffix)});
      continue;
    }
    Found found;
    const std::size_t faults = jobs.faults.size();
    ListFolder(path, &found, &jobs.faults);
    if (!found.not_decoded.empty()) {
      jobs.notes.push_back("passed over in " + name + ": " + std::to_string(found.not_decoded.size()) +
                           " not decoded here, such as " + found.not_decoded.front().filename().u8string() +
                           "; convert them, as by `ffmpeg -i INPUT output.wav`, or take `tetraphone recognize`");
    }
    if (found.recordings.empty() && jobs.faults.size() == faults) {
      jobs.faults.push_back("the folder " + name + " holds no file whose name ends in .wav; name its recordings");
    }
    for (const fs::path& recording : found.recordings) {
      jobs.jobs.push_back({recording.u8string(), ResultOf(recording.lexically_relative(path), output, suffix)});
    }
  }
  return jobs;
}

Failure KeepApart(const std::string& settings, std::vector<Job>* jobs) {
  const auto place = [](const std::string& path) { return SmallLetters(PathOf(path).lexically_normal().u8string()); };
  std::map<std::string, std::string> taken{{place(settings), ""}};
  std::vector<Job> kept;
  for (Job& job : *jobs) {
    const std::string recording = PathOf(job.recording).lexically_normal().u8string();
    const auto [before, is_new] = taken.emplace(place(job.result), recording);
    if (!is_new && before->second.empty()) {
      return Error{ErrorCode::kInvalidArgument, "the result of " + recording + " would replace " + settings +
                                                    "; give the recording another name"};
    }
    if (!is_new && before->second != recording) {
      return Error{ErrorCode::kInvalidArgument, before->second + " and " + recording + " would both have the result " +
                                                    job.result + "; name a folder above both, or write to two folders"};
    }
    if (is_new) kept.push_back(std::move(job));
  }
  *jobs = std::move(kept);
  return std::nullopt;
}

bool Exists(const std::string& path) {
  std::error_code unknown;
  return fs::exists(PathOf(path), unknown);
}

std::string Content(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  std::string content;
  char bytes[4096];
  for (std::size_t count; file && (count = std::fread(bytes, 1, sizeof bytes, file.get())) > 0;) {
    content.append(bytes, count);
  }
  return content;
}

Failure KeepNamesApart(const std::vector<Job>& jobs) {
  std::map<std::string, std::string> taken;
  for (const Job& job : jobs) {
    const fs::path path = PathOf(job.recording).lexically_normal();
    const auto [before, is_new] = taken.emplace(path.stem().u8string(), path.u8string());
    if (is_new || before->second == path.u8string()) continue;
    return Error{ErrorCode::kInvalidArgument, before->second + " and " + path.u8string() + " would both be called " +
                                                  before->first + " in this format; rename one, or give --output DIR"};
  }
  return std::nullopt;
}

Failure MakeFoldersAbove(const std::string& path) {
  std::error_code error;
  fs::create_directories(PathOf(path).parent_path(), error);
  return error ? Failure(CannotWrite(path, error.value())) : std::nullopt;
}

Failure WriteWhole(const std::string& path, const std::string& content) {
  if (Failure failure = MakeFoldersAbove(path)) return failure;
  const fs::path target = PathOf(path);
  const std::string name = std::string(".tetraphone") + kPartial + std::to_string(getpid());
  const std::string partial = (target.parent_path() / name).u8string();
  std::FILE* const file = OpenFile(partial, "wb");
  if (file == nullptr) return CannotWrite(path, errno);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const int why = errno;
  const bool closed = std::fclose(file) == 0;
  std::error_code error;
  if (!written || !closed) error.assign(written ? errno : why, std::generic_category());
  if (!error) fs::rename(PathOf(partial), target, error);
  if (!error) return std::nullopt;
  const Error says = CannotWrite(path, error.value());
  fs::remove(PathOf(partial), error);
  return says;
}

Failure AppendLine(const std::string& path, const std::string& line) {
  std::error_code error;
  const auto before = fs::file_size(PathOf(path), error);
  const bool is_new = static_cast<bool>(error);
  std::FILE* const file = OpenFile(path, "ab");
  if (file == nullptr) return CannotWrite(path, errno);
  const bool written = std::fwrite(line.data(), 1, line.size(), file) == line.size();
  const int why = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return std::nullopt;
  const Error says = CannotWrite(path, written ? errno : why);
  if (is_new) {
    fs::remove(PathOf(path), error);
  } else {
    fs::resize_file(PathOf(path), before, error);
  }
  return says;
}

void RemovePartial(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> partial;
  for (fs::directory_iterator at(PathOf(folder), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().u8string();
    if (name.front() == '.' && name.find(kPartial) != name.npos) partial.push_back(at->path());
  }
  for (const fs::path& path : partial) fs::remove(path, error);
}

}  // namespace tetraphone
