// Assembles the registry from the files of rows and the prelude, and reads signatures.
#include "builtins/registry.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "builtins/prelude.h"
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

// Splits at `separator` where no bracket is open.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    int depth = 0;
    std::string piece;
    for (const char c : text) {
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        if (c == separator && depth == 0) {
            pieces.push_back(std::move(piece));
            piece.clear();
        } else {
            piece += c;
        }
    }
    if (piece.find_first_not_of(' ') != std::string::npos) pieces.push_back(std::move(piece));
    return pieces;
}

std::string trim(std::string_view text) {
    const auto start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return {};
    return std::string(text.substr(start, text.find_last_not_of(' ') - start + 1));
}

struct Registry {
    std::vector<Row> rows;
    std::vector<Builtin> builtins;
    std::vector<Builtin> helpers;
    std::unordered_map<std::string_view, const Builtin*> by_name;

    Registry() {
        Rows writer(rows);
        operator_rows(writer);
        math_rows(writer);
        linalg_rows(writer);
        memory_rows(writer);
        kernel_rows(writer);
        native_rows(writer);
        for (const auto& f : prelude()) {
            writer.group(f.group);
            writer.add(f.name, f.signature, LowerPrelude{f.tree, f.gradient, f.file, split(f.updates, ' ')}, f.doc);
        }
        std::unordered_map<std::string, size_t> index;
        for (const Row& row : rows) {
            const auto [it, fresh] = index.emplace(row.name, builtins.size());
            if (fresh) builtins.push_back({row.name, row.group, row.doc, {}});
            Builtin& builtin = builtins[it->second];
            if (builtin.doc.empty()) builtin.doc = row.doc;
            builtin.rows.push_back(&row);
        }
        std::stable_partition(builtins.begin(), builtins.end(), [](const Builtin& b) { return b.name[0] != '_'; });
        const auto first_helper =
            std::find_if(builtins.begin(), builtins.end(), [](const Builtin& b) { return b.name[0] == '_'; });
        helpers.assign(first_helper, builtins.end());
        builtins.erase(first_helper, builtins.end());
        for (const auto* list : {&builtins, &helpers}) {
            for (const Builtin& builtin : *list) by_name.emplace(builtin.name, &builtin);
        }
    }
};

const Registry& registry() {
    static const Registry instance;
    return instance;
}

// Levenshtein distance, counting a swap of neighbours as one.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        for (size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

Row& Rows::add(std::string_view name, std::string_view signature, Lowering lowering, std::string_view doc,
               std::vector<Domain> domains) {
    rows_.push_back({std::string(name), group_, LazySignature(signature), std::move(lowering), std::move(domains),
                     std::string(doc)});
    return rows_.back();
}

LazySignature::LazySignature(LazySignature&& other) noexcept
    : text_(std::move(other.text_)), read_(other.read_.exchange(nullptr)) {}

LazySignature::~LazySignature() { delete read_.load(); }

const Signature& LazySignature::operator()() const {
    if (const Signature* read = read_.load(std::memory_order_acquire)) return *read;
    auto fresh = std::make_unique<const Signature>(parse_signature(text_));
    const Signature* others = nullptr;
    if (!read_.compare_exchange_strong(others, fresh.get(), std::memory_order_acq_rel)) return *others;
    return *fresh.release();
}

Signature parse_signature(std::string_view text) {
    Signature signature;
    signature.result = TypePattern(ir::Type());
    const auto arrow = text.find("->");
    if (arrow != std::string_view::npos) signature.result = parse_pattern(trim(text.substr(arrow + 2)));
    const std::string parameters = trim(text.substr(0, arrow));
    WEFT_CHECK(parameters.size() >= 2 && parameters.front() == '(' && parameters.back() == ')',
               "`" + std::string(text) + "` is no signature");
    for (const std::string& piece : split(std::string_view(parameters).substr(1, parameters.size() - 2), ',')) {
        const auto colon = piece.find(':');
        WEFT_CHECK(colon != std::string::npos, "a parameter of `" + std::string(text) + "` has no type");
        const auto equals = piece.find('=');
        Parameter parameter;
        parameter.name = trim(std::string_view(piece).substr(0, colon));
        parameter.type = parse_pattern(trim(std::string_view(piece).substr(colon + 1, equals - colon - 1)));
        if (equals != std::string::npos) parameter.default_text = trim(std::string_view(piece).substr(equals + 1));
        signature.parameters.push_back(std::move(parameter));
    }
    return signature;
}

std::string Signature::str() const {
    std::string text = "(";
    for (size_t i = 0; i < parameters.size(); ++i) {
        const auto& p = parameters[i];
        text += (i ? ", " : "") + p.name + ": " + p.type.str() + (p.default_text.empty() ? "" : " = " + p.default_text);
    }
    text += ")";
    if (!result.is_exact() || result.exact) text += " -> " + result.str();
    return text;
}

const std::vector<Builtin>& all() { return registry().builtins; }

const Builtin* find(std::string_view name) {
    const auto it = registry().by_name.find(name);
    return it == registry().by_name.end() ? nullptr : it->second;
}

std::vector<std::string> similar(std::string_view name, std::span<const std::string> candidates) {
    std::vector<std::pair<size_t, std::string>> ranked;
    const size_t limit = std::max<size_t>(1, name.size() / 3);
    for (const auto& candidate : candidates) {
        if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
        const size_t d = distance(name, candidate);
        if (d <= limit && d > 0) ranked.emplace_back(d, candidate);
    }
    std::sort(ranked.begin(), ranked.end());
    ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
    std::vector<std::string> best;
    for (size_t i = 0; i < ranked.size() && i < 3; ++i) best.push_back(ranked[i].second);
    return best;
}

}  // namespace weft::builtins
