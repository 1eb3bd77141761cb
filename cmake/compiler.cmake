# Language, warnings, sanitizers, compiler cache and linker: the same for every target of ours.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

add_library(weft_compile_options INTERFACE)
target_compile_options(
  weft_compile_options
  INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wundef
            -Wcast-align -Wformat=2 -Werror "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A parameter may be called what the member that it sets is called; a local may not hide another local.
  target_compile_options(weft_compile_options INTERFACE -Wshadow=local)
  # False alarms of GCC 12 to 14 in the standard library's own headers once the optimiser has inlined them.
  target_compile_options(
    weft_compile_options
    INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
              $<$<BOOL:${WEFT_SANITIZE}>:-Wno-maybe-uninitialized>)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # As on x86-64: there a char has a sign, and products are not fused with sums.
  target_compile_options(weft_compile_options INTERFACE -fsigned-char -ffp-contract=off)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_compile_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                        -fno-omit-frame-pointer)
  target_link_options(weft_compile_options INTERFACE -fsanitize=address,undefined)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source folder do not count, so that other checkouts and worktrees share what is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

include(CheckLinkerFlag)
set(weft_linker "")
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} WEFT_HAVE_${linker})
  if(WEFT_HAVE_${linker})
    set(weft_linker ${linker})
    target_link_options(weft_compile_options INTERFACE -fuse-ld=${linker})
    break()
  endif()
endforeach()

# For libraries that are never unloaded and whose threads may run until the process is gone: destructors of static objects,
# LLVM's above all, would pull the ground from under them. So none is registered.
add_library(weft_keep_statics INTERFACE)
target_sources(weft_keep_statics INTERFACE "${PROJECT_SOURCE_DIR}/cmake/keep_statics.cpp")
target_link_options(weft_keep_statics INTERFACE -Wl,--wrap=__cxa_atexit)
