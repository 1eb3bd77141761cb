# libweft_codegen: src/codegen/llvm with LLVM (and clang, for native snippets) linked in statically and hidden. The device
# library is compiled to LLVM bitcode, once a target, and embedded.

if(NOT WEFT_CODEGEN)
  return()
endif()

set(WEFT_LLVM_VERSION 19 CACHE STRING "Major version of LLVM and clang")
set(llvm_hints "/usr/lib/llvm-${WEFT_LLVM_VERSION}/bin")
find_program(LLVM_CONFIG NAMES llvm-config-${WEFT_LLVM_VERSION} llvm-config HINTS ${llvm_hints} REQUIRED)
find_program(DEVICE_CLANG NAMES clang-${WEFT_LLVM_VERSION} HINTS ${llvm_hints} REQUIRED)

# --- the device library as bitcode -----------------------------------------------------------------------------------

# One translation unit, written here, that includes every header (device_headers: libweft.cmake).
set(device_text "")
foreach(header IN LISTS device_headers)
  get_filename_component(name "${header}" NAME)
  if(name MATCHES "\\.h$")
    string(APPEND device_text "#include \"${name}\"\n")
  endif()
endforeach()
set(device_source "${PROJECT_BINARY_DIR}/device/device.cpp")
file(CONFIGURE OUTPUT "${device_source}" CONTENT "${device_text}" @ONLY)
# What the host's processor is called by LLVM in triples, and in names of its components.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(host_triple aarch64-unknown-linux-gnu)
  set(host_components aarch64codegen aarch64asmparser aarch64desc aarch64info)
else()
  set(host_triple x86_64-unknown-linux-gnu)
  set(host_components x86codegen x86asmparser x86desc x86info)
endif()
set(device_triples ${host_triple} nvptx64-nvidia-cuda)
set(device_flags_nvptx64-nvidia-cuda -march=sm_70)
set(device_modules "")
foreach(triple IN LISTS device_triples)
  set(module "${PROJECT_BINARY_DIR}/device/${triple}.bc")
  # No headers, no runtime and no exceptions: what is not in device/ does not exist on a device.
  add_custom_command(
    OUTPUT "${module}"
    COMMAND "${DEVICE_CLANG}" --target=${triple} ${device_flags_${triple}} -std=c++17 -O2 -ffreestanding -nostdinc -nostdlib
            -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-math-errno -ffp-contract=off -fno-slp-vectorize -Wall -Wextra -Wshadow -Werror
            "-I${PROJECT_SOURCE_DIR}/device" -MD -MT "${module}" -MF "${module}.d" -emit-llvm -c "${device_source}" -o "${module}"
    DEPENDS "${device_source}" ${device_headers}
    DEPFILE "${module}.d"
    COMMENT "Compiling the device library for ${triple}"
    VERBATIM)
  list(APPEND device_modules "${module}")
endforeach()
weft_embed(device_bitcode embedded_device_bitcode ${device_modules})

# --- NVIDIA's maths functions ----------------------------------------------------------------------------------------

# libdevice comes with the registry's package nvidia-cuda-nvcc-cu12 (tools/requirements.txt); its licence lets it travel on.
set(libdevice "")
if(WEFT_CUDA)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import importlib.util as u; print(*u.find_spec('nvidia.cuda_nvcc').submodule_search_locations)"
    OUTPUT_VARIABLE nvcc_package
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Searched anew each time, and copied: an environment of pip's is gone after its build.
  unset(WEFT_LIBDEVICE CACHE)
  unset(WEFT_PTXAS CACHE)
  find_file(WEFT_LIBDEVICE libdevice.10.bc HINTS "${nvcc_package}/nvvm/libdevice" /usr/local/cuda/nvvm/libdevice NO_DEFAULT_PATH
                           NO_CMAKE_FIND_ROOT_PATH)
  find_program(WEFT_PTXAS ptxas HINTS "${nvcc_package}/bin" /usr/local/cuda/bin) # for the tests
  if(WEFT_LIBDEVICE)
    file(COPY "${WEFT_LIBDEVICE}" DESTINATION "${PROJECT_BINARY_DIR}/device")
  endif()
  if(EXISTS "${PROJECT_BINARY_DIR}/device/libdevice.10.bc")
    set(libdevice "${PROJECT_BINARY_DIR}/device/libdevice.10.bc")
  else()
    message(WARNING "libdevice.10.bc was not found (pip install nvidia-cuda-nvcc-cu12): this build makes no code for NVIDIA GPUs")
  endif()
