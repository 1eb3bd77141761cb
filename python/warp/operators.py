"""Operators of arrays at Python scope: each one is a kernel that the core makes for the operand types."""

from warp import _core, builtin_functions, types
from warp.arrays import array, empty
from warp.builtin_functions import MapKernel

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

_kernels = {}


def broadcast_shape(a, b):
    """The shape of both together, or ValueError."""
    shape = []
    for i in range(1, max(len(a), len(b)) + 1):
        x = a[-i] if i <= len(a) else 1
        y = b[-i] if i <= len(b) else 1
        if x != y and 1 not in (x, y):
            raise ValueError(f"shapes {a} and {b} do not fit together")
        shape.append(y if x == 1 else x)
    return tuple(reversed(shape))


def _operand(value, ndim, shape):
    """How the kernel sees an operand: (type text, which of the last dimensions have one element) and the argument."""
    if isinstance(value, array):
        lead = len(shape) - value.ndim
        fixed = tuple(value.shape[i] == 1 and shape[lead + i] != 1 for i in range(value.ndim))
        return (value._element, value.ndim, fixed), value
    type = _core.type_of_argument(value)
    if type.kind == "void":
        if hasattr(value, "__array_interface__"):
            raise TypeError("operators of arrays do not take NumPy arrays: make a wp.array of it, or use .numpy()")
        return None
    return (type, 0, ()), value


def apply(builtin, operands, out=None):
    """A builtin by element, with broadcasting."""
    shape = ()
    for operand in operands:
        if isinstance(operand, array):
            shape = broadcast_shape(shape, operand.shape)
    if out is not None and out.shape != shape:
        raise ValueError(f"the result has shape {shape}, the array on the left {out.shape}")
    read = [_operand(operand, len(shape), shape) for operand in operands]
    if None in read:
        return NotImplemented
    key = (builtin, len(shape), tuple(description for description, _ in read))
    made = _kernels.get(key)
    if made is None:
        callee = builtin_functions.Builtin(builtin)
        made = _kernels[key] = _core.make_map_kernel(callee, builtin, len(shape), [d for d, _ in read], MapKernel)
    kernel, (result_type,) = made
    if out is None:
        needs_grad = any(isinstance(o, array) and o.requires_grad for o in operands)
        device = next(o.device for o in operands if isinstance(o, array))
        out = empty(shape, dtype=types.class_of(result_type), device=device, requires_grad=needs_grad)
    elif out._element != result_type:
        raise RuntimeError(f"the result has type {result_type.user_name}, the array on the left {out.dtype.__name__}")
    _core.launch(kernel, shape, [argument for _, argument in read], [out], device=out.device)
    return out


def add_operators(cls):
    """Gives the class of arrays its operators."""

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
