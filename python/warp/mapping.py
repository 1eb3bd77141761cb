"""`wp.map`: a function applied to every element of arrays, and the kernels made for it, which operators use too."""

import collections
import math
import typing

from warp import _core, types
from warp.array_makers import empty
from warp.array_views import HOOKS
from warp.arrays import array
from warp.builtin_functions import Builtin
from warp.dtypes import name_of
from warp.functions import Function, func
from warp.indexed_arrays import indexed_array_base
from warp.kernels import MapKernel
from warp.lambdas import function_of

# of builtins; a user's function keeps its own
_kernels = {}
# lambdas by their code, so that one written in a loop is compiled once: the last ones used
_lambdas = collections.OrderedDict()
_MOST_LAMBDAS = 128


def is_array(value):
    return isinstance(value, (array, indexed_array_base))


def broadcast_shape(a, b):
    """The shape of both together, or ValueError."""
    shape = []
    for i in range(1, max(len(a), len(b)) + 1):
        x = a[-i] if i <= len(a) else 1
        y = b[-i] if i <= len(b) else 1
        if x != y and 1 not in (x, y):
            raise ValueError(f"Shapes {a} and {b} are not broadcastable")
        shape.append(y if x == 1 else x)
    return tuple(reversed(shape))


def shape_of(operands):
    """The shape that the arrays among the operands have together."""
    shape = None
    for operand in operands:
        if is_array(operand):
            shape = operand.shape if shape is None else broadcast_shape(shape, operand.shape)
    return shape


def described(value, shape):
    """How a kernel sees an operand: type, dimensions, which have one element, kind of array; None where it cannot."""
    if is_array(value):
        if len(value.shape) != value.ndim:
            raise TypeError(f"the elements of {value!r} are arrays: they are reached in kernels only")
        lead = len(shape) - value.ndim
        single = tuple(value.shape[i] == 1 and shape[lead + i] != 1 for i in range(value.ndim))
        return value._element, value.ndim, single, value._weft_array_family_
    type = _core.type_of_argument(value)
    return None if type.kind == "void" else (type, 0, (), "array")


def kinds_of(outputs):
    """The kinds of the arrays that results go to; none where all are plain."""
    kinds = tuple(o._weft_array_family_ for o in outputs)
    return kinds if any(kind != "array" for kind in kinds) else ()


def launch_shape(shape):
    """What a kernel of `make_kernel` is launched over: of more than four dimensions, the first ones are one."""
    return shape if len(shape) <= 4 else (math.prod(shape[:-3]), *shape[-3:])


def make_kernel(function, key, shape, descriptions, out_kinds=()):
    """The kernel that applies a function to operands, and the types of its results."""
    kernels = function.map_kernels if isinstance(function, Function) else _kernels
    identity = (key, len(shape), tuple(descriptions), out_kinds)
    made = kernels.get(identity)
    if made is None:
        made = kernels[identity] = _core.make_map_kernel(
            function, key, len(shape), list(descriptions), MapKernel, out_kinds=list(out_kinds)
        )
        made[0].applied = function  # lives as long as the kernel
    return made


@func
def _same(x: typing.Any):
    return x


def write(out, value):
    """A launch that gives an array the elements of another, or one value for all."""
    kernel, _ = make_kernel(_same, "copy", out.shape, [described(value, out.shape)], kinds_of((out,)))
    _core.launch(kernel, launch_shape(out.shape), [value], [out], device=out.device)


HOOKS["write"] = write


def _callable_key(function):
    if isinstance(function, (Function, Builtin)):
        return function.key
    raise TypeError(f"wp.map() takes a function of the kernel language or a lambda, found {function!r}")


def _resolved(function):
    code = getattr(function, "__code__", None)
    if isinstance(function, (Function, Builtin)) or code is None:
        return function
    # What a lambda captures is read when its kernel is made: other values make other kernels.
    cells = tuple(c.cell_contents for c in function.__closure__ or ())
    try:
        key = (code, cells, tuple(function.__globals__.get(n) for n in code.co_names))
        found = _lambdas.get(key)
    except TypeError:
        return function_of(function)
    if found is None:
        found = _lambdas[key] = function_of(function)
        if len(_lambdas) > _MOST_LAMBDAS:
            _lambdas.popitem(last=False)
    else:
        _lambdas.move_to_end(key)
    return found


def _refuse_types(function, key, operands, error):
    found = ", ".join(name_of(o.dtype if is_array(o) else type(o)) for o in operands)
    raise TypeError(f"Function {key} does not support the provided argument types {found}: {error}") from error


def map(func, *inputs, out=None, return_kernel=False, block_dim=None, device=None):
    """Applies a function (a `@wp.func`, a builtin or a lambda) to every element of the arrays, which are broadcast.

    Returns the result, a list of them where the function returns several, or the kernel.
    """
    if out is not None and not is_array(out) and not isinstance(out, (list, tuple)):
        raise TypeError(f"Invalid output provided: {out!r} is no array")
    function = _resolved(func)
    key = _callable_key(function)
    shape = shape_of(inputs)
    if shape is None:
        raise ValueError("map requires at least one warp.array input")
    if isinstance(function, Function) and function.is_simple():
        wanted = len(function.input_types)
        if wanted != len(inputs):
            raise TypeError(
                f"Number of input arguments ({len(inputs)}) does not match expected number of function arguments "
                f"({wanted})"
            )
    descriptions = [described(i, shape) for i in inputs]
    if None in descriptions:
        raise TypeError(f"{key}() does not take {inputs[descriptions.index(None)]!r}")
    outputs = None if out is None else [out] if is_array(out) else list(out)
    try:
        kernel, results = make_kernel(function, key, shape, descriptions, kinds_of(outputs or ()))
    except (TypeError, ValueError) as error:
        _refuse_types(function, key, inputs, error)
    if not results:
        raise TypeError("The provided function must return a value")
    if return_kernel:
        return kernel
    first = next(i for i in inputs if is_array(i))
    target = first.device if device is None else device
    if outputs is None:
        needs_grad = any(is_array(i) and i.requires_grad for i in inputs)
        outputs = [
            empty(shape, dtype=types.class_of(r), device=target, requires_grad=needs_grad and r.is_differentiable)
            for r in results
        ]
    else:
        _check_outputs(outputs, is_array(out), shape, results)
    _core.launch(kernel, launch_shape(shape), list(inputs), outputs, device=target, block_dim=block_dim)
    if out is not None:
        return out
    return outputs[0] if len(outputs) == 1 else outputs


def _check_outputs(outputs, single, shape, results):
    names = [r.user_name for r in results]
    if single and len(results) > 1:
        raise TypeError(
            f"Invalid output provided, expected {len(results)} Warp arrays with shape {shape} and dtypes "
            f"({', '.join(names)})"
        )
    if len(outputs) != len(results):
        raise TypeError(
            f"Number of provided output arrays ({len(outputs)}) does not match expected number of function outputs "
            f"({len(results)})"
        )
    for i, (o, result) in enumerate(zip(outputs, results, strict=True)):
        name = "Output array" if len(outputs) == 1 else f"Output array {i}"
        if not is_array(o):
            raise TypeError(f"{name} is no Warp array: {o!r}")
        if o._element != result:
            raise TypeError(f"{name} dtype {types.type_repr(o.dtype)} does not match expected dtype {result.user_name}")
        if o.shape != shape:
            raise TypeError(f"{name} shape {o.shape} does not match expected shape {shape}")
