// Recordings in folders; files that appear whole.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

// A recording, and the file of its result; empty: standard output.
struct Job {
  std::string recording;
  std::string result;
};

struct Jobs {
  std::vector<Job> jobs;            // in the order in which they are named, those of a folder by their names
  std::vector<std::string> faults;  // sentences: folders that cannot be read, or hold no recording; pipes in them
  std::vector<std::string> notes;   // sentences: recordings in folders that are not decoded here
};

// The recordings that are named, and those below folders that are named. Hidden files and links to folders are passed
// over. With an `output` folder the place of each result in it, with this suffix (README.md, "Folders of results").
Jobs ListJobs(const std::vector<std::string>& named, const std::string& output, const std::string& suffix);
// Refuses two recordings of one result, and one whose result would be the folder's settings. A recording that is named
// twice is kept once.
Failure KeepApart(const std::string& settings, std::vector<Job>* jobs);

std::filesystem::path PathOf(const std::string& utf8);
// A path as it is called from a folder; both may be relative to the working directory.
std::string PathFrom(const std::string& folder, const std::string& path);
// ASCII's capital letters as small ones: some disks do not tell them apart.
std::string SmallLetters(std::string text);
// A recording's name in a format that has it without folders and suffix: refuses two that would have the same.
Failure KeepNamesApart(const std::vector<Job>& jobs);

bool Exists(const std::string& path);
// A file's bytes, "" if it cannot be read.
std::string Content(const std::string& path);
Failure MakeFoldersAbove(const std::string& path);
// Makes the folders above it. The file is there whole, or as it was before.
Failure WriteWhole(const std::string& path, const std::string& content);
// All of it, or none.
Failure AppendLine(const std::string& path, const std::string& line);
// Removes what a command that was killed was writing in a folder.
void RemovePartial(const std::string& folder);

}  // namespace tetraphone
