# The library wasm_runtime: what C++'s exceptions need at run time. zig's C++ library for WebAssembly is built
# without them, but the sources lie in its folder.
set(zig_lib ${TETRAPHONE_ZIG}/lib)
add_library(wasm_runtime STATIC system/wasm/runtime.cc ${zig_lib}/libcxxabi/src/cxa_exception.cpp
                                   ${zig_lib}/libcxxabi/src/cxa_personality.cpp ${zig_lib}/libunwind/src/Unwind-wasm.c)
target_include_directories(wasm_runtime PRIVATE ${zig_lib}/libcxxabi/include ${zig_lib}/libcxxabi/src
                                                   ${zig_lib}/libcxx/src ${zig_lib}/libunwind/include
                                                   ${zig_lib}/libunwind/src)
target_compile_definitions(wasm_runtime PRIVATE _LIBCXXABI_BUILDING_LIBRARY _LIBCPP_BUILDING_LIBRARY
                                                   _LIBCXXABI_HAS_NO_THREADS _LIBUNWIND_HIDE_SYMBOLS
                                                   _LIBUNWIND_HAS_NO_THREADS)
target_compile_options(wasm_runtime PRIVATE -w)
set_target_properties(wasm_runtime PROPERTIES CXX_STANDARD 23 C_STANDARD 23 CXX_SCAN_FOR_MODULES OFF)

# What the package in web/ calls is exported; the rest of the C ABI is left out.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/../web/*.*js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
set(names malloc free)
foreach(source IN LISTS sources)
  file(READ ${source} text)
  string(REGEX MATCHALL "tetraphone_[a-z_]+" found "${text}")
  list(APPEND names ${found})
endforeach()
list(REMOVE_DUPLICATES names)
list(TRANSFORM names PREPEND "LINKER:--export=" OUTPUT_VARIABLE wasm_exports)
