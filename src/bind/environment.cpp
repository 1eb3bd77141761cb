// The world of a Python function: what its names, annotations and defaults are, and what wp.static(...) evaluates to.
// Each question takes the GIL for itself.
#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "base/error.h"
#include "bind/attributes.h"
#include "bind/instances.h"
#include "bind/objects.h"
#include "bind/python_environment.h"
#include "bind/values.h"
#include "builtins/registry.h"
#include "frontend/environment.h"
#include "ir/builder.h"

namespace nb = nanobind;

namespace weft::bind {

namespace {

using frontend::Binding;
using frontend::Unknown;
using frontend::Unusable;

std::string text(nb::handle string) { return nb::cast<std::string>(nb::str(string)); }

std::string class_name_of(nb::handle object) {
    return text(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__"));
}

std::string with_article(const std::string& name) {
    const bool vowel = !name.empty() && std::string_view("aeiouAEIOU").find(name[0]) != std::string_view::npos;
    return (vowel ? "an " : "a ") + name;
}

std::shared_ptr<void> hold(nb::handle object) {
    Py_INCREF(object.ptr());
    return {object.ptr(), [](void* p) {
                if (!Py_IsInitialized()) return;
                nb::gil_scoped_acquire gil;
                Py_DECREF(static_cast<PyObject*>(p));
            }};
}

frontend::IntNumber read_int(PyObject* number) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow == 0) {
        const bool negative = small < 0;
        return {negative, negative ? 0 - static_cast<uint64_t>(small) : static_cast<uint64_t>(small), false};
    }
    const unsigned long long big = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return {overflow < 0, 0, true};
    }
    return {false, big, false};
}

// `_weft_value_`: a type and a flat tuple of numbers.
Binding read_constant(nb::handle value) {
    const auto type = nb::cast<ir::Type>(value[0]);
    frontend::Constant constant{type, {}};
    if (!type.is_scalar() && !type.is_uniform()) return Unusable{with_article(type.str())};
    for (nb::handle part : value[1]) {
        if (ir::is_float(type.element())) {
            constant.bits.push_back(ir::to_bits(type.element(), nb::cast<double>(part)));
        } else {
            const auto number = read_int(nb::object(nb::borrow(part)).ptr());
            constant.bits.push_back(ir::to_bits(
                type.element(), static_cast<int64_t>(number.negative ? 0 - number.magnitude : number.magnitude)));
        }
    }
    return constant;
}

// A struct of numbers, by its bytes.
Binding read_struct(nb::handle object, ValueObject& value) {
    if (value.type().contains_array()) return Unusable{"a struct with arrays"};
    if (nb::hasattr(object, "_refresh")) object.attr("_refresh")();
    frontend::Constant constant{value.type(), {}};
    const auto read = [&](const auto& self, ir::Type type, const std::byte* from) -> void {
        if (type.is_scalar()) {
            uint64_t bits = 0;
            std::memcpy(&bits, from, static_cast<size_t>(ir::size_of(type)));
            constant.bits.push_back(bits);
            return;
        }
        for (int i = 0; i < type.part_count(); ++i) self(self, type.part(i), from + ir::offset_of(type, i));
    };
    read(read, value.type(), value.data());
    return constant;
}

Binding read_class(nb::handle object) {
    PyObject* p = object.ptr();
    if (p == reinterpret_cast<PyObject*>(&PyFloat_Type)) return ir::f32();
    if (p == reinterpret_cast<PyObject*>(&PyLong_Type)) return ir::i32();
    if (p == reinterpret_cast<PyObject*>(&PyBool_Type)) return ir::boolean();
    if (p == reinterpret_cast<PyObject*>(Py_TYPE(Py_None))) return frontend::NoneValue{};
    if (const nb::object type = attribute_or_null(object, "_weft_type_");
        type.is_valid() && nb::isinstance<ir::Type>(type)) {
        return nb::cast<ir::Type>(type);
    }
    if (const nb::object pattern = attribute_or_null(object, "_weft_pattern_");
        pattern.is_valid() && PyUnicode_Check(pattern.ptr())) {
        return builtins::parse_pattern(text(pattern));
    }
    if (const nb::object name = attribute_or_null(object, "_weft_builtin_");
        name.is_valid() && PyUnicode_Check(name.ptr())) {
        return frontend::BuiltinName{text(name)};
    }
    const nb::object module = attribute_or_null(object, "__module__");
    const std::string name = text(object.attr("__name__"));
    // Python's own classes (`range`, `type`) and NumPy's scalars are known by name, if at all.
    const std::string where = module.is_valid() ? text(module) : "";
    if (where == "builtins" || where == "numpy") return Unusable{"the class " + name};
    return frontend::Object{hold(object), "class " + name};
}

