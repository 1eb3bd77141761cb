// Prints the body of one function of a program.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/cxx/flavour.h"
#include "codegen/cxx/types.h"
#include "ir/ir.h"

namespace weft::codegen::cxx {

struct Program {
    const ir::Module& module;
    Flavour flavour;
    Names names = {};  // of everything at file level
    Types types{names};
    std::unordered_map<std::string, std::string> functions = {};  // by IR name
    std::unordered_map<std::string, std::string> results = {};  // struct of a function with several results, by IR name
    std::string result_definitions = {};
    std::vector<const ir::Op*> sums = {};  // of the function that is printed: those that go to a weft::sum (gpu_plan.h)
};

struct PrintedFunction {
    std::vector<std::string> types;  // of parameters
    std::vector<std::string> names;
    std::vector<std::string> sums;  // names of further parameters, for Program::sums
    std::string body;
};

PrintedFunction print_function(Program& program, const ir::Function& function);

}  // namespace weft::codegen::cxx
