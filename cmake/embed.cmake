# weft_embed(<name> <out-variable> <file>...): makes a C++ source that holds the files as text, for the target to compile.
# Its function `weft::embedded::<name>()`, declared in "embedded/<name>.h", returns them as (name, contents) pairs.

set(weft_generated_dir "${PROJECT_BINARY_DIR}/generated")
set(embed_script "${PROJECT_SOURCE_DIR}/tools/embed.py")

function(weft_embed name out)
  set(source "${weft_generated_dir}/embedded/${name}.cpp")
  set(header "${weft_generated_dir}/embedded/${name}.h")
  add_custom_command(
    OUTPUT "${source}" "${header}"
    COMMAND "${Python_EXECUTABLE}" "${embed_script}" ${name} "${source}" "${header}" ${ARGN}
    DEPENDS "${embed_script}" ${ARGN}
    COMMENT "Embedding ${name}"
    VERBATIM)
  set(${out} "${source}" "${header}" PARENT_SCOPE)
endfunction()
