# libweft: everything that needs neither Python nor LLVM. Its symbols are visible, since the two other binaries link it.

file(GLOB device_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/device/*.h")
weft_embed(device_headers embedded_device_headers ${device_headers})
file(GLOB snippet_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/device/snippets/*.h")
weft_embed(snippet_headers embedded_snippet_headers ${snippet_headers})
file(GLOB cxx_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/device/cxx/*.h")
weft_embed(cxx_headers embedded_cxx_headers ${cxx_headers})

# The builtins written in the kernel language, parsed by Python while building.
set(prelude_script "${PROJECT_SOURCE_DIR}/tools/embed_prelude.py")
file(GLOB prelude_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/prelude/*.py")
file(GLOB has_prelude_script CONFIGURE_DEPENDS "${prelude_script}")
set(embedded_prelude "")
if(has_prelude_script)
  set(embedded_prelude "${weft_generated_dir}/embedded/prelude.cpp")
  add_custom_command(
    OUTPUT "${embedded_prelude}"
    COMMAND "${Python_EXECUTABLE}" "${prelude_script}" "${embedded_prelude}" ${prelude_files}
    DEPENDS "${prelude_script}" ${prelude_files}
    COMMENT "Embedding prelude"
    VERBATIM)
endif()

configure_file(cmake/version.cpp.in "${weft_generated_dir}/version.cpp" @ONLY)

add_library(weft SHARED ${weft_sources_weft} ${embedded_device_headers} ${embedded_snippet_headers} ${embedded_cxx_headers}
                        ${embedded_prelude} "${weft_generated_dir}/version.cpp")
find_package(Threads REQUIRED)
target_include_directories(weft PUBLIC "${PROJECT_SOURCE_DIR}/src" "${weft_generated_dir}")
target_link_libraries(weft PRIVATE weft_compile_options weft_keep_statics Threads::Threads ${CMAKE_DL_LIBS})
target_compile_features(weft PUBLIC cxx_std_20)
# The same bits on processors with and without instructions that multiply and add (runtime/cpu/wide.h).
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/runtime/prefix_sum.cpp"
                            "${PROJECT_SOURCE_DIR}/src/runtime/reductions.cpp" PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
set_target_properties(weft PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${weft_library_dir}" INSTALL_RPATH "${weft_rpath}")
if(NOT WEFT_SANITIZE)
  target_link_options(weft PRIVATE -Wl,-z,defs)
endif()
if(WEFT_INSTALL)
  install(TARGETS weft LIBRARY DESTINATION warp/lib)
endif()
