# The library test_main: GoogleTest and a main, an object, since in WebAssembly nothing asks an archive for it. Debian's
# libgtest-dev has the library as it is needed here, and the sources, which another processor needs.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest QUIET)
endif()
if(NOT TARGET GTest::gtest)
  find_path(googletest CMakeLists.txt PATHS /usr/src/googletest NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(NOT googletest)
    message(FATAL_ERROR "GoogleTest is missing; install it (Debian: libgtest-dev)")
  endif()
  if(WASI)  # without threads, exceptions, signals and other programs, which its own build asks for
    add_library(gtest STATIC ${googletest}/googletest/src/gtest-all.cc)
    target_include_directories(gtest SYSTEM PUBLIC ${googletest}/googletest/include PRIVATE ${googletest}/googletest)
    target_compile_definitions(gtest PUBLIC GTEST_HAS_PTHREAD=0 GTEST_HAS_EXCEPTIONS=0 GTEST_HAS_DEATH_TEST=0
                                            GTEST_HAS_STREAM_REDIRECTION=0)
  else()
    add_subdirectory(${googletest} googletest EXCLUDE_FROM_ALL)
  endif()
  if(NOT TARGET GTest::gtest)  # which later versions make themselves
    add_library(GTest::gtest ALIAS gtest)
  endif()
endif()

add_library(test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/main.cc)
target_compile_features(test_main PUBLIC cxx_std_17)
target_compile_options(test_main PRIVATE -Wall -Wextra -Werror)
target_link_libraries(test_main PUBLIC GTest::gtest)