// What annotations may be beyond what values may: typing.Any, tuples of types.
Binding read_annotation(nb::handle object) {
    if (nb::isinstance<nb::tuple>(object) || nb::isinstance<nb::list>(object)) {
        builtins::TypePattern tuple(builtins::TypePattern::Kind::Tuple);
        for (nb::handle part : object) {
            if (part.is(nb::handle(Py_Ellipsis)) && tuple.parts.size() == 1) {
                tuple.lengths.emplace_back();  // any number of the one part
                continue;
            }
            const Binding binding = read_annotation(part);
            if (const auto* type = std::get_if<ir::Type>(&binding)) {
                tuple.parts.emplace_back(*type);
            } else if (const auto* pattern = std::get_if<builtins::TypePattern>(&binding)) {
                tuple.parts.push_back(*pattern);
            } else {
                return Unusable{with_article(class_name_of(part))};
            }
        }
        return tuple;
    }
    const nb::object origin = attribute_or_null(object, "__origin__");
    if (origin.ptr() == reinterpret_cast<PyObject*>(&PyTuple_Type)) return read_annotation(object.attr("__args__"));
    // Kept for ever: they are asked for with each annotation.
    static const nb::handle any = nb::object(nb::module_::import_("typing").attr("Any")).release();
    static const nb::handle callable = nb::object(nb::module_::import_("typing").attr("Callable")).release();
    static const nb::handle abc = nb::object(nb::module_::import_("collections.abc").attr("Callable")).release();
    if (object.is(any)) return builtins::TypePattern(builtins::TypePattern::Kind::Any);
    if (object.is(callable) || object.is(abc) || (origin.is_valid() && origin.is(abc))) {
        return builtins::TypePattern(builtins::TypePattern::Kind::Function);
    }
    Binding binding = read_binding(object);
    if (std::holds_alternative<ir::Type>(binding) || std::holds_alternative<builtins::TypePattern>(binding) ||
        std::holds_alternative<frontend::NoneValue>(binding)) {
        return binding;
    }
    return Unusable{PyType_Check(object.ptr()) ? "the class " + text(object.attr("__name__"))
                                               : with_article(class_name_of(object))};
}

std::string described(const nb::python_error& error) {
    return text(error.type().attr("__name__")) + ": " + text(error.value());
}

// The path to the first array that a struct holds, "Foo.bar.data"; empty where there is none.
std::string array_member(nb::handle value, const std::string& path) {
    if (attribute_or_null(value, "_weft_array_family_").is_valid()) return path;
    const nb::object members = attribute_or_null(value, "_members");
    if (!members.is_valid() || !nb::isinstance<nb::dict>(members)) return {};
    for (const auto& [name, member] : nb::borrow<nb::dict>(members)) {
        std::string found = array_member(member, path + "." + text(name));
        if (!found.empty()) return found;
    }
    return {};
}

Binding read_static(const nb::object& result) {
    Binding binding = read_binding(result);
    const std::string unsupported = "Static expression returns an unsupported value: ";
    if (const auto* unusable = std::get_if<Unusable>(&binding)) {
        const bool array = attribute_or_null(result, "_weft_array_family_").is_valid();
        const std::string place = array ? "" : array_member(result, class_name_of(result));
        if (!place.empty()) {
            throw UserError(ErrorKind::Value,
                            unsupported + "a Warp array cannot be created inside Warp kernels, found one at " + place);
        }
        throw UserError(ErrorKind::Value, unsupported + (array ? "a Warp array cannot be created inside Warp kernels"
                                                               : "value of type " + unusable->description +
                                                                     ", which a kernel cannot hold"));
    }
    if (std::holds_alternative<frontend::NoneValue>(binding))
        throw UserError(ErrorKind::Value, unsupported + "None is returned");
    const auto* object = std::get_if<frontend::Object>(&binding);
    if (object && !PyModule_Check(result.ptr()) && !PyType_Check(result.ptr())) {
        throw UserError(ErrorKind::Value,
                        unsupported + "value of type " + class_name_of(result) + ", which a kernel cannot hold");
    }
    return binding;
}

}  // namespace

PythonEnvironment::PythonEnvironment(const nb::object& function)
    : function_(hold(nb::steal(PyWeakref_NewRef(function.ptr(), nullptr)))) {}

