#include "results_folder.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "../common/crc32.h"
#include "../recognizer/settings.h"
#include "../results/escape.h"

namespace tetraphone {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordingsFile[] = "tetraphone.recordings";
constexpr char kMend[] = "; name another folder, or give --overwrite to make them anew";
constexpr char kResult[] = "{\"result\": ", kRecording[] = ", \"recording\": ", kSize[] = ", \"size\": ",
               kModified[] = ", \"modified\": ", kCrc32[] = ", \"crc32\": ";

Error Refusal(const std::string& what) { return {ErrorCode::kInvalidArgument, what + kMend}; }

// Of a whole file; 0 where it cannot be read.
std::uint32_t Checksum(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  std::vector<std::uint8_t> bytes(std::size_t{1} << 16);
  std::uint32_t checksum = 0;
  for (std::size_t count; file && (count = std::fread(bytes.data(), 1, bytes.size(), file.get())) > 0;) {
    checksum = Crc32(bytes.data(), count, checksum);
  }
  return checksum;
}

// Takes `name` and a number from the front of a line.
template <typename T>
bool TakeNumber(const char* name, std::string_view* line, T* number) {
  const std::size_t length = std::strlen(name);
  if (line->substr(0, length) != name) return false;
  const auto [stop, error] = std::from_chars(line->data() + length, line->data() + line->size(), *number);
  line->remove_prefix(static_cast<std::size_t>(stop - line->data()));
  return error == std::errc();
}

}  // namespace

Result<std::unique_ptr<ResultsFolder>> ResultsFolder::Open(const std::string& folder, const std::string& settings,
                                                           bool overwrite, std::vector<Job>* jobs) {
  const std::string path = folder + "/" + kSettingsFile;
  if (Failure failure = MakeFoldersAbove(path)) return *failure;
  auto lock = FolderLock::Take(folder);
  if (!lock) return Error{ErrorCode::kUnreadable, "cannot write " + folder + "/.lock: " + lock.error().message + kMend};
  if (!lock->has_value()) {
    return Error{ErrorCode::kInvalidArgument,
                 "another process works in " + folder + "; wait for it, or choose another folder"};
  }
  std::unique_ptr<ResultsFolder> opened(new ResultsFolder(folder, *std::move(*lock)));
  std::set<std::string> folders{folder};
  for (const Job& job : *jobs) folders.insert(PathOf(job.result).parent_path().u8string());
  for (const std::string& each : folders) RemovePartial(each);

  const bool known = Exists(path);
  if (known && !overwrite && Content(path) != settings) {
    return Refusal("the results in " + folder + " were made by another model or other options");
  }
  if (!known || overwrite) {
    for (const Job& job : *jobs) {
      if (overwrite || !Exists(job.result)) continue;
      return Refusal(job.result + " is there, and " + folder + " does not say what it was made by");
    }
    // First: what other settings made must not be taken for a result should the process end here.
    std::error_code unknown;
    fs::remove(PathOf(folder + "/" + kRecordingsFile), unknown);
    if (Failure failure = WriteWhole(path, settings)) return *failure;
  }
  if (Failure failure = opened->Read()) return *failure;
  std::vector<Job> left;
  for (Job& job : *jobs) {
    const Result<bool> done = opened->IsDone(job);
    if (!done) return done.error();
    if (!*done) left.push_back(std::move(job));
  }
  *jobs = std::move(left);
  return opened;
}

// Lines that no command of ours wrote are passed over.
Failure ResultsFolder::Read() {
  const std::string path = folder_ + "/" + kRecordingsFile;
  const std::string content = Content(path);
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    std::string_view line(content.data() + at, end - at);
    at = end + 1;
    // Within a string of JSON no quote is without its \ and so none of these names.
    const std::size_t recording = line.find(std::string("\"") + kRecording);
    const std::size_t size = line.find(std::string("\"") + kSize);
    constexpr std::size_t kStart = sizeof kResult - 1, kMiddle = sizeof kRecording - 1;
    if (line.substr(0, kStart) != kResult || recording == line.npos || size == line.npos || size < recording) continue;
    Source source;
    source.result = line.substr(kStart, recording + 1 - kStart);
    source.recording = line.substr(recording + 1 + kMiddle, size - recording - kMiddle);
    line.remove_prefix(size + 1);
    if (TakeNumber(kSize, &line, &source.size) && TakeNumber(kModified, &line, &source.modified) &&
        TakeNumber(kCrc32, &line, &source.crc32) && line == "}") {
      known_[SmallLetters(source.result)] = std::move(source);
    }
  }
  // A loss of power cut the line.
  return content.empty() || content.back() == '\n' ? std::nullopt : AppendLine(path, "\n");
}

Result<bool> ResultsFolder::IsDone(const Job& job) const {
  const std::string result = NameOf(job), recording = JsonText(PathFrom(folder_, job.recording));
  const auto found = known_.find(SmallLetters(result));
  const auto made = StampOf(job.result), now = StampOf(job.recording);
  if (found == known_.end() || !now) return false;
  const bool is_there = made && made->size > 0;  // an empty one may be what a loss of power left
  const Source& known = found->second;
  const bool same_name = recording == known.recording;
  if (same_name && now->size == known.size && now->modified == known.modified) return is_there;
  if (now->size == known.size && Checksum(job.recording) == known.crc32) return is_there;  // moved, or its time changed
  if (same_name || (known.result == result && !is_there)) return false;
  std::string other = known.recording.substr(1, known.recording.size() - 2);
  if (other.find('\\') == other.npos) other = (PathOf(folder_) / PathOf(other)).lexically_normal().u8string();
  return Refusal(job.result + " is the result of " + other + ", not of " + job.recording);
}

void ResultsFolder::Begin(const Job& job) {
  const auto now = StampOf(job.recording);
  begun_ = {NameOf(job), JsonText(PathFrom(folder_, job.recording))};
  if (now) begun_ = {begun_.result, begun_.recording, now->size, now->modified, Checksum(job.recording)};
}

Failure ResultsFolder::Write(const Job& job, const std::string& text) {
  if (Failure failure = WriteWhole(job.result, text)) return failure;
  return AppendLine(folder_ + "/" + kRecordingsFile,
                    kResult + begun_.result + kRecording + begun_.recording + kSize + std::to_string(begun_.size) +
                        kModified + std::to_string(begun_.modified) + kCrc32 + std::to_string(begun_.crc32) + "}\n");
}

std::string ResultsFolder::NameOf(const Job& job) const {
  return JsonText(PathFrom(folder_, job.result));
}

}  // namespace tetraphone
