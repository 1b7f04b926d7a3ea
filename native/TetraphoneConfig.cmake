# find_package(Tetraphone) gives Tetraphone::tetraphone_recognizer; #include <tetraphone/recognizer/recognizer.h>.
# ExecuTorch is that of the executorch wheel: of the Python that CMake finds, or in TETRAPHONE_EXECUTORCH_WHEEL.
if(NOT TARGET tetraphone_executorch)
  add_library(tetraphone_executorch INTERFACE)
  include(${CMAKE_CURRENT_LIST_DIR}/executorch_wheel.cmake)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/TetraphoneTargets.cmake)
set_property(TARGET Tetraphone::tetraphone_operators APPEND PROPERTY INTERFACE_LINK_LIBRARIES tetraphone_executorch)
