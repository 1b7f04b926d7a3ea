# find_package(Tetraphone) gives Tetraphone::tetraphone_recognizer; #include <tetraphone/recognizer/recognizer.h>.
# Where it was built with ExecuTorch, that is the executorch wheel's: of the Python that CMake finds, or in
# TETRAPHONE_EXECUTORCH_WHEEL.
set(executorch_wheel ${CMAKE_CURRENT_LIST_DIR}/executorch_wheel.cmake)
if(EXISTS ${executorch_wheel} AND NOT TARGET tetraphone_executorch)
  add_library(tetraphone_executorch INTERFACE)
  include(${executorch_wheel})
endif()
include(${CMAKE_CURRENT_LIST_DIR}/TetraphoneTargets.cmake)
if(TARGET tetraphone_executorch)
  set_property(TARGET Tetraphone::tetraphone_operators APPEND PROPERTY INTERFACE_LINK_LIBRARIES tetraphone_executorch)
endif()
