"""Checks a library for Android: whether a phone of the oldest version that the app runs on can load it.

    python check_library.py LIBRARY [LIBRARY ...]

Prints each fault; exit status 1 if there is one. Needs nothing but Python; reads the file as the phone's linker does,
and the section headers too: they tell how many symbols there are.
"""

import argparse
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

API = 26
PAGE = 16384
LIBRARIES = {"libc.so", "libm.so", "libdl.so", "liblog.so"}
EXPORTS = {"JNI_OnLoad", "JNI_OnUnload"}
MACHINES = {62: "x86_64", 183: "arm64-v8a"}

SINCE = {
    21: """
        __FD_SET_chk __android_log_assert __android_log_print __android_log_vprint __android_log_write
        __ctype_get_mb_cur_max __cxa_atexit __cxa_finalize __errno __memcpy_chk __memmove_chk __memset_chk __open_2
        __read_chk __stack_chk_fail __stack_chk_guard __strcat_chk __strchr_chk __strcpy_chk __strlen_chk __strncpy_chk
        __system_property_get __vsnprintf_chk __vsprintf_chk _exit abort abs android_dlopen_ext
        android_set_abort_message arc4random atoi atol btowc calloc ceil clock_gettime close closelog cos cosf
        dl_iterate_phdr dladdr dlclose dlerror dlopen dlsym exit exp exp2 expf fabs fclose feof ferror fflush fileno
        floor fmaxf fminf fmod fmodf fopen fprintf fputc fputs fread free freelocale fseek fseeko fstat ftello fwrite
        getauxval getc getenv gettimeofday isalnum isdigit_l islower_l isupper_l iswalpha_l iswblank_l iswcntrl_l
        iswctype iswdigit_l iswlower_l iswprint_l iswpunct_l iswspace_l iswupper_l iswxdigit_l isxdigit isxdigit_l
        ldexpf localeconv log log2 logf lround lseek lstat madvise mallinfo malloc mbrlen mbrtowc mbsnrtowcs mbsrtowcs
        mbtowc memchr memcmp memcpy memmove memset mmap mprotect munmap nanosleep nearbyintf newlocale open openlog
        posix_memalign pow powf pthread_atfork pthread_cond_broadcast pthread_cond_destroy pthread_cond_signal
        pthread_cond_timedwait pthread_cond_wait pthread_create pthread_detach pthread_equal pthread_getspecific
        pthread_join pthread_key_create pthread_key_delete pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock
        pthread_mutex_trylock pthread_mutex_unlock pthread_mutexattr_destroy pthread_mutexattr_init
        pthread_mutexattr_settype pthread_once pthread_rwlock_rdlock pthread_rwlock_unlock pthread_rwlock_wrlock
        pthread_self pthread_setspecific putc puts quick_exit raise read realloc round roundf sched_yield setbuf
        setlocale sigaction sin sinf snprintf sqrt sqrtf sscanf stat strcat strchr strcmp strcoll_l strcpy strdup
        strerror strerror_r strftime_l strlen strncmp strncpy strrchr strstr strtod strtof strtol strtold_l strtoll
        strtoll_l strtoul strtoull strtoull_l strxfrm_l swprintf syscall sysconf syslog tanh tanhf time tolower_l
        toupper_l towlower_l towupper_l ungetc uselocale usleep vasprintf vfprintf vsnprintf vsscanf wcrtomb wcscoll_l
        wcslen wcsnrtombs wcsxfrm_l wctob wctype wmemchr wmemcmp wmemcpy wmemmove wmemset write
    """,
    23: "__cxa_thread_atexit_impl __gnu_strerror_r __register_atfork fmemopen stderr stdin stdout",
    24: "__write_chk",
    26: "mblen pthread_getname_np strtod_l strtof_l",
    28: "aligned_alloc getentropy getrandom iconv posix_spawn",
    29: "getloadavg reallocarray timespec_get",
    30: "memfd_create pthread_cond_clockwait",
    34: "copy_file_range",
}
"""By the API level that introduced them, the system's symbols that libraries of ours import, and some near them.

From bionic's libc.map.txt, libm.map.txt and libdl.map.txt (`introduced=`; without it 21, the first level for 64 bits).
What is newer than API belongs here too, under its level: it is then refused by that level and not as unknown.
"""

LOAD, DYNAMIC, TLS, GNU_STACK = 1, 2, 7, 0x6474E551
EXECUTABLE, WRITABLE = 1, 2
NEEDED, STRTAB, RPATH, TEXTREL, RUNPATH, FLAGS, RELR = 1, 5, 15, 22, 29, 30, 36
FLAG_TEXTREL = 4
DYNSYM = 11


class NotALibraryError(Exception):
    """The file is none that a 64-bit Android loads; the text says why."""


@dataclass(frozen=True)
class Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int
    alignment: int


@dataclass(frozen=True)
class Library:
    machine: int
    segments: list[Segment]
    dynamic: list[tuple[int, int]]
    needed: list[str]
    imports: list[str]
    exports: list[str]


def read(data: bytes) -> Library:
    """Of an ELF file for a 64-bit processor, little endian."""
    try:
        return _read(data)
    except struct.error as error:
        raise NotALibraryError(f"is cut short ({error})") from None
    except (IndexError, ValueError) as error:
        raise NotALibraryError(f"is damaged ({error})") from None


