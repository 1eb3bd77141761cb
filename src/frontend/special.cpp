// Builtins that need more than values: types as arguments, arrays with indices, formats, any number of arguments.
#include <algorithm>
#include <array>
#include <functional>

#include "builtins/array_kinds.h"
#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;
using ir::TypeKind;

const std::map<std::string, FunctionLowering::Special>& FunctionLowering::specials() {
    using F = FunctionLowering;
    static const std::map<std::string, Special> table = {
        {"tid", &F::special_tid},
        {"block_dim", &F::special_block_dim},
        {"sync_threads", &F::special_block},
        {"thread_idx", &F::special_block},
        {"block_idx", &F::special_block},
        {"shared_array", &F::special_shared_array},
        {"printf", &F::special_printf},
        {"print", &F::special_print},
        {"where", &F::special_where},
        {"select", &F::special_select},
        {"cast", &F::special_cast},
        {"type", &F::special_type},
        {"len", &F::special_len},
        {"unot", &F::special_unot},
        {"vector", &F::special_vector},
        {"vec", &F::special_vector},
        {"mat", &F::special_matrix},
        {"matrix", &F::special_matrix},
        {"matrix_from_cols", &F::special_matrix_from_cols},
        {"matrix_from_rows", &F::special_matrix_from_rows},
        {"identity", &F::special_identity},
        {"quaternion", &F::special_quaternion},
        {"quat_identity", &F::special_quat_identity},
        {"transformation", &F::special_transformation},
        {"transform_identity", &F::special_transform_identity},
        {"atomic_add", &F::special_atomic},
        {"atomic_sub", &F::special_atomic},
        {"atomic_min", &F::special_atomic},
        {"atomic_max", &F::special_atomic},
        {"atomic_and", &F::special_atomic},
        {"atomic_or", &F::special_atomic},
        {"atomic_xor", &F::special_atomic},
        {"atomic_exch", &F::special_atomic},
        {"zeros", &F::special_zeros},
        {"empty", &F::special_zeros},
        {"ones", &F::special_zeros},
        {"full", &F::special_full},
        {"array", &F::special_array},
        {"address_of", &F::special_address_of},
        {"grad", &F::special_grad},
        {"expect_eq", &F::special_expect},
        {"expect_neq", &F::special_expect},
        {"expect_near", &F::special_expect},
        {"range", &F::special_refused},
        {"adjoint", &F::special_refused},
        {"texture_sample", &F::special_texture_sample},
    };
    return table;
}

// Removes and returns a named argument.
std::optional<FunctionLowering::Argument> FunctionLowering::take(std::vector<Argument>& arguments,
                                                                 const std::string& keyword) {
    const auto it =
        std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == keyword; });
    if (it == arguments.end()) return std::nullopt;
    Argument found = *it;
    arguments.erase(it);
    found.name.clear();
    return found;
}

ir::Type FunctionLowering::type_argument(const Argument& a) {
    const auto* type = a.entity.as<Type>();
    if (!type) fail(ErrorKind::Type, a.span, "a type is needed here, found " + a.entity.describe());
    return *type;
}

int FunctionLowering::int_argument(const Argument& a) {
    const auto known = a.entity.type().is_int() ? ir::constant_integer(materialize(a.entity, a.span)) : std::nullopt;
    if (!known)
        fail(ErrorKind::Type, a.span,
             "an integer known when the kernel is compiled is needed here, found " + a.entity.describe());
    return static_cast<int>(*known);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): all of the table take them so
Entity FunctionLowering::special_tid(const Expr& e, std::vector<Argument> a) {
    if (!a.empty()) fail(ErrorKind::Argument, e.span, "wp.tid() takes no arguments");
    if (kind_ != ir::FunctionKind::Kernel) {
        fail(ErrorKind::Syntax, e.span, "wp.tid() can be called in kernels only; pass the index to the function");
    }
    if (unpacked_ != &e) return builder_.thread_index(0);
    if (unpacked_count_ > 4) fail(ErrorKind::Argument, e.span, "wp.tid() has up to four coordinates");
    TupleEntity tuple;
    for (size_t i = 0; i < unpacked_count_; ++i) tuple.parts.emplace_back(builder_.thread_index(static_cast<int>(i)));
    return tuple;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): all of the table take them so