endif()
weft_embed(libdevice embedded_libdevice ${libdevice})

# --- LLVM and clang --------------------------------------------------------------------------------------------------

# The least that compiles to the host's objects and PTX: llvm-config adds what these depend on.
set(llvm_components
    ${host_components} nvptxcodegen nvptxdesc nvptxinfo passes irreader bitreader bitwriter linker object mc orcjit)
if(WEFT_SNIPPETS)
  list(APPEND llvm_components option profiledata coverage lto windowsdriver frontenddriver frontendopenmp frontendhlsl frontendoffloading)
endif()
function(ask_llvm_config out)
  execute_process(
    COMMAND "${LLVM_CONFIG}" --link-static ${ARGN}
    OUTPUT_VARIABLE answer
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(answer UNIX_COMMAND "${answer}")
  if(CMAKE_CROSSCOMPILING)
    # The llvm-config that runs is this machine's; its packages lie in the same folders as the target's.
    list(TRANSFORM answer PREPEND "${CMAKE_SYSROOT}")
  endif()
  set(${out} "${answer}" PARENT_SCOPE)
endfunction()
ask_llvm_config(llvm_include_dir --includedir)
ask_llvm_config(llvm_library_dir --libdir)
ask_llvm_config(llvm_libraries --libfiles ${llvm_components})
list(FILTER llvm_libraries EXCLUDE REGEX "libPolly") # cmake/polly_stub.cpp stands in

# By path: the exported clang targets carry the shared LLVM in their interface, and two LLVMs in one process abort at start.
set(clang_libraries "")
if(WEFT_SNIPPETS)
  foreach(name Frontend Driver CodeGen Serialization Parse Sema Edit Analysis ASTMatchers AST APINotes Support Lex Basic)
    list(APPEND clang_libraries "${llvm_library_dir}/libclang${name}.a")
  endforeach()
endif()

# Of the system libraries that llvm-config names, only these two are needed, and both are linked statically.
find_library(ZLIB_STATIC NAMES libz.a REQUIRED)
find_library(ZSTD_STATIC NAMES libzstd.a REQUIRED)

# --- the library -----------------------------------------------------------------------------------------------------

add_library(weft_codegen SHARED ${weft_sources_weft_codegen} ${embedded_device_bitcode} ${embedded_libdevice}
                                "${PROJECT_SOURCE_DIR}/cmake/polly_stub.cpp")
target_include_directories(weft_codegen SYSTEM PRIVATE "${llvm_include_dir}")
target_compile_definitions(weft_codegen PRIVATE WEFT_SNIPPETS=$<BOOL:${WEFT_SNIPPETS}>)
target_link_libraries(
  weft_codegen PRIVATE weft weft_compile_options weft_keep_statics -Wl,--start-group ${clang_libraries} ${llvm_libraries} -Wl,--end-group
                       "${ZLIB_STATIC}" "${ZSTD_STATIC}" ${CMAKE_DL_LIBS})
target_link_options(weft_codegen PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
if(weft_linker)
  target_link_options(weft_codegen PRIVATE -Wl,--icf=all)
endif()
if(WEFT_SANITIZE)
  # LLVM comes without the sanitizer's marks, so its types cannot be checked against ours.
  target_compile_options(weft_codegen PRIVATE -fno-sanitize=vptr)
else()
  target_link_options(weft_codegen PRIVATE -Wl,-z,defs)
endif()
set_target_properties(
  weft_codegen
  PROPERTIES CXX_VISIBILITY_PRESET hidden
             VISIBILITY_INLINES_HIDDEN ON
             LIBRARY_OUTPUT_DIRECTORY "${weft_library_dir}"
             INSTALL_RPATH "${weft_rpath}")
if(WEFT_INSTALL)
  install(TARGETS weft_codegen LIBRARY DESTINATION warp/lib)
endif()
