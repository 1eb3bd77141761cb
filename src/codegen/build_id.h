// What tells one build of a library from another, and one machine from another, without opening a compiler.
#pragma once

#include <string>

namespace weft::codegen {

// The ELF build id of a library file, in hexadecimal; its size and time of change when it has none.
std::string build_id(const std::string& path);
// The same of a library that is loaded, by the address of something in it: without reading its file.
std::string build_id(const void* inside);
// Of libweft itself.
const std::string& own_build_id();
// The path of libweft.
std::string library_path();
// The processor's features, as a hash.
std::string cpu_key();

}  // namespace weft::codegen
