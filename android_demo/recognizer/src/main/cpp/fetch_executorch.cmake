# Puts ExecuTorch's sources of one tag into FOLDER, with the submodules alone that its core's build enters. The folder
# appears whole and is fetched once: builds of other ABIs and types, which may ask at the same time, find it.
#
#   cmake -DREPOSITORY=URL -DTAG=TAG -DSUBMODULES=PATH,PATH -DFOLDER=…/executorch -P fetch_executorch.cmake
cmake_minimum_required(VERSION 3.28)

# Runs git; ends with one sentence if that fails.
function(git)
  execute_process(COMMAND ${GIT} ${ARGV} RESULT_VARIABLE status ERROR_VARIABLE said ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    file(REMOVE_RECURSE ${FOLDER}.partial)
    string(REGEX REPLACE "[\r\n ]+" " " said "${said}")
    message(FATAL_ERROR "ExecuTorch ${TAG} could not be fetched from ${REPOSITORY} (${said}); connect to the network, "
                        "or name a folder that has it: gradle -Pexecutorch=/path/to/executorch")
  endif()
endfunction()

file(LOCK ${FOLDER}.lock GUARD PROCESS TIMEOUT 3600)
if(EXISTS ${FOLDER}/CMakeLists.txt)
  return()
endif()
find_program(GIT git)
if(NOT GIT)
  message(FATAL_ERROR "git is missing, which fetches ExecuTorch's sources; install it, or name a folder that has them: "
                      "gradle -Pexecutorch=/path/to/executorch")
endif()
string(REPLACE , ";" SUBMODULES ${SUBMODULES})
file(REMOVE_RECURSE ${FOLDER}.partial)
# Of one tag, without the history and the thousands of other branches.
git(-c advice.detachedHead=false clone --quiet --depth 1 --single-branch --branch ${TAG} ${REPOSITORY} ${FOLDER}.partial)
git(-C ${FOLDER}.partial submodule --quiet update --init --depth 1 -- ${SUBMODULES})
file(REMOVE_RECURSE ${FOLDER})  # empty: made by FetchContent
file(RENAME ${FOLDER}.partial ${FOLDER})
