#include "codegen/compile.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::codegen {
namespace {

// Copying through the builder folds constants and merges equal ops.
std::unique_ptr<ir::Module> copy(const ir::Module& module) {
    auto out = std::make_unique<ir::Module>();
    for (const auto& function : module.functions) {
        ir::Function& made = out->add(function->name, function->kind);
        made.results = function->results;
        made.adjoint = function->adjoint;
        made.replay = function->replay;
        made.by_value = function->by_value;
        made.location = function->location;
        ir::Builder builder(*out, made);
        ir::ValueMap map;
        for (const ir::Value* parameter : function->parameters()) {
            map[parameter] = builder.parameter(parameter->type, parameter->name);
        }
        ir::clone_into(builder, function->body, map);
        ir::clone_op(builder, *function->body.terminator(), map);
    }
    return out;
}

// Adjoints and replays that no kernel calls are not compiled.
std::unique_ptr<ir::Module> prepare_to_emit(const ir::Module& module) {
    auto out = prepare(module);
    opt::keep_called(*out);
    return out;
}

}  // namespace

std::unique_ptr<ir::Module> prepare(const ir::Module& module) {
    ir::verify(module);
    auto out = copy(module);
    const auto pass = [&](void (*work)(ir::Module&)) {
        work(*out);
#ifndef NDEBUG
        ir::verify(*out);
#endif
    };
    pass(opt::unchanged_values);
    pass(opt::dead_code);
    return out;
}

std::unique_ptr<ir::Module> for_lanes(const ir::Module& module, const std::string& kernel) {
    auto out = copy(module);
    opt::keep_reachable(*out, kernel);
    for (const auto& function : out->functions) {
        opt::single_exit(*out, *function);
        // Derivatives are made by now: in an adjoint, which may call these itself, they keep nothing from being
        // inlined.
        function->adjoint.clear();
        function->replay.clear();
    }
    opt::inline_calls(*out, *out->find(kernel));
    opt::keep_reachable(*out, kernel);
    opt::unchanged_values(*out);
    opt::dead_code(*out);
#ifndef NDEBUG
    ir::verify(*out);
#endif
    return out;
}

Image compile(const ir::Module& module, Backend& backend, const Options& options, std::vector<StageTime>* times) {
    const auto start = std::chrono::steady_clock::now();
    const auto prepared = prepare_to_emit(module);
    if (times != nullptr) {
        const auto now = std::chrono::steady_clock::now();
        times->push_back({"prepare", std::chrono::duration<double, std::milli>(now - start).count()});
    }
    return backend.compile(*prepared, options, times);
}

std::string dump(const ir::Module& module, Backend& backend, const Options& options, const std::string& kind) {
    const auto kinds = backend.dump_kinds();
    const bool known = kind == "ir" || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    WEFT_CHECK(known, "no dump of kind " + kind);
    const auto prepared = prepare_to_emit(module);
    return kind == "ir" ? ir::print(*prepared) : backend.dump(*prepared, options, kind);
}

}  // namespace weft::codegen
