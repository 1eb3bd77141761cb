#include "bind/source_questions.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "bind/attributes.h"
#include "bind/objects.h"
#include "bind/python_environment.h"
#include "codegen/backend.h"
#include "codegen/build_id.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using frontend::Binding;
using runtime::KernelMemory;

// ---- answers as texts ----

void add_pattern(ByteWriter& out, const builtins::TypePattern& pattern) {
    out.add(static_cast<uint8_t>(pattern.kind)).add(pattern.exact.str());
    out.add(static_cast<uint32_t>(pattern.parts.size()));
    for (const auto& part : pattern.parts) add_pattern(out, part);
    out.add(static_cast<uint32_t>(pattern.lengths.size()));
    for (const auto& length : pattern.lengths) out.add(length.number).add(length.variable);
}

// The world of each function that is met, and each object whose attributes are asked for, numbered in the order of
// meeting them: so the same questions lead to the same numbers.
class Worlds {
  public:
    struct World {
        nb::object function;
        std::shared_ptr<frontend::Environment> environment;  // null: made when it is needed
    };

    // `kept`: a _core.Function that has been made of it, or None.
    int add(const nb::object& function, nb::handle kept) {
        const auto [place, fresh] = numbers_.try_emplace(function.ptr(), static_cast<int>(worlds_.size()));
        if (fresh) {
            worlds_.push_back({function, nullptr});
            if (!kept.is_none()) worlds_.back().environment = nb::cast<FunctionObject&>(kept).source->environment;
        }
        return place->second;
    }

    // -1: of a function that no answer named.
    int number(const nb::object& function) const {
        const auto place = numbers_.find(function.ptr());
        return place == numbers_.end() ? -1 : place->second;
    }

    PythonEnvironment* environment(size_t number) {
        if (number >= worlds_.size()) return nullptr;
        World& world = worlds_[number];
        if (world.environment == nullptr) world.environment = make_environment(world.function);
        return dynamic_cast<PythonEnvironment*>(world.environment.get());
    }

    int object_number(const frontend::Object& object) {
        for (size_t i = 0; i < objects_.size(); ++i) {
            if (objects_[i].handle.get() == object.handle.get()) return static_cast<int>(i);
        }
        objects_.push_back(object);
        return static_cast<int>(objects_.size()) - 1;
    }
    const frontend::Object* object(int number) const {
        return number >= 0 && static_cast<size_t>(number) < objects_.size() ? &objects_[static_cast<size_t>(number)]
                                                                            : nullptr;
    }

    static bool is_function(const nb::object& found) {
        if (!found.is_valid() || PyType_Check(found.ptr()) || PyModule_Check(found.ptr())) return false;
        return attribute_or_null(found.type(), "_weft_function_").is_valid();
    }

    // A function of the package: what its definitions are, but for the answers of their worlds.
    std::string describe_function(const nb::object& function) {
        ByteWriter out;
        out.add(std::string_view("function"));
        for (nb::handle definition : function.attr("_definitions")()) {
            out.add(add(nb::borrow(definition[0]), nb::object(definition[1])));
            out.add(std::string_view(nb::cast<std::string>(definition[2])));
        }
        return out.take();
    }

    std::string describe(const Binding& binding) {
        ByteWriter out;
        out.add(static_cast<uint8_t>(binding.index()));
        if (const auto* integer = std::get_if<frontend::IntNumber>(&binding)) {
            out.add(integer->negative).add(integer->magnitude).add(integer->too_large);
        } else if (const auto* real = std::get_if<frontend::FloatNumber>(&binding)) {
            out.add(real->value);
        } else if (const auto* truth = std::get_if<frontend::BoolNumber>(&binding)) {
            out.add(truth->value);
        } else if (const auto* constant = std::get_if<frontend::Constant>(&binding)) {
            out.add(constant->type.str());
            for (const uint64_t bits : constant->bits) out.add(bits);
        } else if (const auto* type = std::get_if<ir::Type>(&binding)) {
            out.add(type->str());
        } else if (const auto* pattern = std::get_if<builtins::TypePattern>(&binding)) {
            add_pattern(out, *pattern);
        } else if (const auto* builtin = std::get_if<frontend::BuiltinName>(&binding)) {
            out.add(builtin->name);
        } else if (const auto* text = std::get_if<frontend::StringValue>(&binding)) {
            out.add(text->text);
        } else if (const auto* object = std::get_if<frontend::Object>(&binding)) {
            out.add(object_number(*object)).add(object->description);
        } else if (const auto* unusable = std::get_if<frontend::Unusable>(&binding)) {
            out.add(unusable->description);
        }
        return out.take();
    }