Watcher*& watcher() {
    static thread_local Watcher* current = nullptr;
    return current;
}

// ---- the questions ----

std::vector<Binding> PythonEnvironment::ask(const Question& question) const {
    const nb::gil_scoped_acquire gil;
    const nb::object found = find(question);
    std::vector<Binding> answer = read(question, found);
    if (Watcher* told = watcher()) told->answered(*this, question, found, answer);
    return answer;
}

Binding PythonEnvironment::name(const std::string& name) {
    return ask({Question::Kind::Name, name, {}, {}, {}}).front();
}

Binding PythonEnvironment::attribute(const frontend::Object& object, const std::string& name) {
    return ask({Question::Kind::Attribute, name, object, {}, {}}).front();
}

std::vector<Binding> PythonEnvironment::items(const frontend::Object& object) {
    return ask({Question::Kind::Items, {}, object, {}, {}});
}

Binding PythonEnvironment::annotation(const std::string& parameter) {
    return ask({Question::Kind::Annotation, parameter, {}, {}, {}}).front();
}

Binding PythonEnvironment::default_value(const std::string& parameter) {
    return ask({Question::Kind::Default, parameter, {}, {}, {}}).front();
}

Binding PythonEnvironment::evaluate(std::string_view expression, const frontend::Span& where,
                                    std::span<const std::pair<std::string, Binding>> locals) {
    return ask({Question::Kind::Static, std::string(expression), {}, where, {locals.begin(), locals.end()}}).front();
}

std::vector<std::string> PythonEnvironment::names() {
    const nb::gil_scoped_acquire gil;
    std::vector<std::string> names;
    for (nb::handle key : nb::borrow<nb::dict>(function().attr("__globals__")).keys()) names.push_back(text(key));
    for (nb::handle key : names_of_closure().keys()) names.push_back(text(key));
    return names;
}

// ---- which object answers ----

nb::object PythonEnvironment::find(const Question& question) const {
    switch (question.kind) {
        case Question::Kind::Name:
            return find_name(question.text);
        case Question::Kind::Attribute:
            return attribute_or_null(static_cast<PyObject*>(question.of.handle.get()), question.text);
        case Question::Kind::Items:
            return nb::borrow(static_cast<PyObject*>(question.of.handle.get()));
        case Question::Kind::Annotation:
            return find_annotation(question.text);
        case Question::Kind::Default:
            return find_default(question.text);
        case Question::Kind::Static:
            return find_static(question);
    }
    return {};
}

nb::object PythonEnvironment::find_name(const std::string& name) const {
    const nb::object asked = function();
    const nb::str wanted(name.c_str(), name.size());
    // The variables of enclosing functions, if they have a value by now.
    if (PyObject* cells = PyFunction_GetClosure(asked.ptr())) {
        const nb::object free = nb::handle(PyFunction_GetCode(asked.ptr())).attr("co_freevars");
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); ++i) {
            if (PyUnicode_Compare(PyTuple_GET_ITEM(free.ptr(), i), wanted.ptr()) != 0) continue;
            if (PyObject* value = PyCell_GET(PyTuple_GET_ITEM(cells, i))) return nb::borrow(value);
        }
    }
    if (PyObject* value = PyDict_GetItemWithError(PyFunction_GetGlobals(asked.ptr()), wanted.ptr()))
        return nb::borrow(value);
    // Inside kernels the names of the package are known without its prefix; not its modules, nor what it loads when it
    // is asked for.
    if (PyObject* package = PyDict_GetItemString(PyImport_GetModuleDict(), "warp")) {
        PyObject* value = PyDict_GetItemWithError(PyModule_GetDict(package), wanted.ptr());
        if (value != nullptr && !PyModule_Check(value)) return nb::borrow(value);
    }
    static const nb::handle builtins = nb::module_::import_("builtins").release();
    return attribute_or_null(builtins, name);
}

nb::object PythonEnvironment::find_annotation(const std::string& parameter) const {
    const nb::object annotations = attribute_or_null(function(), "__annotations__");
    if (!annotations.is_valid() || !nb::isinstance<nb::dict>(annotations)) return {};
    const nb::dict dict = nb::borrow<nb::dict>(annotations);
    return dict.contains(parameter.c_str()) ? nb::object(dict[parameter.c_str()]) : nb::object();
}