Entity FunctionLowering::special_block_dim(const Expr& e, std::vector<Argument> a) {
    if (!a.empty()) fail(ErrorKind::Argument, e.span, "wp.block_dim() takes no arguments");
    if (instances_.options().in_blocks)
        return call_snippet("block_dim", "> return", "return int(blockDim.x);", {ir::i32()}, {}, e).front();
    if (bool* uses = instances_.options().uses_block_dim) *uses = true;
    return builder_.constant(ir::i32(), instances_.options().block_dim);
}

// ---- output ----

namespace {

std::string escape_percent(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '%' ? std::string("%%") : std::string(1, c);
    return out;
}

}  // namespace

// Prints take int32, uint32, int64, uint64 and float64 only: what is narrower is widened, and the format says so.
Entity FunctionLowering::print_format(const Expr& e, const std::string& format, std::span<const Argument> values) {
    std::string out;
    std::vector<Value*> operands;
    size_t next = 0;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        if (i + 1 < format.size() && format[i + 1] == '%') {
            out += "%%";
            ++i;
            continue;
        }
        const size_t start = i++;
        while (i < format.size() && std::string_view("-+ #0123456789.").find(format[i]) != std::string_view::npos) ++i;
        const std::string flags = format.substr(start, i - start);
        while (i < format.size() && std::string_view("hlzjt").find(format[i]) != std::string_view::npos) ++i;
        if (i >= format.size()) fail(ErrorKind::Value, e.span, "the format ends inside a conversion");
        const char letter = format[i];
        if (next >= values.size()) {
            fail(ErrorKind::Argument, e.span,
                 "the format has more conversions than there are values (" + std::to_string(values.size()) + ")");
        }
        const Argument& a = values[next++];
        if (letter == 's') {
            const auto* text = a.entity.as<StringValue>();
            if (!text) fail(ErrorKind::Type, a.span, "%s needs a string, found " + a.entity.describe());
            out += escape_percent(text->text);
            continue;
        }
        const bool floating = std::string_view("fFeEgGaA").find(letter) != std::string_view::npos;
        const bool integral = std::string_view("diuxXoc").find(letter) != std::string_view::npos;
        if (!floating && !integral)
            fail(ErrorKind::Value, e.span, std::string("the format has an unknown conversion %") + letter);
        Value* v = materialize(a.entity, a.span);
        const Type type = v->type;
        if (!type.is_scalar() || type.is_float() != floating) {
            fail(ErrorKind::Type, a.span,
                 std::string("%") + letter + " needs " + (floating ? "a float" : "an integer") + ", found " +
                     user_name(type));
        }
        if (floating) {
            v = builder_.cast(ir::f64(), v);
        } else if (type.is_bool() || ir::scalar_bits(type.element()) < 32) {
            v = builder_.cast(ir::i32(), v);
        }
        out += flags + (v->type.is_int() && ir::scalar_bits(v->type.element()) == 64 ? "ll" : "") + letter;
        operands.push_back(v);
    }
    if (next < values.size()) {
        fail(ErrorKind::Argument, values[next].span,
             "the format has " + std::to_string(next) + " conversions, found " + std::to_string(values.size()) +
                 " values");
    }
    builder_.print(out, operands);
    return Unknown{};
}

Entity FunctionLowering::special_printf(const Expr& e, std::vector<Argument> a) {
    const auto* format = a.empty() ? nullptr : a[0].entity.as<StringValue>();
    if (!format) fail(ErrorKind::Type, e.span, "printf needs a string as its format");
    return print_format(e, format->text, std::span(a).subspan(1));
}

