// Rows of the builtins that the device library implements (device/*.h).
// A native op passes an array as data pointer, shape and strides in bytes (all dimensions of each), the rest by value.
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

// int32 weft_lower_bound_<scalar>(const void* data, int64 shape, int64 stride, int32 begin, int32 end, <scalar> value)
std::string lower_bound(ir::Type value) { return "weft_lower_bound_" + value.str(); }

}  // namespace

void native_rows(Rows& rows) {
    rows.group("Other");
    rows.add("lower_bound", "(arr: Array[Scalar, 1], value: Scalar) -> int32", expand([](const ExpandContext& c) {
                 ir::Value* operands[] = {c.arguments[0], c.builder.constant(ir::i32(), 0),
                                          c.builder.shape(c.arguments[0], 0), c.arguments[1]};
                 return c.builder.native(lower_bound(c.arguments[1]->type), c.result, operands);
             }),
             "The first index of a sorted array whose element is not less than `value`.")
        .differentiable = false;
    rows.add("lower_bound", "(arr: Array[Scalar, 1], arr_begin: int32, arr_end: int32, value: Scalar) -> int32",
             LowerNative{[](std::span<const ir::Type> types) { return lower_bound(types[3]); }}, "")
        .differentiable = false;
}

}  // namespace weft::builtins
