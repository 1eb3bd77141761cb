#include "frontend/environment.h"

#include <algorithm>
#include <functional>
#include <set>

#include "frontend/assigned_names.h"

namespace weft::frontend {
namespace {

void collect_names(const Expr& e, std::set<std::string>& names) {
    if (e.kind == ExprKind::Name) names.insert(e.text);
    for (const auto& child : e.children) collect_names(*child, names);
}

// Calls `visit` for every expression of the statements, outer before inner.
void walk(const Expr& e, const std::function<void(const Expr&)>& visit) {
    visit(e);
    for (const auto& child : e.children) walk(*child, visit);
}

void walk(const std::vector<StmtPtr>& statements, const std::function<void(const Expr&)>& visit) {
    for (const auto& s : statements) {
        for (const auto& e : s->children) walk(*e, visit);
        walk(s->body, visit);
        walk(s->otherwise, visit);
    }
}

}  // namespace

std::vector<FixedStatic> fixed_statics(const FunctionSource& function) {
    std::set<std::string> local;
    collect_assigned(function.tree->body, local);
    for (const auto& p : function.tree->parameters) local.insert(p.name);
    std::vector<FixedStatic> expressions;
    std::set<const Expr*> inner;
    walk(function.tree->body, [&](const Expr& e) {
        if (e.kind != ExprKind::Call || e.child(0).text != "static" || e.children.size() != 2) return;
        if (inner.contains(&e)) return;
        // What cannot be read as an expression of kernels (a comprehension) may name anything.
        bool fixed = true;
        walk(e.child(1), [&](const Expr& part) { fixed = fixed && part.kind != ExprKind::Unsupported; });
        std::set<std::string> names;
        collect_names(e.child(1), names);
        for (const auto& name : names) fixed = fixed && !local.contains(name);
        if (!fixed) return;
        expressions.push_back({function.text(e.child(1).span), e.child(1).span});
        // Python evaluates those inside it.
        walk(e.child(1), [&](const Expr& part) { inner.insert(&part); });
    });
    return expressions;
}

std::string FunctionSource::text(const Span& span) const {
    std::string result;
    for (int line = span.line; line <= span.end_line; ++line) {
        std::string_view whole = file ? file->line(line) : std::string_view{};
        if (line == span.end_line) whole = whole.substr(0, static_cast<size_t>(std::max(0, span.end_column)));
        if (line == span.line) {
            whole = whole.substr(std::min(whole.size(), static_cast<size_t>(std::max(0, span.column))));
        } else {
            result += '\n';
        }
        result += whole;
    }
    return result;
}

}  // namespace weft::frontend
