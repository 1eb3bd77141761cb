# _core: src/bind as a Python extension. The only part that is built once for each version of Python.

if(NOT weft_sources_core)
  message(STATUS "src/bind has no sources: no Python extension")
  return()
endif()

execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import nanobind; print(nanobind.__version__, nanobind.cmake_dir(), sep='\\n')"
  OUTPUT_VARIABLE nanobind_answer
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: run `make setup`, or install tools/requirements.txt")
endif()
string(REPLACE "\n" ";" nanobind_answer "${nanobind_answer}")
list(GET nanobind_answer 0 nanobind_version)
list(GET nanobind_answer 1 nanobind_cmake_dir)
# pip builds in a new folder each time: a copy at a fixed place keeps what is compiled from being compiled again.
set(nanobind_copy "${PROJECT_BINARY_DIR}/nanobind-${nanobind_version}")
if(NOT EXISTS "${nanobind_copy}/cmake/nanobind-config.cmake")
  get_filename_component(nanobind_package "${nanobind_cmake_dir}" DIRECTORY)
  file(COPY "${nanobind_package}/" DESTINATION "${nanobind_copy}")
endif()
set(nanobind_DIR "${nanobind_copy}/cmake" CACHE PATH "" FORCE)
find_package(nanobind CONFIG REQUIRED NO_DEFAULT_PATH PATHS "${nanobind_copy}/cmake")

nanobind_add_module(_core NB_STATIC NOMINSIZE NB_DOMAIN weft ${weft_sources_core})
target_link_libraries(_core PRIVATE weft weft_compile_options)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${weft_package_dir}" INSTALL_RPATH "$ORIGIN/lib")
# The include directories of Python and nanobind are not ours to warn about.
foreach(target _core)
  get_target_property(directories nanobind-static INTERFACE_INCLUDE_DIRECTORIES)
  if(directories)
    target_include_directories(${target} SYSTEM PRIVATE ${directories})
  endif()
endforeach()
target_include_directories(_core SYSTEM PRIVATE "${nanobind_copy}/include" ${Python_INCLUDE_DIRS})
if(WEFT_INSTALL)
  install(TARGETS _core LIBRARY DESTINATION warp)
endif()
