// wp.cast(value, type): the bytes of one value seen as another type, for any types without pointers.
#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "ir/layout.h"

namespace weft::frontend {
namespace {

using builtins::user_name;
using ir::Scalar;
using ir::Type;
using ir::Value;

// A scalar of the value, as an unsigned number, and the byte at which it lies.
struct Piece {
    Value* bits;
    int64_t offset;
};

Type unsigned_of(int bits) {
    return Type::scalar(bits == 8 ? Scalar::U8 : bits == 16 ? Scalar::U16 : bits == 32 ? Scalar::U32 : Scalar::U64);
}

class Reinterpretation {
  public:
    Reinterpretation(ir::Builder& builder, Value* from) : builder_(builder) { take_apart(from, 0); }

    Value* make(Type type, int64_t offset) {
        if (!type.is_scalar()) {
            std::vector<Value*> parts;
            for (int i = 0; i < type.part_count(); ++i)
                parts.push_back(make(type.part(i), offset + ir::offset_of(type, i)));
            return builder_.compose(type, parts);
        }
        Value* bits = bits_at(unsigned_of(ir::scalar_bits(type.element())), offset);
        if (type.is_bool()) return builder_.compare(ir::Opcode::Ne, bits, builder_.zero(bits->type));
        return builder_.bitcast(type, bits);
    }

  private:
    void take_apart(Value* v, int64_t offset) {
        const Type type = v->type;
        if (!type.is_scalar()) {
            for (int i = 0; i < type.part_count(); ++i)
                take_apart(builder_.extract(v, i), offset + ir::offset_of(type, i));
            return;
        }
        const Type bits = unsigned_of(ir::scalar_bits(type.element()));
        pieces_.push_back({type.is_bool() ? builder_.cast(bits, v) : builder_.bitcast(bits, v), offset});
    }

    // Bytes that are padding are zero.
    Value* bits_at(Type type, int64_t offset) {
        const Type wide = Type::scalar(Scalar::U64);
        Value* result = builder_.zero(wide);
        for (const Piece& piece : pieces_) {
            if (piece.offset == offset && piece.bits->type == type) return piece.bits;
            const int64_t distance = 8 * (piece.offset - offset);
            if (distance >= ir::scalar_bits(type.element()) || -distance >= ir::scalar_bits(piece.bits->type.element()))
                continue;
            const auto code = distance < 0 ? ir::Opcode::Shr : ir::Opcode::Shl;
            Value* count = builder_.constant(wide, distance < 0 ? -distance : distance);
            result =
                builder_.binary(ir::Opcode::Or, result, builder_.binary(code, builder_.cast(wide, piece.bits), count));
        }
        return builder_.cast(type, result);
    }

    ir::Builder& builder_;
    std::vector<Piece> pieces_;
};

}  // namespace

Entity FunctionLowering::special_cast(const Expr& e, std::vector<Argument> a) {
    auto dtype = take(a, "dtype");
    if (!dtype && a.size() == 2) {
        dtype = a.back();
        a.pop_back();
    }
    if (!dtype || a.size() != 1) fail(ErrorKind::Argument, e.span, "cast takes a value and a type");
    const Type type = type_argument(*dtype);
    Value* value = materialize(a[0].entity, a[0].span);
    for (const Type one : {type, value->type}) {
        if (one.contains_array() || !(one.is_scalar() || one.is_aggregate()))
            fail(ErrorKind::Type, e.span, "cast reinterprets values without arrays, found " + user_name(one));
    }
    const int64_t size = ir::size_of(value->type);
    if (size != ir::size_of(type)) {
        fail(ErrorKind::Type, e.span,
             "cast keeps the bytes of a value and needs a type of equal size: " + user_name(value->type) + " has " +
                 std::to_string(size) + " bytes, " + user_name(type) + " has " + std::to_string(ir::size_of(type)) +
                 "; to convert a number write " + user_name(type) + "(...)");
    }
    return type == value->type ? value : Reinterpretation(builder_, value).make(type, 0);
}

}  // namespace weft::frontend