    // Of what is no function.
    std::string describe(const std::vector<Binding>& answer) {
        ByteWriter out;
        for (const Binding& binding : answer) {
            // A function that no question can be told from.
            if (std::holds_alternative<std::shared_ptr<const frontend::OverloadSet>>(binding)) {
                throw InternalError("a function that is no object of the package");
            }
            out.add(describe(binding));
        }
        return out.take();
    }

  private:
    std::vector<World> worlds_;
    std::unordered_map<PyObject*, int> numbers_;
    std::vector<frontend::Object> objects_;
};

// ---- questions as texts ----

std::string write(int world, const Question& question, Worlds& worlds) {
    ByteWriter out;
    out.add(question.kind).add(world).add(question.text);
    out.add(question.of.handle != nullptr ? worlds.object_number(question.of) : -1);
    out.add(question.where.line).add(question.where.column);
    const auto numbers = [&](const auto& visit) {
        for (const auto& [name, value] : question.locals) {
            if (const auto* integer = std::get_if<frontend::IntNumber>(&value)) {
                visit(name, true, integer->negative, integer->magnitude);
            } else if (const auto* real = std::get_if<frontend::FloatNumber>(&value)) {
                uint64_t bits = 0;
                std::memcpy(&bits, &real->value, sizeof bits);
                visit(name, false, false, bits);
            }
        }
    };
    uint32_t count = 0;
    numbers([&](const auto&...) { ++count; });
    out.add(count);
    numbers([&](const std::string& name, bool integer, bool negative, uint64_t bits) {
        out.add(name).add(integer).add(negative).add(bits);
    });
    return out.take();
}

struct Asked {
    int world = 0;
    Question question;
};

Asked read_question(std::string_view bytes, const Worlds& worlds) {
    ByteReader in(bytes);
    Asked out;
    out.question.kind = in.number<Question::Kind>();
    out.world = in.number<int>();
    out.question.text = in.text();
    const int object = in.number<int>();
    if (object >= 0) {
        const frontend::Object* met = worlds.object(object);
        if (met == nullptr) throw InternalError("a question about an object that was not met");
        out.question.of = *met;
    }
    out.question.where.line = in.number<int>();
    out.question.where.column = in.number<int>();
    const auto count = in.number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
        std::string name(in.text());
        const bool integer = in.number<bool>();
        const bool negative = in.number<bool>();
        const auto bits = in.number<uint64_t>();
        if (integer) {
            out.question.locals.emplace_back(std::move(name), frontend::IntNumber{negative, bits, false});
        } else {
            frontend::FloatNumber real;
            std::memcpy(&real.value, &bits, sizeof bits);
            out.question.locals.emplace_back(std::move(name), real);
        }
    }
    return out;
}

// Notes what is asked while it lives.
class Notes final : public Watcher {
  public:
    explicit Notes(const nb::object& function, nb::handle kept) : outer_(std::exchange(watcher(), this)) {
        worlds_.add(function, kept);
    }
    ~Notes() override { watcher() = outer_; }
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    void answered(const PythonEnvironment& asked, const Question& question, const nb::object& found,
                  const std::vector<Binding>& answer) override {
        if (broken_) return;
        const int world = worlds_.number(asked.function());
        if (world < 0) {
            broken_ = true;
            return;
        }
        try {
            const std::string written = write(world, question, worlds_);
            const std::string text =
                Worlds::is_function(found) ? worlds_.describe_function(found) : worlds_.describe(answer);
            const auto [place, fresh] = answers_.try_emplace(written, text);
            if (fresh) {
                out_.add(written).add(text);
            } else {
                broken_ = broken_ || place->second != text;  // the world changed meanwhile
            }
        } catch (...) {
            broken_ = true;
        }
    }

