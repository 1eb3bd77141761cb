# Toolchain file: builds for AArch64 Linux on another machine, with Debian's cross compiler. WEFT_SYSROOT is a folder that
# holds what the target's packages hold (tools/arm_sysroot.sh).

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Checks of the compiler read this file anew.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_SYSROOT)
set(CMAKE_SYSROOT "${WEFT_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The interpreter that builds is this machine's: of the target's it knows neither the headers nor how extensions are called.
set(Python_INCLUDE_DIR "${WEFT_SYSROOT}/usr/include/python3.11")
set(NB_SUFFIX ".cpython-311-aarch64-linux-gnu.so")
