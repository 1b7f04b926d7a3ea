// Runs the tests that --gtest_filter selects; to select none is a failure.

#include <gtest/gtest.h>

#include <iostream>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return status;
  std::cout << "FAILED: no test was run\n";
  return 1;
}
