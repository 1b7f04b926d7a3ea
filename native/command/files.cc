#include "files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "../recordings/bytes.h"
#include "../system/files.h"

namespace tetraphone {
namespace {

namespace fs = std::filesystem;

fs::path PathOf(const std::string& utf8) { return fs::u8path(utf8); }

bool IsRecording(const fs::path& path) {
  std::string suffix = path.extension().u8string();
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return suffix == ".wav";
}

// Appends the recordings below a folder, by their names.
void ListFolder(const fs::path& folder, std::vector<fs::path>* found, std::vector<std::string>* faults) {
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
    } else if (IsRecording(entry)) {
      found->push_back(entry);
    }
  }
}

std::string ResultOf(const fs::path& place, const std::string& output, const std::string& suffix) {
  if (output.empty()) return "";
  return (PathOf(output) / place.parent_path() / PathOf(place.stem().u8string() + suffix)).u8string();
}

}  // namespace

Jobs ListJobs(const std::vector<std::string>& named, const std::string& output, const std::string& suffix) {
  Jobs jobs;
  for (const std::string& name : named) {
    const fs::path path = PathOf(name);
    std::error_code unknown;
    if (!fs::is_directory(path, unknown)) {
      jobs.jobs.push_back({name, ResultOf(path.filename(), output, suffix)});
      continue;
    }
    std::vector<fs::path> found;
    const std::size_t faults = jobs.faults.size();
    ListFolder(path, &found, &jobs.faults);
    if (found.empty() && jobs.faults.size() == faults) {
      jobs.faults.push_back("the folder " + name + " holds no file whose name ends in .wav; name its recordings");
    }
    for (const fs::path& recording : found) {
      jobs.jobs.push_back({recording.u8string(), ResultOf(recording.lexically_relative(path), output, suffix)});
    }
  }
  return jobs;
}

Failure KeepApart(const std::string& settings, std::vector<Job>* jobs) {
  // Capital letters of ASCII count as small ones, since some disks do not tell them apart.
  const auto place = [](const std::string& path) {
    std::string small = PathOf(path).lexically_normal().u8string();
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
  };
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

bool IsFresh(const Job& job, const std::string& settings) {
  std::error_code none, unknown;
  const auto made = fs::last_write_time(PathOf(job.result), none);
  if (none || !fs::is_regular_file(PathOf(job.result), unknown)) return false;
  if (fs::file_size(PathOf(job.result), unknown) == 0) return false;  // what a loss of power may have left
  for (const std::string& source : {job.recording, settings}) {
    const auto changed = fs::last_write_time(PathOf(source), unknown);
    if (unknown || made < changed) return false;
  }
  return true;
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

Failure WriteWhole(const std::string& path, const std::string& content) {
  const auto fault = [&](int error) {
    return Error{ErrorCode::kUnreadable, "cannot write " + path + ": " + std::generic_category().message(error) + "; " +
                                             MendOfWriting(error, "name a folder that you may write to")};
  };
  const fs::path target = PathOf(path);
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return fault(error.value());
  const std::string partial = (target.parent_path() / (".tetraphone.partial-" + std::to_string(getpid()))).u8string();
  std::FILE* const file = OpenFile(partial, "wb");
  if (file == nullptr) return fault(errno);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const int why = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) error.assign(written ? errno : why, std::generic_category());
  if (!error) fs::rename(PathOf(partial), target, error);
  if (!error) return std::nullopt;
  const Error says = fault(error.value());
  fs::remove(PathOf(partial), error);
  return says;
}

}  // namespace tetraphone
