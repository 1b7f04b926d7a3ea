// Numbers of a file's metadata: within their range, missing, of another type, optional.

#include "model/metadata.h"

#include <gtest/gtest.h>

namespace tetraphone {
namespace {

const std::map<std::string, ProgramFile::Value> kValues{
    {"half", 0.5}, {"whole", std::int64_t{2}}, {"great", std::int64_t{1} << 32}};

template <typename Number>
struct Case {
  const char* key;
  ModelInfo::Range range;
  Number value;
  const char* fault;
};

template <typename Number, std::size_t count>
void ExpectRead(const Case<Number> (&cases)[count]) {
  for (const Case<Number>& one : cases) {
    Metadata data(kValues);
    Number value = -1;
    data.Read(one.key, &value, one.range);
    EXPECT_EQ(value, one.value) << one.key;
    EXPECT_EQ(data.fault(), one.fault);
  }
}

TEST(Metadata, NumbersAreReadWithinTheirRange) {
  const Case<double> cases[] = {{"half", {0, 1}, 0.5, ""},
                                {"half", {0, 1, 7.0}, 0.5, ""},
                                {"half", {1, 2}, 0.5, "half is 0.5"},
                                {"none", {1, 2}, 0, "none is missing"},
                                {"none", {1, 2, 1.5}, 1.5, ""},
                                {"whole", {1, 2, 1.5}, 0, "whole is of another type"}};
  ExpectRead(cases);
}

TEST(Metadata, WholeNumbersAreReadWithinTheirRange) {
  const Case<int> cases[] = {{"whole", {1, 2}, 2, ""},
                             {"whole", {0, 1}, -1, "whole is 2"},
                             {"great", {0, 100}, -1, "great is 4294967296"},
                             {"half", {0, 1}, 0, "half is of another type"},
                             {"none", {1, 2, 1.0}, 1, ""}};
  ExpectRead(cases);
}

}  // namespace
}  // namespace tetraphone
