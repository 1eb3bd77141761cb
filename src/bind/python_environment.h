// The world of a Python function, as Environment asks for it, in two steps: which Python object answers a question, and
// what that object stands for. Who watches (source_questions.h) is told of both.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/environment.h"

namespace weft::bind {

struct Question {
    enum class Kind : uint8_t { Name, Attribute, Items, Annotation, Default, Static };
    using Locals = std::vector<std::pair<std::string, frontend::Binding>>;

    Kind kind = Kind::Name;
    std::string text;     // a name, or the expression
    frontend::Object of;  // whose attribute or items
    frontend::Span where;
    Locals locals;  // numbers
};

class PythonEnvironment : public frontend::Environment {
  public:
    // The function is kept by who has the package's object for it, which Python's garbage collector sees: a reference
    // from here would keep it, and all that its module holds, for ever.
    explicit PythonEnvironment(const nanobind::object& function);

    frontend::Binding name(const std::string& name) override;
    frontend::Binding attribute(const frontend::Object& object, const std::string& name) override;
    std::vector<frontend::Binding> items(const frontend::Object& object) override;
    frontend::Binding annotation(const std::string& parameter) override;
    frontend::Binding default_value(const std::string& parameter) override;
    frontend::Binding evaluate(std::string_view expression, const frontend::Span& where,
                               std::span<const std::pair<std::string, frontend::Binding>> locals) override;
    std::vector<std::string> names() override;

    // With the GIL held, all of these. The object that answers; invalid where there is none.
    nanobind::object find(const Question& question) const;
    // What it stands for there; of Items: one each.
    std::vector<frontend::Binding> read(const Question& question, const nanobind::object& found) const;
    // Keeps the value that wp.static(expression) has now.
    void evaluate_now(const std::string& expression, const frontend::Span& where);
    nanobind::object function() const;

  private:
    std::vector<frontend::Binding> ask(const Question& question) const;
    nanobind::object find_name(const std::string& name) const;
    nanobind::object find_annotation(const std::string& parameter) const;
    nanobind::object find_default(const std::string& parameter) const;
    nanobind::object find_static(const Question& question) const;
    frontend::Binding read_annotation_of(const nanobind::object& found) const;
    nanobind::object evaluate_python(const std::string& expression, const nanobind::dict& names) const;
    nanobind::dict names_of_closure() const;

    std::shared_ptr<void> function_;  // a weak reference of Python's
    // Values of wp.static(...) by line and column, taken at definition.
    std::map<std::pair<int, int>, std::shared_ptr<void>> statics_;
};

// Is told of what is asked on its thread, by all environments.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void answered(const PythonEnvironment& asked, const Question& question, const nanobind::object& found,
                          const std::vector<frontend::Binding>& answer) = 0;
};
// Of this thread, or null.
Watcher*& watcher();

}  // namespace weft::bind
