# tetraphone_executorch: ExecuTorch's core, from its sources or its wheel.
add_library(tetraphone_executorch INTERFACE)
if(TETRAPHONE_EXECUTORCH_SOURCE)
  # Its own kernels and tools: no program of ours uses them.
  foreach(part IN ITEMS CPUINFO EXECUTOR_RUNNER PORTABLE_OPS PTHREADPOOL)
    set(EXECUTORCH_BUILD_${part} OFF CACHE BOOL "")
  endforeach()
  set(EXECUTORCH_ENABLE_PROGRAM_VERIFICATION ON CACHE BOOL "")
  add_subdirectory(${TETRAPHONE_EXECUTORCH_SOURCE} executorch EXCLUDE_FROM_ALL SYSTEM)
  target_link_libraries(tetraphone_executorch INTERFACE executorch_core)
else()
  include(executorch_wheel.cmake)
endif()
