// Values used once, by an op of the same region, are printed inside their user where they stay short; others get a line
// and a name. A carried value is one variable through all turns of its loop and after it.
#include "codegen/cxx/emit.h"

#include <algorithm>
#include <set>

#include "codegen/cxx/function_printer.h"
#include "codegen/cxx/snippet_checks.h"
#include "codegen/gpu_plan.h"
#include "codegen/snippet_text.h"

namespace weft::codegen::cxx {
namespace {

// Before any function is printed, so that no local may take the name of a type.
void define_types(Program& program) {
    for (const auto& function : program.module.functions) {
        for (const ir::Type t : function->results) program.types.name(t);
        for (const ir::Value* parameter : function->parameters()) program.types.name(parameter->type);
        ir::walk(function->body, [&](const ir::Op& op) {
            for (const ir::Value* result : op.results) program.types.name(result->type);
            for (const auto& region : op.regions) {
                for (const ir::Value* argument : region->arguments) program.types.name(argument->type);
            }
        });
    }
}

std::string result_type(Program& program, const ir::Function& function) {
    if (function.results.empty()) return "void";
    if (function.results.size() == 1) return program.types.name(function.results[0]);
    return program.results.at(function.name);
}

void define_results(Program& program) {
    for (const auto& function : program.module.functions) {
        if (function->results.size() < 2) continue;
        const std::string& name = program.results[function->name] = program.names.make(function->name + "_results");
        program.result_definitions += "struct " + name + " {\n";
        for (size_t i = 0; i < function->results.size(); ++i) {
            program.result_definitions +=
                "    " + program.types.name(function->results[i]) + " part" + std::to_string(i) + ";\n";
        }
        program.result_definitions += "};\n\n";
    }
}

std::string snippet_prototypes(const ir::Module& module) {
    std::string out;
    std::set<std::string> made;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code != ir::Opcode::Snippet || !made.insert(snippet_symbol(op)).second) return;
            std::string parameters;
            for (size_t i = 0; i < op.operands.size() + op.results.size(); ++i)
                parameters += std::string(i == 0 ? "" : ", ") + "void*";
            if (op.snippet_asserts()) {
                parameters += std::string(parameters.empty() ? "" : ", ") + "const void*, const int64_t*";
            }
            out += "extern \"C\" WEFT_DEVICE void " + snippet_symbol(op) + "(" + parameters + ");\n";
        });
    }
    return out.empty() ? out : out + "\n";
}

// A kernel's way in: it unpacks the arguments and calls the function for each item.
class Entry {
  public:
    Entry(Program& program, const ir::Function& kernel, const PrintedFunction& printed, const Options& options)
        : program_(program), kernel_(kernel), printed_(printed), options_(options) {
        offsets_ = parameter_offsets(kernel);
        for (const std::string& name : printed.names) given_ += ", " + name;
        for (const std::string& name : printed.sums) given_ += ", " + name;
    }

    std::string host(bool by_blocks) const {
        std::string unpacked;
        for (size_t i = 0; i < printed_.names.size(); ++i) {
            unpacked += "    const " + printed_.types[i] + "& " + printed_.names[i] + " = *(const " +
                        printed_.types[i] + "*)((const char*)arguments + " + std::to_string(offsets_[i]) + ");\n";
        }
        const std::string symbol = entry_symbol(kernel_.name);
        const std::string head = "extern \"C\" __attribute__((visibility(\"default\"))) void " + symbol;
        const std::string parameters =
            "(const void* arguments, const weft::launch_shape* shape, int64_t begin, int64_t end) {\n";
        const std::string items = "    weft::for_items(shape, begin, end, " + body() + ");\n}\n\n";
        if (!by_blocks) return head + parameters + unpacked + items;
        return "static void " + symbol +
               "_items(const void* arguments, const void* launch, int64_t begin, int64_t end) {\n" +
               "    const weft::launch_shape* shape = (const weft::launch_shape*)launch;\n    weft::begin_thread();\n" +
               unpacked + items + head + parameters + "    weft::run_blocks(" + symbol +
               "_items, arguments, shape, begin, end);\n}\n\n";
    }

