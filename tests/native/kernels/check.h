// A test program without a framework: TEST(name) { ... CHECK(condition) << ...; }, RunTests() in main.

#pragma once

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& Failures() {
  static int failures = 0;
  return failures;
}

struct Registration {
  Registration(const char* name, void (*body)()) { Tests().push_back({name, body}); }
};

class Failure {
 public:
  Failure(const char* file, int line, const char* condition) {
    text_ << file << ":" << line << ": " << condition << " ";
  }
  ~Failure() {
    if (++Failures() <= 20) std::cout << text_.str() << "\n";
  }
  template <typename T>
  Failure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

#define TEST(name)                                            \
  static void name();                                         \
  static const Registration registration_##name(#name, name); \
  static void name()

struct Ignore {
  void operator&(const Failure&) const {}
};

#define CHECK(condition) (condition) ? void(0) : Ignore() & Failure(__FILE__, __LINE__, #condition)

// Runs the tests whose name contains the first argument, all without one. No test run is a failure.
inline int RunTests(int argc, char** argv) {
  int count = 0;
  for (const Test& test : Tests()) {
    if (argc > 1 && std::string(test.name).find(argv[1]) == std::string::npos) continue;
    const int before = Failures();
    test.body();
    ++count;
    std::cout << (Failures() == before ? "ok      " : "FAILED  ") << test.name << std::endl;
  }
  std::cout << count << " tests, " << Failures() << " failed checks\n";
  return count > 0 && Failures() == 0 ? 0 : 1;
}
