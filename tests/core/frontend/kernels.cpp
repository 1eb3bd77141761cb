#include "frontend/kernels.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "builtins/registry.h"
#include "ir/text.h"

namespace weft::frontend::testing {
namespace {

class TableEnvironment : public Environment {
  public:
    std::map<std::string, Binding> table;
    std::shared_ptr<const FunctionTree> tree;

    Binding name(const std::string& name) override {
        if (const auto it = table.find(name); it != table.end()) return it->second;
        if (const ir::Type type = builtins::type_named(name)) return type;
        return builtins::find(name) ? Binding(BuiltinName{name}) : Binding(Unknown{});
    }
    Binding attribute(const Object&, const std::string& name) override { return this->name(name); }
    Binding annotation(const std::string& parameter) override {
        std::string text = parameter == "return" ? tree->returns : "";
        for (const auto& p : tree->parameters) {
            if (p.name == parameter) text = p.annotation;
        }
        if (text.empty()) return Unknown{};
        if (const auto it = table.find(text); it != table.end()) return it->second;
        auto pattern = builtins::parse_pattern(text);
        try {
            return builtins::substitute(pattern, {});
        } catch (const InternalError&) {
            return pattern;
        }
    }
    Binding default_value(const std::string& parameter) override {
        for (const auto& p : tree->parameters) {
            if (p.name == parameter && p.default_value) return FloatNumber{p.default_value->number};
        }
        return Unknown{};
    }
    Binding evaluate(std::string_view expression, const Span&,
                     std::span<const std::pair<std::string, Binding>> locals) override {
        for (const auto& [name, value] : locals) {
            if (name == expression) return value;
        }
        return name(std::string(expression));
    }
};

std::vector<std::string> trees_of(const std::string& text) {
    std::array<char, 32> path{"/tmp/weft-kernel-XXXXXX"};
    const int file = mkstemp(path.data());
    WEFT_CHECK(file >= 0, "no temporary file");
    close(file);
    std::ofstream(path.data()) << text;
    const std::string command =
        "python3 " WEFT_SOURCE_DIR "/tools/embed_prelude.py --trees " + std::string(path.data());
    FILE* pipe = popen(command.c_str(), "r");
    WEFT_CHECK(pipe, "cannot run python3");
    std::string output;
    std::array<char, 4096> buffer{};
    for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) output.append(buffer.data(), n);
    const int status = pclose(pipe);
    unlink(path.data());
    WEFT_CHECK(status == 0, "embed_prelude.py failed");
    std::vector<std::string> trees;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) trees.push_back(line);
    return trees;
}

}  // namespace

std::shared_ptr<FunctionSource> kernel_of(const std::string& text, const std::map<std::string, Binding>& names) {
    auto file = std::make_shared<SourceFile>(SourceFile{"test.py", text, 1});
    std::map<std::string, Binding> table = names;
    std::map<std::string, std::shared_ptr<OverloadSet>> sets;
    std::map<std::string, std::shared_ptr<FunctionSource>> latest;
    std::vector<std::shared_ptr<TableEnvironment>> environments;
    std::shared_ptr<FunctionSource> last;
    for (const auto& tree : trees_of(text)) {
        auto source = std::make_shared<FunctionSource>();
        source->tree = deserialize(tree);
        source->name = source->tree->name;
        source->file = file;
        auto environment = std::make_shared<TableEnvironment>();
        environment->tree = source->tree;
        source->environment = environment;
        environments.push_back(environment);
        last = source;
        if (source->name.starts_with("adj_") && latest.contains(source->name.substr(4))) {
            latest[source->name.substr(4)]->gradient = source;
            continue;
        }
        latest[source->name] = source;
        auto& set = sets[source->name];
        if (!set) {
            set = std::make_shared<OverloadSet>();
            set->name = source->name;
            table[source->name] = std::shared_ptr<const OverloadSet>(set);
        }
        set->functions.push_back(source);
    }
    for (const auto& environment : environments) environment->table = table;
    // Functions know their own names through their environments: what holds itself is kept till the end.
    static auto& kept = *new std::vector<std::shared_ptr<TableEnvironment>>;
    kept.insert(kept.end(), environments.begin(), environments.end());
    return last;
}

std::string lowered(const std::string& text, const std::map<std::string, Binding>& names,
                    const LoweringOptions& options) {
    return ir::print(*lower_kernel(*kernel_of(text, names), {}, options));
}

std::string refused(const std::string& text, const std::map<std::string, Binding>& names) {
    try {
        lower_kernel(*kernel_of(text, names), {}, {});
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace weft::frontend::testing
