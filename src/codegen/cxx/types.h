// Types, names and constants of C++ text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace weft::codegen::cxx {

// Legal and distinct identifiers, close to what was asked for.
class Names {
  public:
    std::string make(std::string_view wanted);

  private:
    std::set<std::string, std::less<>> used_;
};

std::string scalar_type(ir::Scalar scalar);
std::string literal(ir::Scalar scalar, uint64_t bits);
std::string quoted(std::string_view text);

// Names every type; structs and tuples are defined as they are met.
class Types {
  public:
    explicit Types(Names& names) : names_(names) {}
    const std::string& name(ir::Type type);
    // How a part of an aggregate is selected: ".x", "[0]".
    std::string part(ir::Type aggregate, int index);
    const std::string& definitions() const { return definitions_; }

  private:
    std::string make(ir::Type type);
    std::string define(ir::Type type);

    Names& names_;
    std::unordered_map<ir::Type, std::string> known_;
    std::unordered_map<ir::Type, std::vector<std::string>> fields_;
    std::string definitions_;
};

}  // namespace weft::codegen::cxx