Entity FunctionLowering::special_print(const Expr& e, std::vector<Argument> a) {
    std::string format;
    std::vector<Argument> scalars;
    const auto add = [&](Value* v, const Span& span) {
        const bool wide_unsigned = v->type.is_int() && !v->type.is_signed();
        format += v->type.is_float() ? "%g" : wide_unsigned ? "%u" : "%d";
        scalars.push_back({"", v, span, nullptr});
    };
    // Arrays, structs and what is in them, each on one line.
    const std::function<void(Value*, const Span&)> add_whole = [&](Value* v, const Span& span) {
        const Type type = v->type;
        if (type.is(TypeKind::Array)) {
            // What it is, not what is in it: every item would print all of it.
            format += "array(shape=(";
            for (int k = 0; k < type.ndim(); ++k) {
                format += k > 0 ? ", " : "";
                add(builder_.shape(v, k), span);
            }
            format += type.ndim() == 1 ? ",), dtype=" : "), dtype=";
            format += user_name(type.target()) + ")";
        } else if (type.is(TypeKind::Struct)) {
            format += user_name(type) + "(";
            for (int k = 0; k < type.part_count(); ++k) {
                format += (k > 0 ? ", " : "") + type.fields()[static_cast<size_t>(k)].name + "=";
                add_whole(builder_.extract(v, k), span);
            }
            format += ")";
        } else if (type.is_scalar()) {
            add(v, span);
        } else {
            format += "(";
            for (int k = 0; k < type.part_count(); ++k) {
                format += k > 0 ? " " : "";
                add(builder_.extract(v, k), span);
            }
            format += ")";
        }
    };
    for (size_t i = 0; i < a.size(); ++i) {
        if (!a[i].name.empty())
            fail(ErrorKind::Argument, a[i].span, "print takes no argument by name, found `" + a[i].name + "`");
        if (i > 0) format += ' ';
        if (const auto* text = a[i].entity.as<StringValue>()) {
            format += escape_percent(text->text);
            continue;
        }
        Value* v = materialize(a[i].entity, a[i].span);
        const Type type = v->type;
        if (type.is_bool() && a.size() == 1) {
            const auto say = [&](const char* word) {
                return [this, word]() -> std::vector<Value*> {
                    builder_.print(word, {});
                    return {};
                };
            };
            branch(v, say("True\n"), say("False\n"));
            return Unknown{};
        }
        if (type.is(TypeKind::Array) || type.is(TypeKind::Struct)) {
            add_whole(v, a[i].span);
        } else if (type.is_scalar()) {
            add(v, a[i].span);
        } else if (type.is_uniform()) {
            const int row = type.is(TypeKind::Mat) ? type.columns() : type.part_count();
            for (int k = 0; k < type.part_count(); ++k) {
                if (k > 0) format += k % row == 0 ? "\n" : " ";
                add(builder_.extract(v, k), a[i].span);
            }
        } else {
            fail(ErrorKind::Type, a[i].span, "print needs a value, an array or a string, found " + user_name(type));
        }
    }
    return print_format(e, format + "\n", scalars);
}

// ---- choice, types, sizes ----

Entity FunctionLowering::special_where(const Expr& e, std::vector<Argument> a) {
    if (a.size() != 3)
        fail(ErrorKind::Argument, e.span,
             "where takes a condition and two values, found " + std::to_string(a.size()) + " arguments");
    const Type condition = a[0].entity.type();
    if (!condition.is_bool() && !condition.is_int() && !condition.is(TypeKind::Array)) {
        fail(ErrorKind::Type, a[0].span,
             "where needs a bool or an integer as its condition, found " + a[0].entity.describe());
    }
    Value* chosen = truth(a[0].entity, a[0].span);
    Value* x = materialize(a[1].entity, a[1].span);
    Value* y = materialize(a[2].entity, a[2].span);
    if (x->type != y->type) {
        fail(ErrorKind::Type, e.span,
             "where needs two values of one type, found " + user_name(x->type) + " and " + user_name(y->type));
    }
    return builder_.select(chosen, x, y);
}

