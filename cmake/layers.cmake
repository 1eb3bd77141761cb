# Reads the table of layers: sets weft_sources_<binary> for each binary it names. Missing and empty folders are fine.

set(layers_table "${PROJECT_SOURCE_DIR}/tools/layers.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${layers_table}")
file(STRINGS "${layers_table}" lines REGEX "^layer ")
foreach(line IN LISTS lines)
  string(REGEX MATCHALL "[^ \t]+" words "${line}")
  list(GET words 1 layer)
  list(GET words 2 binary)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp")
  list(APPEND weft_sources_${binary} ${sources})
endforeach()
