// What zig's C++ library for WebAssembly lacks besides its own files (native/toolchains/wasm.cmake).

#include <cstdlib>
#include <new>

// The tag of C++'s exceptions, which every file that throws or catches refers to.
asm(".tagtype __cpp_exception i32\n"
    ".globl __cpp_exception\n"
    "__cpp_exception:\n");

// Of variables of a thread: the only one has no end.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

// The library's own end the program where there is no memory.
void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
