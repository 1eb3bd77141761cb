# What may be chosen when configuring, and where the binaries are put.

option(WEFT_TESTS "Build the core tests" ON)
option(WEFT_SANITIZE "Build with the address and undefined-behaviour sanitizers" OFF)
option(WEFT_CODEGEN "Build libweft_codegen (needs LLVM)" ON)
option(WEFT_CUDA "Build the backend for NVIDIA GPUs into libweft_codegen (needs libdevice)" ON)
option(WEFT_SNIPPETS "Link clang into libweft_codegen, for native snippets" ON)
set(WEFT_PREBUILT "" CACHE PATH "Folder of a built libweft.so: build the Python extension alone")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Wheels are assembled by `install`. Any other build puts its binaries where Python finds them: beside the Python files
# (python/warp), or for a build with sanitizers or for another machine in a copy of that folder, made of links, inside the
# build tree.
if(SKBUILD_STATE STREQUAL "wheel")
  set(WEFT_INSTALL ON)
  set(weft_package_dir "${PROJECT_BINARY_DIR}/python/warp")
else()
  set(WEFT_INSTALL OFF)
  if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING)
    set(weft_package_dir "${PROJECT_BINARY_DIR}/python/warp")
    file(GLOB package_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/warp/*")
    list(FILTER package_files EXCLUDE REGEX "(\\.so|/lib|/__pycache__)$")
    file(MAKE_DIRECTORY "${weft_package_dir}")
    foreach(path IN LISTS package_files)
      get_filename_component(name "${path}" NAME)
      file(CREATE_LINK "${path}" "${weft_package_dir}/${name}" SYMBOLIC)
    endforeach()
  else()
    set(weft_package_dir "${PROJECT_SOURCE_DIR}/python/warp")
  endif()
endif()
set(weft_library_dir "${weft_package_dir}/lib")

# scikit-build-core clears a build tree that another of pip's throw-away environments configured, which each `pip install -e .`
# is, unless the note by which it knows is gone. Nothing in such an environment is used by path (cmake/extension.cmake).
file(REMOVE "${PROJECT_BINARY_DIR}/.skbuild-info.json")