nb::object PythonEnvironment::find_default(const std::string& parameter) const {
    const nb::object code = function().attr("__code__");
    const nb::object defaults = function().attr("__defaults__");
    const auto count = nb::cast<size_t>(code.attr("co_argcount"));
    if (!defaults.is_none()) {
        const size_t given = nb::len(defaults);
        for (size_t i = 0; i < given; ++i) {
            if (text(code.attr("co_varnames")[count - given + i]) == parameter) return defaults[i];
        }
    }
    const nb::object named = function().attr("__kwdefaults__");
    if (!named.is_none() && nb::borrow<nb::dict>(named).contains(parameter.c_str())) return named[parameter.c_str()];
    return {};
}

nb::object PythonEnvironment::find_static(const Question& question) const {
    if (const auto it = statics_.find({question.where.line, question.where.column}); it != statics_.end()) {
        return nb::borrow(static_cast<PyObject*>(it->second.get()));
    }
    nb::dict names = names_of_closure();
    for (const auto& [name, value] : question.locals) {
        if (const auto* number = std::get_if<frontend::IntNumber>(&value)) {
            const auto magnitude = static_cast<long long>(number->magnitude);
            names[name.c_str()] = nb::steal(PyLong_FromLongLong(number->negative ? -magnitude : magnitude));
        } else if (const auto* real = std::get_if<frontend::FloatNumber>(&value)) {
            names[name.c_str()] = nb::steal(PyFloat_FromDouble(real->value));
        }
    }
    try {
        // In parentheses, so that the expression may go over several lines.
        return evaluate_python("(" + question.text + "\n)", names);
    } catch (nb::python_error& error) {
        const std::string advice = error.matches(PyExc_NameError)
                                       ? ". Make sure all variables used in the static expression are constant."
                                       : "";
        throw UserError(ErrorKind::Value, "Error evaluating static expression: " + text(error.value()) + advice + " (" +
                                              text(error.type().attr("__name__")) + ")");
    }
}

nb::object PythonEnvironment::function() const {
    nb::object found = nb::steal(PyObject_CallNoArgs(static_cast<PyObject*>(function_.get())));
    WEFT_CHECK(found.is_valid() && !found.is_none(), "a function that is being compiled is gone");
    return found;
}

// The variables of enclosing functions that have a value by now.
nb::dict PythonEnvironment::names_of_closure() const {
    nb::dict names;
    const nb::object cells = function().attr("__closure__");
    if (cells.is_none()) return names;
    const nb::object free = function().attr("__code__").attr("co_freevars");
    for (size_t i = 0; i < nb::len(cells); ++i) {
        const nb::object value = attribute_or_null(cells[i], "cell_contents");
        if (value.is_valid()) names[free[i]] = value;
    }
    return names;
}

nb::object PythonEnvironment::evaluate_python(const std::string& expression, const nb::dict& names) const {
    const nb::object globals = function().attr("__globals__");
    // Comprehensions inside the expression see globals only: the local names go there, in a copy.
    nb::dict all;
    all.update(nb::borrow<nb::dict>(globals));
    all.update(names);
    PyObject* result = PyRun_String(expression.c_str(), Py_eval_input, all.ptr(), all.ptr());
    if (!result) nb::raise_python_error();
    return nb::steal(result);
}

void PythonEnvironment::evaluate_now(const std::string& expression, const frontend::Span& where) {
    try {
        statics_[{where.line, where.column}] = hold(evaluate_python("(" + expression + "\n)", names_of_closure()));
    } catch (nb::python_error&) {
        // Raised again, and located, if lowering reaches it.
    }
}

// ---- what it stands for ----

std::vector<Binding> PythonEnvironment::read(const Question& question, const nb::object& found) const {
    switch (question.kind) {
        case Question::Kind::Items: {
            std::vector<Binding> members;
            if (!nb::isinstance(found, nb::module_::import_("enum").attr("EnumMeta"))) return members;
            for (nb::handle member : found) members.push_back(read_binding(member));
            return members;
        }
        case Question::Kind::Annotation:
            return {found.is_valid() ? read_annotation_of(found) : Binding(Unknown{})};
        case Question::Kind::Static:
            return {read_static(found)};
        case Question::Kind::Attribute:
            // `wp.float` and its like: in kernels the package has Python's own too.
            if (!found.is_valid() && question.of.description == "module 'warp'") {
                if (builtins::find(question.text)) return {frontend::BuiltinName{question.text}};
                if (const ir::Type type = builtins::type_named(question.text)) return {type};
            }
            break;
        case Question::Kind::Name:
        case Question::Kind::Default:
            break;
    }
    return {found.is_valid() ? read_binding(found) : Binding(Unknown{})};
}

