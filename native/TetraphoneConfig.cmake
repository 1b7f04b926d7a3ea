# find_package(Tetraphone) gives Tetraphone::tetraphone_recognizer; #include <tetraphone/recognizer/recognizer.h>.
# Where it was built with ExecuTorch, that is the executorch wheel's: of the Python that CMake finds, or in
# TETRAPHONE_EXECUTORCH_WHEEL.
include(${CMAKE_CURRENT_LIST_DIR}/TetraphoneTargets.cmake)
if(TARGET Tetraphone::tetraphone_operators)
  if(NOT TARGET tetraphone_executorch)
    add_library(tetraphone_executorch INTERFACE)
    include(${CMAKE_CURRENT_LIST_DIR}/executorch_wheel.cmake)
  endif()
  set_property(TARGET Tetraphone::tetraphone_operators APPEND PROPERTY INTERFACE_LINK_LIBRARIES tetraphone_executorch)
endif()