// Older than `where`: its values are the other way round.
Entity FunctionLowering::special_select(const Expr& e, std::vector<Argument> a) {
    if (a.size() == 3) std::swap(a[1], a[2]);
    for (const char* name : {"cond", "value_if_true", "value_if_false"}) {
        if (auto named = take(a, name)) a.push_back(*named);
    }
    return special_where(e, std::move(a));
}

Entity FunctionLowering::special_type(const Expr& e, std::vector<Argument> a) {
    const Type type = a.size() == 1 ? a[0].entity.type() : Type();
    if (!type) fail(ErrorKind::Type, e.span, "type(...) takes one value");
    return type;
}

Entity FunctionLowering::special_len(const Expr& e, std::vector<Argument> a) {
    if (a.size() != 1) fail(ErrorKind::Argument, e.span, "len takes one value");
    if (const auto* tuple = a[0].entity.as<TupleEntity>()) return IntNumber{false, tuple->parts.size()};
    if (const auto* shape = a[0].entity.as<ShapeEntity>())
        return IntNumber{false, static_cast<uint64_t>(builtins::array_ndim(shape->array->type))};
    const auto* named = a[0].entity.as<Type>();
    const Type type = named ? *named : a[0].entity.type();
    if (builtins::is_array_like(type)) return array_extent(a[0].entity.value(), 0);
    if (type.is(TypeKind::Mat)) return IntNumber{false, static_cast<uint64_t>(type.rows())};
    if (type.is_uniform() || type.is(TypeKind::Tuple))
        return IntNumber{false, static_cast<uint64_t>(type.part_count())};
    fail(ErrorKind::Type, a[0].span, "len needs an array, vector, matrix or tuple, found " + a[0].entity.describe());
}

Entity FunctionLowering::special_unot(const Expr& e, std::vector<Argument> a) {
    if (a.size() != 1) fail(ErrorKind::Argument, e.span, "unot takes one value");
    return builder_.logical_not(truth(a[0].entity, a[0].span));
}

// ---- constructors that take their type from the arguments ----

Entity FunctionLowering::special_vector(const Expr& e, std::vector<Argument> a) {
    const auto length = take(a, "length");
    const auto dtype = take(a, "dtype");
    if (a.size() == 1 && a[0].entity.type().is(TypeKind::Vec) && !length) {
        const Type given = a[0].entity.type();
        return construct(Type::vec(given.part_count(), (dtype ? type_argument(*dtype) : given).element()), a, e);
    }
    const size_t count = length ? static_cast<size_t>(int_argument(*length)) : a.size();
    if (count == 0) fail(ErrorKind::Argument, e.span, "vector(...) needs elements, or `length` and `dtype`");
    Type element = dtype ? type_argument(*dtype) : a.empty() ? ir::f32() : a[0].entity.type();
    if (!element.is_scalar())
        fail(ErrorKind::Type, e.span, "the elements of a vector are numbers, found " + a[0].entity.describe());
    if (!dtype) {
        for (const auto& one : a) {
            if (one.entity.type() != element) {
                fail(ErrorKind::Type, one.span,
                     "all elements of a vector need one type, found " + user_name(element) + " and " +
                         one.entity.describe());
            }
        }
    }
    return construct(Type::vec(static_cast<int>(count), element.element()), a, e);
}

Entity FunctionLowering::special_matrix(const Expr& e, std::vector<Argument> a) {
    const auto shape = take(a, "shape");
    const auto dtype = take(a, "dtype");
    const Type given = a.empty() ? Type() : a[0].entity.type();
    if (!shape && given.is(TypeKind::Vec)) return matrix_of_vectors(e, a, true);
    if (!shape) fail(ErrorKind::Argument, e.span, "matrix(...) needs `shape=(rows, columns)`");
    const auto* sizes = shape->entity.as<TupleEntity>();
    if (!sizes || sizes->parts.size() != 2) fail(ErrorKind::Type, shape->span, "`shape` must be (rows, columns)");
    const int rows = int_argument({"", sizes->parts[0], shape->span, nullptr});
    const int columns = int_argument({"", sizes->parts[1], shape->span, nullptr});
    const Type element = dtype ? type_argument(*dtype) : a.empty() ? ir::f32() : given;
    if (!element.is_scalar() && !given.is_uniform())
        fail(ErrorKind::Type, e.span, "the elements of a matrix are numbers, found " + a[0].entity.describe());
    return construct(Type::mat(rows, columns, element.element()), a, e);
}

