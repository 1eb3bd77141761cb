// Rows of the builtins that the device library implements (device/exports.def).
// A native op passes an array as data pointer, shape and strides in bytes (all dimensions of each), the rest by value.
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

using ir::Value;

// int32 weft_lower_bound_<scalar>(const void* data, int64 shape, int64 stride, int32 begin, int32 end, <scalar> value)
Value* lower_bound(const ExpandContext& c, Value* begin, Value* end, Value* value) {
    Value* operands[] = {c.arguments[0], begin, end, value};
    return c.builder.native("weft_lower_bound_" + value->type.str(), ir::i32(), operands);
}

}  // namespace

void native_rows(Rows& rows) {
    rows.group("Other");
    rows.add("lower_bound", "(arr: Array[Scalar, 1], value: Scalar) -> int32", expand([](const ExpandContext& c) {
                 return lower_bound(c, c.builder.constant(ir::i32(), 0), c.builder.shape(c.arguments[0], 0),
                                    c.arguments[1]);
             }),
             "The first index of a sorted array whose element is not less than `value`.")
        .differentiable = false;
    rows.add("lower_bound", "(arr: Array[Scalar, 1], arr_begin: int32, arr_end: int32, value: Scalar) -> int32",
             expand(
                 [](const ExpandContext& c) { return lower_bound(c, c.arguments[1], c.arguments[2], c.arguments[3]); }),
             "")
        .differentiable = false;
}

}  // namespace weft::builtins
