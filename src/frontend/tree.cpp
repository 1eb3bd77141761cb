// The serialised form of syntax trees: S-expressions whose words are those of tree.def.
#include "frontend/tree.h"

#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"

namespace weft::frontend {
namespace {

constexpr std::array kExprWords = {
#define EXPR(Kind, word) std::string_view(word),
#include "frontend/tree.def"
};
constexpr std::array kStmtWords = {
#define STMT(Kind, word) std::string_view(word),
#include "frontend/tree.def"
};

bool has_number(ExprKind kind) { return kind == ExprKind::Float || kind == ExprKind::Bool; }

class Writer {
  public:
    std::string text;

    void string(std::string_view s) {
        text += " \"";
        for (const char c : s) {
            if (c == '"' || c == '\\') text += '\\';
            if (c == '\n') {
                text += "\\n";
            } else {
                text += c;
            }
        }
        text += '"';
    }

    void span(const Span& s) {
        text += " " + std::to_string(s.line) + ":" + std::to_string(s.column) + ":" + std::to_string(s.end_line) + ":" +
                std::to_string(s.end_column);
    }

    void expr(const Expr& e) {
        text += "(";
        text += word(e.kind);
        span(e.span);
        if (!e.text.empty() || e.kind == ExprKind::String) string(e.text);
        if (has_number(e.kind)) {
            std::array<char, 32> digits{};
            const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), e.number).ptr;
            text += " #" + std::string(digits.data(), end);
        }
        for (const auto& child : e.children) {
            text += ' ';
            expr(*child);
        }
        text += ")";
    }

    void block(const std::vector<StmtPtr>& statements) {
        text += " {";
        for (const auto& statement : statements) stmt(*statement);
        text += "}";
    }

    void stmt(const Stmt& s) {
        text += "(";
        text += word(s.kind);
        span(s.span);
        if (!s.text.empty()) string(s.text);
        for (const auto& child : s.children) {
            text += ' ';
            expr(*child);
        }
        if (!s.body.empty() || !s.otherwise.empty()) block(s.body);
        if (!s.otherwise.empty()) block(s.otherwise);
        text += ")";
    }
};

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::unique_ptr<FunctionTree> function() {
        auto tree = std::make_unique<FunctionTree>();
        expect('(');
        WEFT_CHECK(read_word() == "function", "a serialised tree starts with `(function`");
        tree->span = span();
        tree->name = string();
        tree->returns = string();
        tree->doc = string();
        while (peek() == '(') {
            expect('(');
            WEFT_CHECK(read_word() == "parameter", "a parameter was expected");
            Parameter parameter;
            parameter.span = span();
            parameter.name = string();
            parameter.annotation = string();
            if (peek() == '(') parameter.default_value = expr();
            expect(')');
            tree->parameters.push_back(std::move(parameter));
        }
        tree->body = block();
        expect(')');
        return tree;
    }

  private:
    char peek() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    void expect(char c) {
        WEFT_CHECK(peek() == c, std::string("'") + c + "' was expected at " + std::to_string(at_));
        ++at_;
    }

    std::string_view read_word() {
        peek();
        const size_t start = at_;
        while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
        return text_.substr(start, at_ - start);
    }

    int number() {
        peek();
        int value = 0;
        const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        WEFT_CHECK(result.ec == std::errc{}, "a number was expected at " + std::to_string(at_));
        at_ = static_cast<size_t>(result.ptr - text_.data());
        return value;
    }

    Span span() {
        Span s;
        s.line = number();
        expect(':');
        s.column = number();
        expect(':');
        s.end_line = number();
        expect(':');
        s.end_column = number();
        return s;
    }

    std::string string() {
        expect('"');
        std::string out;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
                out += text_[at_] == 'n' ? '\n' : text_[at_];
            } else {
                out += text_[at_];
            }
        }
        expect('"');
        return out;
    }

    ExprPtr expr() {
        expect('(');
        const auto name = read_word();
        size_t kind = 0;
        while (kind < kExprWords.size() && kExprWords[kind] != name) ++kind;
        WEFT_CHECK(kind < kExprWords.size(), "no expression is called `" + std::string(name) + "`");
        auto e = std::make_unique<Expr>();
        e->kind = static_cast<ExprKind>(kind);
        e->span = span();
        if (peek() == '"') e->text = string();
        if (peek() == '#') {
            ++at_;
            const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), e->number);
            WEFT_CHECK(result.ec == std::errc{}, "a number was expected at " + std::to_string(at_));
            at_ = static_cast<size_t>(result.ptr - text_.data());
        }
        while (peek() == '(') e->children.push_back(expr());
        expect(')');
        return e;
    }

    std::vector<StmtPtr> block() {
        std::vector<StmtPtr> statements;
        expect('{');
        while (peek() == '(') statements.push_back(stmt());
        expect('}');
        return statements;
    }

    StmtPtr stmt() {
        expect('(');
        const auto name = read_word();
        size_t kind = 0;
        while (kind < kStmtWords.size() && kStmtWords[kind] != name) ++kind;
        WEFT_CHECK(kind < kStmtWords.size(), "no statement is called `" + std::string(name) + "`");
        auto s = std::make_unique<Stmt>();
        s->kind = static_cast<StmtKind>(kind);
        s->span = span();
        if (peek() == '"') s->text = string();
        while (peek() == '(') s->children.push_back(expr());
        if (peek() == '{') s->body = block();
        if (peek() == '{') s->otherwise = block();
        expect(')');
        return s;
    }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace

std::string_view word(ExprKind kind) { return kExprWords.at(static_cast<size_t>(kind)); }
std::string_view word(StmtKind kind) { return kStmtWords.at(static_cast<size_t>(kind)); }

std::string serialize(const FunctionTree& tree) {
    Writer writer;
    writer.text = "(function";
    writer.span(tree.span);
    writer.string(tree.name);
    writer.string(tree.returns);
    writer.string(tree.doc);
    for (const auto& parameter : tree.parameters) {
        writer.text += " (parameter";
        writer.span(parameter.span);
        writer.string(parameter.name);
        writer.string(parameter.annotation);
        if (parameter.default_value) {
            writer.text += ' ';
            writer.expr(*parameter.default_value);
        }
        writer.text += ")";
    }
    writer.block(tree.body);
    writer.text += ")";
    return std::move(writer.text);
}

std::unique_ptr<FunctionTree> deserialize(std::string_view text) { return Reader(text).function(); }

}  // namespace weft::frontend