    std::string gpu(const GpuPlan& plan) const {
        const int64_t bytes = std::max<int64_t>(offsets_.back(), 8);
        const int threads = options_.max_threads > 0 ? options_.max_threads : kMostThreads;
        std::string bounds = std::to_string(threads);
        if (options_.min_blocks > 0) bounds += ", " + std::to_string(options_.min_blocks);
        std::string out = "extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " +
                          entry_symbol(kernel_.name) + "(const weft::block<" + std::to_string(bytes) +
                          "> arguments, const weft::launch_shape shape, const int64_t begin, const int64_t end) {\n";
        for (size_t i = 0; i < printed_.names.size(); ++i) {
            out += "    const auto " + printed_.names[i] + " = weft::argument<" + printed_.types[i] + ">(arguments, " +
                   std::to_string(offsets_[i]) + ");\n";
        }
        for (size_t i = 0; i < printed_.sums.size(); ++i) {
            out += "    weft::sum<" + program_.types.name(program_.sums[i]->operands[1]->type) + "> " +
                   printed_.sums[i] + ";\n";
        }
        out += std::string("    weft::") + (printed_.sums.empty() ? "for_items<" : "for_all_items<") +
               std::to_string(plan.items) + ">(shape, begin, end, " + body() + ");\n";
        for (const std::string& sum : printed_.sums) out += "    " + sum + ".finish();\n";
        return out + "}\n\n";
    }

  private:
    static constexpr int kMostThreads = 1024;

    std::string body() const {
        return "[&](const weft::item_t& item) { " + program_.functions.at(kernel_.name) + "(item" + given_ + "); }";
    }

    Program& program_;
    const ir::Function& kernel_;
    const PrintedFunction& printed_;
    const Options& options_;
    std::vector<int64_t> offsets_;
    std::string given_;
};

}  // namespace

std::string emit(const ir::Module& module, Flavour flavour, const Options& options) {
    Program program{module, flavour};
    for (const auto& function : module.functions)
        program.functions[function->name] = program.names.make(function->name);
    define_types(program);
    define_results(program);
    const bool by_blocks = !is_gpu(flavour) && asks_for_blocks(module);
    std::string prototypes;
    std::string bodies;
    std::string entries;
    for (const auto& function : module.functions) {
        const bool kernel = function->kind == ir::FunctionKind::Kernel;
        GpuPlan plan;
        if (kernel && is_gpu(flavour) && options.dense) plan = plan_for_gpu(module, *function);
        program.sums = plan.sums;
        const PrintedFunction printed = print_function(program, *function);
        std::string head = std::string("static ") + (is_gpu(flavour) ? "__device__ " : "") +
                           result_type(program, *function) + " " + program.functions.at(function->name) +
                           "(const weft::item_t& item";
        for (size_t i = 0; i < printed.names.size(); ++i) head += ", " + printed.types[i] + " " + printed.names[i];
        for (size_t i = 0; i < printed.sums.size(); ++i) {
            head += ", weft::sum<" + program.types.name(plan.sums[i]->operands[1]->type) + ">& " + printed.sums[i];
        }
        head += ")";
        prototypes += head + ";\n";
        bodies += head + " {\n" + printed.body + "}\n\n";
        if (!kernel) continue;
        const Entry entry(program, *function, printed, options);
        entries += is_gpu(flavour) ? entry.gpu(plan) : entry.host(by_blocks);
    }
    std::string out = snippet_prototypes(module) + "namespace program {\n\n" + program.types.definitions() +
                      program.result_definitions + prototypes + "\n" + bodies + entries;
    if (by_blocks) {
        out += "extern \"C\" __attribute__((visibility(\"default\"))) const char " + std::string(kRunsBlocks) +
               " = 1;\n\n";
    }
    return out + "}  // namespace program\n";
}

}  // namespace weft::codegen::cxx