    std::string take() { return broken_ ? std::string() : out_.take(); }

  private:
    Watcher* outer_;
    Worlds worlds_;
    std::unordered_map<std::string, std::string> answers_;
    ByteWriter out_;
    bool broken_ = false;
};

// ---- of a kernel ----

class PythonMemory final : public KernelMemory {
  public:
    PythonMemory(std::shared_ptr<runtime::SourcePack> pack, std::string name, nb::handle kernel)
        : KernelMemory(std::move(pack), std::move(name)), kernel_(kernel.ptr()) {}

    std::string watch(const std::function<void()>& lower) override {
        std::optional<Notes> notes;
        {
            const nb::gil_scoped_acquire gil;
            notes.emplace(nb::object(kernel().attr("func")), nb::object(kernel().attr("_function")));
        }
        // What notes hold are Python's objects.
        const auto drop = [&] {
            const nb::gil_scoped_acquire gil;
            notes.reset();
        };
        try {
            lower();
        } catch (...) {
            drop();
            throw;
        }
        std::string out = notes->take();
        drop();
        return out;
    }

    bool holds(std::string_view questions) override {
        const nb::gil_scoped_acquire gil;
        try {
            Worlds worlds;
            worlds.add(nb::object(kernel().attr("func")), nb::object(kernel().attr("_function")));
            ByteReader in(questions);
            while (!in.done()) {
                const Asked asked = read_question(in.text(), worlds);
                const std::string_view expected = in.text();
                PythonEnvironment* environment = worlds.environment(static_cast<size_t>(asked.world));
                if (environment == nullptr) return false;
                const nb::object found = environment->find(asked.question);
                const std::string answer = Worlds::is_function(found)
                                               ? worlds.describe_function(found)
                                               : worlds.describe(environment->read(asked.question, found));
                if (answer != expected) return false;
            }
            return true;
        } catch (const nb::python_error&) {
            return false;  // lowering tells it
        } catch (const UserError&) {
            return false;
        } catch (const InternalError&) {
            return false;
        }
    }

  private:
    nb::handle kernel() const { return kernel_; }

    PyObject* kernel_;  // has the runtime's kernel, which has this
};

// What all code of this build depends on.
const std::string& build() {
    static const std::string all = [] {
        return "weft source 1 " + codegen::own_build_id() + " " +
               codegen::build_id(reinterpret_cast<const void*>(&make_memory)) + " " + Py_GetVersion();
    }();
    return all;
}

std::string option_text(const runtime::KernelOptions& options) {
    const codegen::BackendInfo& backend =
        options.backend.empty() ? codegen::backends().front() : codegen::backend(options.backend);
    ByteWriter out;
    out.add(options.max_unroll).add(options.assertions).add(options.checks).add(options.verify_fp);
    out.add(backend.name).add(backend.target_key()).add(options.codegen.key());
    return out.take();
}

}  // namespace

std::unique_ptr<KernelMemory> make_memory(nb::handle kernel, const runtime::KernelOptions& options) {
    runtime::SourcePacks* packs = runtime::Runtime::get().packs();
    if (packs == nullptr) return nullptr;
    const nb::object identity = kernel.attr("_source_identity")();
    if (identity.is_none()) return nullptr;
    const auto [path, text, name] = nb::cast<std::tuple<std::string, std::string, std::string>>(identity);
    ByteWriter pack;
    pack.add(build()).add(path);
    return std::make_unique<PythonMemory>(packs->pack(pack.take(), text), name + option_text(options), kernel);
}

}  // namespace weft::bind
