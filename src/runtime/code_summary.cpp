#include "runtime/code_summary.h"

#include <unordered_set>

#include "builtins/textures.h"
#include "codegen/backend.h"
#include "codegen/snippet_text.h"
#include "ir/text.h"
#include "opt/in_loop.h"

namespace weft::runtime {
namespace {

// Turns that a loop is taken to have where nothing is known.
constexpr int64_t kTurns = 16;

void count_atomics(const ir::Function& function, CodeSummary& summary) {
    std::unordered_set<const ir::Value*> used;
    ir::walk(function.body, [&](const ir::Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    ir::walk(function.body, [&](const ir::Op& op) {
        // Snippets may have atomics of their own.
        if (op.code == ir::Opcode::Snippet) summary.ordered |= op.text.find("tomic") != std::string::npos;
        if (op.code != ir::Opcode::Atomic || ir::local_array_of(op.operands[0]) != nullptr) return;
        const ir::Type type = op.operands[1]->type;
        const bool own = op.text == opt::kOwnElement;
        const int numbers = type.is_aggregate() ? type.part_count() : 1;
        if (!own) summary.shared_atomics += numbers;
        if (!own) summary.shared_updates += numbers * (opt::in_loop(op) ? kTurns : 1);
        const bool last_wins = op.atomic() == ir::AtomicKind::Exchange;
        const bool ordered = last_wins || type.has_float_elements() || used.contains(op.result());
        (own ? summary.ordered_own : summary.ordered) |= ordered;
    });
}

// One list of members for both directions.
template <typename File, typename Summary>
void describe_numbers(File& file, Summary& s) {
    file(s.block_bytes, s.shared_atomics, s.shared_updates, s.ordered, s.ordered_own, s.uses_thread_index,
         s.has_assertions, s.has_places, s.line);
}

template <typename File, typename Plan>
void describe_plan(File& file, Plan& plan) {
    file(plan.items, plan.has_sums, plan.coordinates, plan.narrows, plan.free_blocks);
}

template <typename File, typename OneParameter>
void describe_parameter(File& file, OneParameter& p) {
    file(p.offset, p.access.read, p.access.write, p.access.sum, p.access.other_atomic, p.access.plain, p.narrow_extents,
         p.narrow_strides, p.has_textures);
}

}  // namespace

Location location_of(const ir::Function& kernel) {
    if (kernel.location) return kernel.location;
    for (const ir::Op* op : kernel.body.ops) {
        if (op->location) return op->location;
    }
    return {};
}

CodeSummary summarize(const ir::Module& module, ir::Function& kernel) {
    CodeSummary out;
    out.own_elements = opt::own_elements(module, kernel);
    const std::vector<int64_t> offsets = codegen::parameter_offsets(kernel);
    const std::vector<Access> access = parameter_access(module, kernel);
    const bool extents = contains(module, kernel, ir::Opcode::Shape);
    const bool strides = contains(module, kernel, ir::Opcode::Stride);
    for (size_t i = 0; i < access.size(); ++i) {
        const ir::Value& value = *kernel.parameters()[i];
        const bool textures = builtins::contains_texture(value.type);
        out.parameters.push_back({value.name, value.type, offsets[i], access[i], extents, strides, textures});
    }
    out.block_bytes = offsets.back();
    for (const auto& reached : module.functions) count_atomics(*reached, out);
    out.uses_thread_index = contains(module, kernel, ir::Opcode::ThreadIndex);
    // Snippets may wait for threads that never come, which is reported as an assert is.
    out.has_assertions = contains(module, kernel, ir::Opcode::Assert) || contains(module, kernel, ir::Opcode::Snippet);
    out.has_places = codegen::has_checked_snippets(module);
    if (const Location place = location_of(kernel); place && place.file != nullptr) {
        out.file = place.file->path;
        out.line = place.line;
    }
    return out;
}

void write(ByteWriter& writer, const CodeSummary& summary) {
    const auto file = [&](const auto&... all) { (writer.add(all), ...); };
    describe_numbers(file, summary);
    writer.add(static_cast<uint32_t>(summary.parameters.size()));
    for (const Parameter& p : summary.parameters) {
        writer.add(p.name).add(p.type.str());
        describe_parameter(file, p);
    }
    writer.add(static_cast<uint32_t>(summary.own_elements.size()));
    for (const opt::OwnElements& own : summary.own_elements) file(own.parameter, own.coordinates);
    writer.add(summary.file).add(summary.gpu.has_value());
    if (summary.gpu) describe_plan(file, *summary.gpu);
}

CodeSummary read_summary(ByteReader& reader) {
    const auto file = [&](auto&... all) { ((all = reader.number<std::remove_reference_t<decltype(all)>>()), ...); };
    CodeSummary out;
    describe_numbers(file, out);
    const auto count = reader.number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
        Parameter p;
        p.name = reader.text();
        try {
            p.type = ir::parse_type(reader.text());
        } catch (const UserError&) {
            throw InternalError("a kept parameter has no type");
        }
        describe_parameter(file, p);
        out.parameters.push_back(std::move(p));
    }
    const auto owned = reader.number<uint32_t>();
    for (uint32_t i = 0; i < owned; ++i) {
        opt::OwnElements own;
        file(own.parameter, own.coordinates);
        out.own_elements.push_back(own);
    }
    out.file = reader.text();
    if (reader.number<bool>()) describe_plan(file, out.gpu.emplace());
    return out;
}

}  // namespace weft::runtime
