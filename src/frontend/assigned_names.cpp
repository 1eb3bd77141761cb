#include "frontend/assigned_names.h"

#include <algorithm>
#include <variant>

#include "builtins/registry.h"

namespace weft::frontend {
namespace {

// Names that a target sets; a name of which only a part is written is marked with a dot in front.
void collect_target(const Expr& target, std::set<std::string>& names, bool part = false) {
    const auto insert = [&](const std::string& name) { names.insert(part ? "." + name : name); };
    switch (target.kind) {
        case ExprKind::Name:
            insert(target.text);
            break;
        case ExprKind::Tuple:
            for (const auto& one : target.children) collect_target(*one, names);
            break;
        case ExprKind::Attribute:
            collect_target(target.child(0), names, true);
            break;
        case ExprKind::Subscript:
            // wp.adjoint[x] is a local of its own, which wp.adjoint[x.member] is a part of.
            if (target.children.size() == 2) {
                const Expr* of = &target.child(1);
                while (of->kind == ExprKind::Attribute) of = &of->child(0);
                if (of->kind == ExprKind::Name) names.insert(".adjoint." + of->text);
            }
            collect_target(target.child(0), names, true);
            break;
        default:
            break;
    }
}

// The variables that calls of builtins such as randf(state) set anew. A function of the user that has such a name is
// taken for one, which costs no more than a carried value.
void collect_updated(const Expr& e, std::set<std::string>& names) {
    for (const auto& child : e.children) collect_updated(*child, names);
    if (e.kind != ExprKind::Call) return;
    const auto* builtin = builtins::find(e.child(0).text);
    if (!builtin) return;
    for (const auto* row : builtin->rows) {
        const auto* prelude = std::get_if<builtins::LowerPrelude>(&row->lowering);
        for (size_t i = 0; prelude && i < row->signature().parameters.size() && i + 1 < e.children.size(); ++i) {
            const auto& updated = prelude->updates;
            if (std::find(updated.begin(), updated.end(), row->signature().parameters[i].name) != updated.end())
                collect_target(e.child(i + 1), names);
        }
    }
}

}  // namespace

void collect_addressed(const Expr& e, std::set<std::string>& names) {
    for (const auto& child : e.children) collect_addressed(*child, names);
    if (e.kind != ExprKind::Call || e.child(0).text != "address_of" || e.children.size() != 2) return;
    const Expr* root = &e.child(1);
    while ((root->kind == ExprKind::Attribute || root->kind == ExprKind::Subscript)) root = &root->child(0);
    if (root->kind == ExprKind::Name) names.insert(root->text);
}

void collect_addressed(const std::vector<StmtPtr>& statements, std::set<std::string>& names) {
    for (const auto& s : statements) {
        for (const auto& e : s->children) collect_addressed(*e, names);
        collect_addressed(s->body, names);
        collect_addressed(s->otherwise, names);
    }
}

void collect_assigned(const std::vector<StmtPtr>& statements, std::set<std::string>& names) {
    for (const auto& s : statements) {
        if (s->kind == StmtKind::Assign || s->kind == StmtKind::Augment || s->kind == StmtKind::For) {
            collect_target(s->child(0), names);
        }
        for (size_t i = 2; s->kind == StmtKind::Assign && i < s->children.size(); ++i)
            collect_target(s->child(i), names);
        for (const auto& e : s->children) collect_updated(*e, names);
        collect_assigned(s->body, names);
        collect_assigned(s->otherwise, names);
    }
}

}  // namespace weft::frontend
