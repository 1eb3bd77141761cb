"""Operators of arrays at Python scope: each one is a kernel that the core makes for the operand types."""

from warp import _core, types
from warp.array_makers import empty
from warp.arrays import array
from warp.builtin_functions import Builtin
from warp.indexed_arrays import indexed_array_base
from warp.mapping import described, is_array, kinds_of, launch_shape, make_kernel, shape_of

# method: the builtin behind it
BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "mod",
    "pow": "pow",
}
UNARY = ("neg", "pos", "invert")


def _operand(value, shape):
    found = described(value, shape)
    if found is None and hasattr(value, "__array_interface__"):
        raise TypeError("operators of arrays do not take NumPy arrays: make a wp.array of it, or use .numpy()")
    return found


def apply(builtin, operands, out=None):
    """A builtin by element, with broadcasting."""
    shape = shape_of(operands)
    if out is not None and out.shape != shape:
        raise ValueError(f"the result has shape {shape}, the array on the left {out.shape}")
    descriptions = [_operand(o, shape) for o in operands]
    if None in descriptions:
        return NotImplemented
    out_kinds = kinds_of(() if out is None else (out,))
    kernel, (result_type,) = make_kernel(Builtin(builtin), builtin, shape, descriptions, out_kinds)
    if out is None:
        needs_grad = any(is_array(o) and o.requires_grad for o in operands)
        device = next(o.device for o in operands if is_array(o))
        out = empty(shape, dtype=types.class_of(result_type), device=device, requires_grad=needs_grad)
    elif out._element != result_type:
        raise RuntimeError(
            f"the result has type {result_type.user_name}, the array on the left {types.type_repr(out.dtype)}"
        )
    _core.launch(kernel, launch_shape(shape), list(operands), [out], device=out.device)
    return out


def _add_operators(cls):
    """Gives a class of arrays its operators."""

    def binary(builtin):
        def forward(self, other):
            return apply(builtin, (self, other))

        def backward(self, other):
            return apply(builtin, (other, self))

        def in_place(self, other):
            return apply(builtin, (self, other), out=self)

        return forward, backward, in_place

    def unary(builtin):
        return lambda self: apply(builtin, (self,))

    for name, builtin in BINARY.items():
        for prefix, method in zip(("", "r", "i"), binary(builtin), strict=True):
            setattr(cls, f"__{prefix}{name}__", method)
    for name in UNARY:
        setattr(cls, f"__{name}__", unary(name))


_add_operators(array)
_add_operators(indexed_array_base)