Entity FunctionLowering::special_matrix_from_cols(const Expr& e, std::vector<Argument> a) {
    return matrix_of_vectors(e, a, true);
}
Entity FunctionLowering::special_matrix_from_rows(const Expr& e, std::vector<Argument> a) {
    return matrix_of_vectors(e, a, false);
}

Entity FunctionLowering::special_identity(const Expr& e, std::vector<Argument> a) {
    auto n = take(a, "n");
    auto dtype = take(a, "dtype");
    if (!n && !a.empty()) n = a[0];
    if (!dtype && a.size() > 1) dtype = a[1];
    if (!n) fail(ErrorKind::Argument, e.span, "identity(...) needs `n` and `dtype`");
    const int size = int_argument(*n);
    const Type element = dtype ? type_argument(*dtype) : ir::f32();
    std::vector<Value*> parts;
    for (int i = 0; i < size * size; ++i) parts.push_back(builder_.constant(element, i % (size + 1) == 0 ? 1 : 0));
    return builder_.compose(Type::mat(size, size, element.element()), parts);
}

Entity FunctionLowering::special_quaternion(const Expr& e, std::vector<Argument> a) {
    const auto dtype = take(a, "dtype");
    Type element = ir::f32();
    if (!a.empty() && (a[0].entity.type().is_scalar() || a[0].entity.type().is_uniform()))
        element = a[0].entity.type().element_type();
    if (dtype) element = type_argument(*dtype);
    if (!element.is_float())
        fail(ErrorKind::Type, e.span, "the components of a quaternion are floats, found " + user_name(element));
    return construct(Type::quat(element.element()), a, e);
}

Entity FunctionLowering::special_quat_identity(const Expr& e, std::vector<Argument> a) {
    auto dtype = take(a, "dtype");
    if (!dtype && a.size() == 1) dtype = a[0];
    const Type element = dtype ? type_argument(*dtype) : ir::f32();
    if (!element.is_float())
        fail(ErrorKind::Type, e.span, "the components of a quaternion are floats, found " + user_name(element));
    std::vector<Value*> parts(3, builder_.constant(element, 0));
    parts.push_back(builder_.constant(element, 1));
    return builder_.compose(Type::quat(element.element()), parts);
}

Entity FunctionLowering::special_transformation(const Expr& e, std::vector<Argument> a) {
    const auto dtype = take(a, "dtype");
    for (const char* name : {"p", "q"}) {
        if (auto named = take(a, name)) a.push_back(*named);
    }
    Type element = ir::f32();
    if (!a.empty() && (a[0].entity.type().is_scalar() || a[0].entity.type().is_uniform()))
        element = a[0].entity.type().element_type();
    if (dtype) element = type_argument(*dtype);
    if (!element.is_float())
        fail(ErrorKind::Type, e.span, "the components of a transform are floats, found " + user_name(element));
    return construct(Type::transform(element.element()), a, e);
}

Entity FunctionLowering::special_transform_identity(const Expr& e, std::vector<Argument> a) {
    auto dtype = take(a, "dtype");
    if (!dtype && a.size() == 1) dtype = a[0];
    const Type element = dtype ? type_argument(*dtype) : ir::f32();
    if (!element.is_float())
        fail(ErrorKind::Type, e.span, "the components of a transform are floats, found " + user_name(element));
    std::vector<Value*> parts(6, builder_.constant(element, 0));
    parts.push_back(builder_.constant(element, 1));
    return builder_.compose(Type::transform(element.element()), parts);
}

// ---- atomics ----

