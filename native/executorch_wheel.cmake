# tetraphone_executorch from the executorch wheel, which is also the C++ SDK: that of this Python, or, for another
# processor, an unpacked one: -DTETRAPHONE_EXECUTORCH_WHEEL=<its folder executorch>.
set(TETRAPHONE_EXECUTORCH_WHEEL "" CACHE PATH "An unpacked wheel's folder; empty: the one that Python imports")
set(executorch_folder "${TETRAPHONE_EXECUTORCH_WHEEL}")
if(NOT executorch_folder)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util as u; print(next(iter(u.find_spec('executorch').submodule_search_locations)))"
    OUTPUT_VARIABLE executorch_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
find_package(executorch 1.5...<1.6 REQUIRED COMPONENTS runtime
             PATHS ${executorch_folder}/lib/cmake/executorch NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)

# Not the imported target: it would leave this machine's path to the wheel in the RUNPATH of what links it.
target_include_directories(tetraphone_executorch SYSTEM INTERFACE ${EXECUTORCH_INCLUDE_DIRS})
target_compile_definitions(tetraphone_executorch INTERFACE ${EXECUTORCH_COMPILE_DEFINITIONS})
target_link_libraries(tetraphone_executorch INTERFACE ${executorch_folder}/lib/libexecutorch.so)
