# TETRAPHONE_EXECUTORCH_SOURCE: ExecuTorch's sources, fetched once for all ABIs and build types, or the folder that
# FETCHCONTENT_SOURCE_DIR_EXECUTORCH names. What is missing for their build ends with one sentence.
include(FetchContent)

set(tag v1.5.1)
set(submodules third-party/flatbuffers third-party/flatcc third-party/gflags third-party/json
               backends/xnnpack/third-party/FXdiv)  # that the core's build enters
set(TETRAPHONE_EXECUTORCH_REPOSITORY https://github.com/pytorch/executorch.git CACHE STRING "Where it is fetched from")
set(TETRAPHONE_EXECUTORCH_CACHE ${repository}/build/executorch-${tag} CACHE PATH "Where what was fetched is kept")

# What ExecuTorch needs on the machine that builds: it makes its compiler of schemas there, by "Unix Makefiles".
foreach(need IN ITEMS "Python 3:python3;python" "make:make;gmake" "a C++ compiler of this machine:c++;g++;clang++")
  string(REGEX MATCH "^(.*):(.*)$" _ "${need}")
  set(what ${CMAKE_MATCH_1})
  set(names ${CMAKE_MATCH_2})
  string(MAKE_C_IDENTIFIER "TETRAPHONE_HOST_${what}" found)
  find_program(${found} NAMES ${names} NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${found})
    list(JOIN names " or " names)
    message(FATAL_ERROR "${what} is missing (${names}), by which ExecuTorch is built; install it, or build without "
                        "ExecuTorch: gradle -Pengine=direct")
  endif()
endforeach()

# SOURCE_SUBDIR names nothing, for native adds it.
list(JOIN submodules , listed)
FetchContent_Declare(
  executorch SOURCE_DIR ${TETRAPHONE_EXECUTORCH_CACHE}/executorch SOURCE_SUBDIR none
  DOWNLOAD_COMMAND ${CMAKE_COMMAND} -DREPOSITORY=${TETRAPHONE_EXECUTORCH_REPOSITORY} -DTAG=${tag}
                   -DSUBMODULES=${listed} -DFOLDER=${TETRAPHONE_EXECUTORCH_CACHE}/executorch
                   -P ${CMAKE_CURRENT_LIST_DIR}/fetch_executorch.cmake)
FetchContent_MakeAvailable(executorch)
set(TETRAPHONE_EXECUTORCH_SOURCE ${executorch_SOURCE_DIR})

get_filename_component(name ${executorch_SOURCE_DIR} NAME)
if(NOT name STREQUAL "executorch")
  message(FATAL_ERROR "${executorch_SOURCE_DIR} is not named executorch, as ExecuTorch's build demands; rename the folder")
endif()
foreach(submodule IN LISTS submodules)
  if(NOT EXISTS ${executorch_SOURCE_DIR}/${submodule}/CMakeLists.txt)
    list(JOIN submodules " " listed)
    message(FATAL_ERROR "${executorch_SOURCE_DIR} lacks the submodule ${submodule}; "
                        "git -C ${executorch_SOURCE_DIR} submodule update --init ${listed}")
  endif()
endforeach()

set(EXECUTORCH_ENABLE_LOGGING OFF CACHE BOOL "")
set(EXECUTORCH_OPTIMIZE_SIZE ON CACHE BOOL "")
