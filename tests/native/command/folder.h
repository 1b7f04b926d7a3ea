// A folder of its own for a test.

#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "command/capture.h"
#include "../recordings/recordings.h"

namespace tetraphone {

// A folder of its own for a test, as PATH if it holds recorders.
class Folder : public testing::Test {
 protected:
  Folder() {
    char name[] = "/tmp/tetraphone-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() override {
    std::filesystem::remove_all(path_);
    setenv("PATH", search_.c_str(), 1);
  }

  void Write(const std::string& name, const std::string& content) { std::ofstream(path_ + "/" + name) << content; }
  void Recorder(const std::string& name, const std::string& body) {
    Write(name, "#!/bin/sh\nPATH=/usr/bin:/bin\n" + body + "\n");
    chmod((path_ + "/" + name).c_str(), 0755);
  }
  Result<Capture> Start(double patience = 10) {
    setenv("PATH", path_.c_str(), 1);
    return Capture::Start(kRate, patience);
  }
  std::string Content(const std::string& name) {
    std::ostringstream content;
    content << std::ifstream(path_ + "/" + name).rdbuf();
    return content.str();
  }

  std::string path_;
  std::string search_ = std::getenv("PATH");
};

}  // namespace tetraphone
