// What results depend on, told apart.

#include "recognizer/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace tetraphone {
namespace {

class Settings : public testing::Test {
 protected:
  Settings() : folder_(std::filesystem::temp_directory_path() / ("settings-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Settings() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  const std::filesystem::path folder_;
};

TEST_F(Settings, AreOneLineOfJson) {
  StreamOptions options;
  options.decoder.beam = 8;
  options.decoder.phone_bonus = -0.5;
  // The hash is that of FNV's authors for "foobar".
  EXPECT_EQ(*SettingsText(File("model", "foobar"), File("empty", ""), options, "ipa"),
            "{\"results\": 1, \"model\": \"85944171f73967e8-6\", \"grammar\": \"cbf29ce484222325-0\", \"beam\": 8, "
            "\"grammar_scale\": 0.3, \"phone_bonus\": -0.5, \"context\": 2, \"blank_shift\": 0, \"channel\": -1, "
            "\"alphabet\": \"ipa\"}\n");
}

TEST_F(Settings, DifferWhereResultsMay) {
  const std::string one = File("one", "abc"), same = File("same", "abc"), other = File("other", "abd");
  StreamOptions beam, shift, channel;
  beam.decoder.beam = 1;
  shift.decoder.blank_shift = 1e-9;
  channel.channel = 0;
  const std::set<std::string> texts = {
      *SettingsText(one, "", {}, "arpabet"),     *SettingsText(other, "", {}, "arpabet"),
      *SettingsText(one, one, {}, "arpabet"),    *SettingsText(one, "", beam, "arpabet"),
      *SettingsText(one, "", shift, "arpabet"),  *SettingsText(one, "", {}, "ipa"),
      *SettingsText(one, "", channel, "arpabet")};
  EXPECT_EQ(texts.size(), 7u);
  EXPECT_EQ(*SettingsText(one, "", {}, "ipa"), *SettingsText(same, "", {}, "ipa")) << "a name changes nothing";
  StreamOptions pause;
  pause.pause = 3;
  EXPECT_EQ(*SettingsText(one, "", {}, "ipa"), *SettingsText(one, "", pause, "ipa")) << "nor what is shown live";
}

TEST_F(Settings, NameAFileThatCannotBeRead) {
  const std::string missing = folder_ / "missing";
  for (const std::string& path : {missing, folder_.string()}) {
    EXPECT_EQ(SettingsText(path, "", {}, "ipa").error().message, "cannot read " + path + "; give a readable file");
    EXPECT_EQ(SettingsText(File("m", ""), path, {}, "ipa").error().message,
              "cannot read " + path + "; give a readable file");
  }
  EXPECT_EQ(SettingsText(File("m", ""), "", {}, "xsampa").error().message,
            "there is no alphabet xsampa; give arpabet or ipa");
}

}  // namespace
}  // namespace tetraphone