Entity FunctionLowering::special_atomic(const Expr& e, std::vector<Argument> a) {
    const Expr& callee = e.child(0);
    const std::string name = callee.text.substr(callee.text.rfind('_') + 1);
    static const std::map<std::string, ir::AtomicKind> kinds = {
        {"add", ir::AtomicKind::Add}, {"sub", ir::AtomicKind::Sub},      {"min", ir::AtomicKind::Min},
        {"max", ir::AtomicKind::Max}, {"and", ir::AtomicKind::And},      {"or", ir::AtomicKind::Or},
        {"xor", ir::AtomicKind::Xor}, {"exch", ir::AtomicKind::Exchange}};
    if (!kinds.contains(name)) fail(ErrorKind::Unsupported, e.span, "atomics are called by their own name only");
    const ir::AtomicKind kind = kinds.at(name);
    const Type array = a.empty() ? Type() : a[0].entity.type();
    if (!builtins::is_array_like(array)) {
        fail(ErrorKind::Type, e.span,
             "atomic_" + name + " needs an array first" + (a.empty() ? "" : ", found " + a[0].entity.describe()));
    }
    const int ndim = builtins::array_ndim(array);
    if (static_cast<int>(a.size()) != ndim + 2) {
        fail(ErrorKind::Argument, e.span,
             "atomic_" + name + " on " + user_name(array) + " takes the array, " + std::to_string(ndim) +
                 (ndim == 1 ? " index" : " indices") + " and a value, found " + std::to_string(a.size()) +
                 " arguments");
    }
    std::vector<Value*> indices;
    for (size_t i = 1; i + 1 < a.size(); ++i) {
        Value* v = materialize(a[i].entity, a[i].span);
        if (!v->type.is_int())
            fail(ErrorKind::Type, a[i].span, "an index needs an integer, found " + user_name(v->type));
        indices.push_back(v);
        if (!nullable_.contains(a[0].entity.value())) check_index(a[0].entity.value(), v, i - 1, a[i].span);
    }
    Value* v = materialize(a.back().entity, a.back().span);
    const Type element = builtins::array_element(array);
    if (v->type != element) {
        fail(ErrorKind::Type, a.back().span,
             "atomic_" + name + " on elements of type " + user_name(element) + " needs that type, found " +
                 user_name(v->type) + "; nothing is converted");
    }
    const bool bits = kind == ir::AtomicKind::And || kind == ir::AtomicKind::Or || kind == ir::AtomicKind::Xor;
    if ((!element.is_scalar() && !element.is_uniform()) || element.element() == ir::Scalar::Bool ||
        (bits && !ir::is_int(element.element()))) {
        fail(ErrorKind::Type, e.span, "atomic_" + name + " has no meaning for elements of type " + user_name(element));
    }
    // An infinity that is compared with is an ordinary start of a minimum.
    const bool compared = kind == ir::AtomicKind::Min || kind == ir::AtomicKind::Max;
    if (!compared && !nullable_.contains(a[0].entity.value())) check_finite(v, e.span);
    const auto apply = [&]() -> std::vector<Value*> {
        return {builder_.atomic(kind, element_address(a[0].entity.value(), indices), v)};
    };
    if (!nullable_.contains(a[0].entity.value())) return apply()[0];
    return branch(builder_.is_valid(a[0].entity.value()), apply,
                  [&]() -> std::vector<Value*> { return {builder_.zero(element)}; })[0];
}

Entity FunctionLowering::special_grad(const Expr& e, std::vector<Argument> a) {
    if (a.size() == 1) {
        if (const auto* set = a[0].entity.as<std::shared_ptr<const OverloadSet>>()) return GradientEntity{*set, ""};
        if (const auto* builtin = a[0].entity.as<BuiltinName>()) return GradientEntity{nullptr, builtin->name};
    }
    fail(ErrorKind::Argument, e.span, "grad takes one function");
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): all of the table take them so
Entity FunctionLowering::special_refused(const Expr& e, std::vector<Argument>) {
    if (e.child(0).text == "range") fail(ErrorKind::Syntax, e.span, "range(...) can stand in a `for` only");
    fail(ErrorKind::Syntax, e.span, "wp.adjoint is indexed by a parameter: wp.adjoint[x]");
}

}  // namespace weft::frontend