// One that is written as text is evaluated.
Binding PythonEnvironment::read_annotation_of(const nb::object& found) const {
    if (!nb::isinstance<nb::str>(found)) return read_annotation(found);
    const std::string written = text(found);
    try {
        return read_annotation(evaluate_python(written, names_of_closure()));
    } catch (nb::python_error& error) {
        return Unusable{"`" + written + "` (" + described(error) + ")"};
    }
}

// ----

// The functions, and for as long as they are used the object that keeps them.
static std::shared_ptr<const frontend::OverloadSet> kept(std::shared_ptr<const frontend::OverloadSet> set,
                                                         nb::handle keeper) {
    const frontend::OverloadSet* functions = set.get();
    auto both = std::make_shared<std::pair<std::shared_ptr<const frontend::OverloadSet>, std::shared_ptr<void>>>(
        std::move(set), hold(keeper));
    return {std::move(both), functions};
}

Binding read_binding(nb::handle object) {
    PyObject* p = object.ptr();
    if (object.is_none()) return frontend::NoneValue{};
    if (PyBool_Check(p)) return frontend::BoolNumber{p == Py_True};
    if (PyModule_Check(p)) return frontend::Object{hold(object), "module '" + text(object.attr("__name__")) + "'"};
    if (PyType_Check(p)) return read_class(object);
    if (ValueObject* value = instance<ValueObject>(p); value && value->type().is(ir::TypeKind::Struct)) {
        return read_struct(object, *value);
    }
    if (const nb::object value = attribute_or_null(object, "_weft_value_");
        value.is_valid() && nb::isinstance<nb::tuple>(value)) {
        return read_constant(value);
    }
    // An array without memory stands for its type, as annotations do.
    if (const nb::object memory = attribute_or_null(object, "_has_memory");
        memory.is_valid() && memory.ptr() == Py_True)
        return Unusable{"an array"};
    if (PyLong_Check(p)) return read_int(p);
    if (PyFloat_Check(p)) return frontend::FloatNumber{PyFloat_AsDouble(p)};
    if (PyUnicode_Check(p)) return frontend::StringValue{text(object)};
    if (const nb::object why = attribute_or_null(object, "_weft_unusable_");
        why.is_valid() && PyUnicode_Check(why.ptr())) {
        return Unusable{text(why)};
    }
    if (attribute_or_null(object.type(), "_weft_function_").is_valid()) {
        // Reads the function's source: what is wrong with it is said as it is.
        const nb::object function = object.attr("_weft_function_");
        return kept(nb::cast<FunctionObject&>(function).overloads, object);
    }
    if (const nb::object type = attribute_or_null(object, "_weft_type_");
        type.is_valid() && nb::isinstance<ir::Type>(type)) {
        return nb::cast<ir::Type>(type);
    }
    if (const nb::object pattern = attribute_or_null(object, "_weft_pattern_");
        pattern.is_valid() && PyUnicode_Check(pattern.ptr())) {
        return builtins::parse_pattern(text(pattern));
    }
    if (const nb::object name = attribute_or_null(object, "_weft_builtin_");
        name.is_valid() && PyUnicode_Check(name.ptr())) {
        return frontend::BuiltinName{text(name)};
    }
    if (attribute_or_null(object, "_weft_kernel_").is_valid()) return Unusable{"a kernel"};
    if (PyCallable_Check(p)) return Unusable{"a Python function (it needs @wp.func)"};
    // Of other objects the attributes can be used, as of modules; Python's and NumPy's own have none that mean
    // anything.
    const nb::object module = attribute_or_null(object.type(), "__module__");
    const std::string where = module.is_valid() && PyUnicode_Check(module.ptr()) ? text(module) : "builtins";
    if (where == "builtins" || where == "numpy") return Unusable{with_article(class_name_of(object))};
    return frontend::Object{hold(object), with_article(class_name_of(object))};
}

std::shared_ptr<frontend::Environment> make_environment(const nb::object& function) {
    return std::make_shared<PythonEnvironment>(function);
}

void evaluate_statics(const frontend::FunctionSource& source) {
    auto* environment = dynamic_cast<PythonEnvironment*>(source.environment.get());
    WEFT_CHECK(environment, "the function " + source.name + " does not come from Python");
    for (const auto& fixed : frontend::fixed_statics(source)) environment->evaluate_now(fixed.expression, fixed.span);
}

}  // namespace weft::bind
