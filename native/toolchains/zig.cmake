# Builds for another system with the compiler of PyPI's package ziglang (in the environment of `python`):
#   cmake -S native -B build/foreign/TARGET --toolchain native/toolchains/zig.cmake -DTETRAPHONE_TARGET=TARGET \
#     -DTETRAPHONE_ENGINES=direct
# TARGET is zig's name: x86_64-linux-gnu.2.17 (for glibc from 2.17 on), aarch64-linux-gnu.2.17, x86_64-linux-musl (a
# static command), aarch64-linux-musl, x86_64-windows-gnu, aarch64-macos, x86_64-macos, wasm32-wasi (a module for
# browsers; with -DTETRAPHONE_SIMD=OFF it has no vector instruction).
# The first link for a target takes minutes, since zig then builds that target's C++ library; it is kept in build/zig.
set(TETRAPHONE_TARGET "" CACHE STRING "What to build for, as zig names it")
option(TETRAPHONE_SIMD "Whether a WebAssembly module has vector instructions" ON)
set(TETRAPHONE_MACOS 11.0)  # the least, the first for Apple's processors; zig's own is the newest but one or two
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TETRAPHONE_TARGET)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # no link for tries: each other set of options is minutes of its own
if(NOT TETRAPHONE_TARGET MATCHES "^(x86_64|aarch64|wasm32)-(linux|windows|macos|wasi)[.0-9]*(-(gnu|musl)[.0-9]*)?$")
  message(FATAL_ERROR "TETRAPHONE_TARGET is \"${TETRAPHONE_TARGET}\"; give one that ${CMAKE_CURRENT_LIST_FILE} names")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
string(REPLACE "linux" "Linux" CMAKE_SYSTEM_NAME ${CMAKE_MATCH_2})
string(REPLACE "windows" "Windows" CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})
string(REPLACE "macos" "Darwin" CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})
string(REPLACE "wasi" "WASI" CMAKE_SYSTEM_NAME ${CMAKE_SYSTEM_NAME})

if(NOT TETRAPHONE_ZIG)
  execute_process(COMMAND python -c "import ziglang; print(ziglang.__path__[0])"
                  OUTPUT_VARIABLE TETRAPHONE_ZIG OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT TETRAPHONE_ZIG)
    message(FATAL_ERROR "python cannot import ziglang; activate an environment that has it (pip install ziglang)")
  endif()
endif()
set(TETRAPHONE_ZIG ${TETRAPHONE_ZIG} CACHE PATH "The folder of the package ziglang")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TETRAPHONE_ZIG)

# CMake wants a program for each tool; zig's are subcommands of one. Its cache belongs into build/, and for the features
# of an ARM processor it wants -mcpu, where GCC 12 takes -march alone.
get_filename_component(folder ${CMAKE_CURRENT_LIST_DIR}/../../build/zig ABSOLUTE)
foreach(tool IN ITEMS cc c++ ar ranlib)
  set(arguments ${tool})
  if(tool MATCHES "^c")
    string(REGEX REPLACE "-macos$" "-macos.${TETRAPHONE_MACOS}" triple ${TETRAPHONE_TARGET})
    string(APPEND arguments " -target ${triple}")
    if(TETRAPHONE_TARGET MATCHES "wasm32")
      string(APPEND arguments " -mcpu=generic+exception_handling")
    endif()
  endif()
  set(path ${folder}/${TETRAPHONE_TARGET}/${tool})
  file(CONFIGURE OUTPUT ${path} @ONLY CONTENT [[#!/bin/sh
for argument; do
  shift
  case $argument in -march=armv8*-a*) argument=-mcpu=generic${argument#-march=armv8*-a} ;; esac
  set -- "$@" "$argument"
done
case $PWD in */CompilerId*) set -- -c "$@" ;; esac
ZIG_GLOBAL_CACHE_DIR='@folder@/cache' exec '@TETRAPHONE_ZIG@/zig' @arguments@ "$@"
]])
  file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${folder}/${TETRAPHONE_TARGET}/cc)
set(CMAKE_CXX_COMPILER ${folder}/${TETRAPHONE_TARGET}/c++)
set(CMAKE_AR ${folder}/${TETRAPHONE_TARGET}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${folder}/${TETRAPHONE_TARGET}/ranlib CACHE FILEPATH "")

# -s: without symbols and debugging tables. -Os at the link chooses zig's small C++ library; what computes has -O3 of its
# own.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
foreach(kind IN ITEMS EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-s")
endforeach()
if(TETRAPHONE_TARGET MATCHES "wasm32")
  set(CMAKE_BUILD_TYPE MinSizeRel CACHE STRING "")
  set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions")
  set(CMAKE_C_FLAGS_INIT "-fwasm-exceptions")
  if(TETRAPHONE_SIMD)
    string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128")
  else()
    add_compile_definitions(TETRAPHONE_SCALAR_ONLY)
  endif()
endif()
if(TETRAPHONE_TARGET MATCHES "musl")
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -static")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