def _read(data: bytes) -> Library:
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotALibraryError("is no 64-bit ELF file")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if kind != 3:
        raise NotALibraryError(f"is an ELF file of type {kind}, not a shared library (3)")
    program_headers, section_headers = struct.unpack_from("<QQ", data, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
    segments = []
    for at in range(program_headers, program_headers + program_count * program_size, program_size):
        kind, flags, offset, address, _, size, _, alignment = struct.unpack_from("<IIQQQQQQ", data, at)
        segments.append(Segment(kind, flags, offset, address, size, alignment))

    dynamic = []
    for segment in segments:
        if segment.kind == DYNAMIC:
            content = data[segment.offset : segment.offset + segment.size]
            dynamic = [pair for pair in struct.iter_unpack("<QQ", content) if pair[0] != 0]
    if not dynamic:
        raise NotALibraryError("has no dynamic segment")
    strings = _offset(segments, dict(dynamic)[STRTAB])

    imports, exports = [], []
    for at in range(section_headers, section_headers + section_count * section_size, section_size):
        _, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", data, at)
        if kind != DYNSYM:
            continue
        for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[offset : offset + size]):
            if info >> 4 in (1, 2, 10) and name != 0:  # global, weak, unique
                (imports if section == 0 else exports).append(_text(data, strings + name))
    if not imports and not exports:
        raise NotALibraryError("has no section .dynsym; strip it by strip, which leaves that")
    needed = [_text(data, strings + value) for tag, value in dynamic if tag == NEEDED]
    return Library(machine, segments, dynamic, needed, sorted(imports), sorted(exports))


def _offset(segments: list[Segment], address: int) -> int:
    for segment in segments:
        if segment.kind == LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    raise ValueError(f"no segment holds address {address:#x}")


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def faults(library: Library) -> Iterator[str]:
    if library.machine not in MACHINES:
        yield f"is for processor {library.machine} of ELF's list; phones have {MACHINES}"
    for name in library.needed:
        if name not in LIBRARIES:
            yield f"needs {name}, which apps have not; link it statically (c++_static), or only {sorted(LIBRARIES)}"
    yield from symbol_faults(library)
    yield from segment_faults(library.segments)
    yield from dynamic_faults(library.dynamic)


def symbol_faults(library: Library) -> Iterator[str]:
    levels = {name: level for level, names in SINCE.items() for name in names.split()}
    unknown = [name for name in library.imports if name not in levels]
    if unknown:
        yield (
            f"imports {', '.join(unknown)}, unknown here; look up the level in bionic's *.map.txt and add it to "
            f"SINCE in {Path(__file__).name}, or link what defines it"
        )
    for name in library.imports:
        if levels.get(name, 0) > API:
            yield f"imports {name}, which is there from API level {levels[name]} on only; the app runs from {API} on"
    if set(library.exports) != EXPORTS:
        more, less = sorted(set(library.exports) - EXPORTS), sorted(EXPORTS - set(library.exports))
        yield f"exports {more or 'nothing'} too much and {less or 'nothing'} too little; link it with exports.map"


def segment_faults(segments: list[Segment]) -> Iterator[str]:
    for segment in segments:
        if segment.kind == LOAD:
            where = f"the segment at {segment.address:#x}"
            if segment.alignment % PAGE or (segment.address - segment.offset) % PAGE or segment.alignment == 0:
                yield f"{where} is aligned to {segment.alignment}, not to pages of {PAGE}; link by max-page-size={PAGE}"
            if segment.flags & WRITABLE and segment.flags & EXECUTABLE:
                yield f"{where} is writable and executable, which Android refuses"
        if segment.kind == TLS:
            yield "has a TLS segment, refused before API level 29; compile with -femulated-tls, without LTO"
        if segment.kind == GNU_STACK and segment.flags & EXECUTABLE:
            yield "asks for an executable stack; some assembler file lacks .note.GNU-stack"


def dynamic_faults(dynamic: list[tuple[int, int]]) -> Iterator[str]:
    tags = dict(dynamic)
    if TEXTREL in tags or tags.get(FLAGS, 0) & FLAG_TEXTREL:
        yield "has relocations of code (TEXTREL), which Android refuses; compile everything with -fPIC"
    if RPATH in tags or RUNPATH in tags:
        yield "has an RPATH or RUNPATH: the path of some folder of the machine that built it"
    if RELR in tags:
        yield "has relative relocations (RELR), which linkers before API level 28 do not read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=Path, nargs="+", metavar="LIBRARY")
    failed = False
    for path in parser.parse_args().libraries:
        try:
            data = path.read_bytes()
            library = read(data)
        except OSError as error:
            sys.exit(f"cannot read {path}: {error.strerror}; give the path of a .so file")
        except NotALibraryError as error:
            found = [str(error)]
        else:
            found = list(faults(library))
        for fault in found:
            print(f"{path}: {fault}")
        failed = failed or bool(found)
        if not found:
            what = f"{MACHINES[library.machine]}, {len(data):,} bytes"
            print(f"{path}: good; {what}, {len(library.imports)} imports of {', '.join(library.needed)}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
