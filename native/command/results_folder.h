// A folder of results that can be gone on with: which settings made them, and which recording each is of. As
// evaluation/results_folder.py, whose folders it reads; README.md, "Folders of results", says what lies in one.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../common/result.h"
#include "../system/files.h"
#include "files.h"

namespace tetraphone {

class ResultsFolder {
 public:
  // Sees to it that the results are those of these settings, and that this process has the folder for itself. Takes the
  // jobs that are done from the list. Fails where a result is another recording's.
  static Result<std::unique_ptr<ResultsFolder>> Open(const std::string& folder, const std::string& settings,
                                                     bool overwrite, std::vector<Job>* jobs);

  // Before the recording is read for its result.
  void Begin(const Job& job);
  // Writes the result of the job that was begun, whole or not at all; then remembers which recording it is of.
  Failure Write(const Job& job, const std::string& text);

 private:
  // What is remembered of a recording. Pipes and missing files have neither size, time nor checksum.
  struct Source {
    std::string result;     // its path in the folder, as JSON
    std::string recording;  // its path from the folder, so that both may be moved together; as JSON
    std::uint64_t size = 0;
    std::int64_t modified = 0;
    std::uint32_t crc32 = 0;
  };

  ResultsFolder(std::string folder, FolderLock lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  Failure Read();
  Result<bool> IsDone(const Job& job) const;
  std::string NameOf(const Job& job) const;

  const std::string folder_;
  const FolderLock lock_;
  std::map<std::string, Source> known_;  // by the result, in small letters
  Source begun_;
};

}  // namespace tetraphone
