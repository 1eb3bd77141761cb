#include "codegen/cxx/host.h"

#include "base/error.h"

namespace weft::codegen::cxx {
std::string host_key() { return "none"; }
Backend& open_host() { throw UserError(ErrorKind::Unsupported, "no C++ compiler"); }
}  // namespace weft::codegen::cxx
