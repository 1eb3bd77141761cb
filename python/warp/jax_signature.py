"""What kernels and functions look like to JAX: which parameters are arrays, which of them come in and which go out.
Not here: the calls (jax_kernels.py, jax_callables.py).
"""

import inspect
import math

from warp import dtypes, types
from warp.jax_arrays import dtype_to_jax


def inner_shape(element):
    """The extents of the numbers inside an element: of a 2 x 3 matrix (2, 3), of a number ()."""
    if element.kind == "scalar":
        return ()
    if element.kind == "mat":
        return (element.rows, element.columns)
    return (element.part_count,)


class Parameter:
    """A parameter: an array with its element and dimensions, or a value, which JAX knows as a static one."""

    def __init__(self, name, type):
        self.name, self.type = name, type
        self.is_array = type.kind == "array"
        self.in_out = False
        if self.is_array:
            self.element, self.ndim = type.target, type.ndim
            if self.element.kind == "struct":
                raise TypeError(f"argument '{name}' is an array of structs, which JAX does not have")
            self.dtype = types.class_of(self.element)
            self.inner = inner_shape(self.element)
            self.jax_dtype = dtype_to_jax(self.dtype)
        elif type.contains_array:
            raise TypeError(f"argument '{name}' is a struct with arrays, which JAX cannot pass")

    def batch_of(self, shape):
        """The dimensions that an array of JAX has in front of this parameter's; None where it does not fit."""
        own = self.ndim + len(self.inner)
        if len(shape) < own or tuple(shape[len(shape) - len(self.inner) :]) != self.inner:
            return None
        return shape[: len(shape) - own]

    def check(self, value, owner):
        """Refuses an array of JAX that is not of this parameter's type."""
        if self.batch_of(value.shape) != () or value.dtype != self.jax_dtype:
            inner = f" of elements {self.inner}" if self.inner else ""
            raise TypeError(
                f"{owner}, argument '{self.name}' expects {self.ndim} dimension(s){inner} of "
                f"{self.jax_dtype.__name__}, found an array of shape {tuple(value.shape)} and {value.dtype}"
            )

    def full_shape(self, dims, owner):
        """The shape that JAX sees of an array with these dimensions; they may have those of the elements at the end."""
        whole = self.ndim + len(self.inner)
        if len(dims) == self.ndim:
            return (*dims, *self.inner)
        if len(dims) == whole and tuple(dims[self.ndim :]) == self.inner:
            return tuple(dims)
        raise ValueError(
            f"{owner}: output '{self.name}' has {self.ndim} dimension(s), found dimensions {tuple(dims)}: pass "
            f"output_dims={{'{self.name}': ...}}"
        )


def names_of(given, what):
    """A selection of argument names, as a tuple without repetitions."""
    names = tuple(given or ())
    if isinstance(given, str):
        raise TypeError(f"{what} is a sequence of names, found the text {given!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"{what} must not contain duplicate names: found {list(names)}")
    return names


def dims_of(given, what):
    """Dimensions as a tuple of ints."""
    dims = tuple(given) if hasattr(given, "__iter__") else (given,)
    return tuple(_extent(d, what) for d in dims)


def _extent(value, what):
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(f"{what}: dimensions are ints, found {value!r}") from None


class Signature:
    """The parameters: inputs first, then those in and out, then outputs. `values` are static."""

    def __init__(self, owner, parameters, num_outputs, in_out_argnames):
        self.owner, self.parameters = owner, parameters
        if isinstance(num_outputs, bool) or not isinstance(num_outputs, int):
            raise TypeError(f"{owner}: num_outputs is an int, found {num_outputs!r}")
        known = [p.name for p in parameters]
        unknown = [n for n in in_out_argnames if n not in known]
        if unknown:
            raise ValueError(
                f"{owner}: in_out_argnames {unknown} did not match any function argument names: {', '.join(known)}"
            )
        pure = num_outputs - len(in_out_argnames)
        if num_outputs < 1 or pure < 0 or num_outputs > len(parameters):
            raise ValueError(
                f"{owner}: num_outputs must be at least 1, at most the number of arguments, and count the "
                f"{len(in_out_argnames)} in_out arguments, found {num_outputs}"
            )
        inputs = parameters[: len(parameters) - pure]
        self.pure_outputs = parameters[len(parameters) - pure :]
        for p in self.pure_outputs:
            if p.name in in_out_argnames:
                raise ValueError(
                    f"{owner}: in_out arguments should be placed before output-only arguments, found '{p.name}' among "
                    f"the last {pure}"
                )
        for p in inputs:
            p.in_out = p.name in in_out_argnames
        self.inputs = inputs
        self.in_outs = [p for p in inputs if p.in_out]
        # In the order in which JAX returns them.
        self.outputs = [*self.in_outs, *self.pure_outputs]
        for p in self.outputs:
            if not p.is_array:
                raise TypeError(f"{owner}: output '{p.name}' must be an array, found {p.type}")

    def split(self, args):
        """The arrays and the values among the inputs of a call; values must be known while JAX traces."""
        if len(args) != len(self.inputs):
            names = ", ".join(p.name for p in self.inputs)
            raise TypeError(f"{self.owner} expects {len(self.inputs)} input(s) ({names}), found {len(args)}")
        import jax

        arrays, values = [], {}
        for p, arg in zip(self.inputs, args, strict=True):
            if p.is_array:
                value = arg if isinstance(arg, jax.Array) else jax.numpy.asarray(arg)
                p.check(value, self.owner)
                arrays.append(value)
            elif isinstance(arg, jax.core.Tracer):
                raise TypeError(
                    f"{self.owner}: argument '{p.name}' is no array: it must be static for jax.jit (static_argnames)"
                )
            else:
                values[p.name] = arg.item() if hasattr(arg, "item") and p.type.kind == "scalar" else arg
        return arrays, values

    def first_dims(self, arrays):
        """The dimensions of the first array argument, which are those of a launch that names none; or None."""
        given = iter(arrays)
        for p in self.inputs:
            if p.is_array:
                shape = next(given).shape
                return tuple(shape[: p.ndim])
        return None

    def output_shapes(self, arrays, output_dims, otherwise):
        """The shape of each output. `output_dims`: for all, or by name; `otherwise`: where there are none."""
        given = dict(zip((p.name for p in self.inputs if p.is_array), arrays, strict=True))
        by_name = output_dims if isinstance(output_dims, dict) else {}
        unknown = set(by_name) - {p.name for p in self.pure_outputs}
        if unknown:
            raise ValueError(f"{self.owner}: output_dims names '{min(unknown)}', which is no output-only argument")
        shapes = []
        for p in self.outputs:
            if p.in_out:
                shapes.append(tuple(given[p.name].shape))
                continue
            dims = by_name.get(p.name) if isinstance(output_dims, dict) else output_dims
            dims = otherwise if dims is None else dims_of(dims, f"{self.owner}, output '{p.name}'")
            if dims is None:
                raise ValueError(f"{self.owner}: the dimensions of output '{p.name}' are unknown: pass output_dims")
            shapes.append(p.full_shape(dims, self.owner))
        return shapes


def value_key(value):
    """What tells static values apart, of which each has a call of its own."""
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, types.value_base):
        return type(value), tuple(value._numbers())
    # 1, 1.0 and True are equal, and -0.0 is 0.0.
    return type(value), value, math.copysign(1.0, value) if isinstance(value, float) else None


def of_kernel(kernel, types_of_parameters):
    """The parameters of a kernel whose types are known."""
    names = [name for name, _, _ in kernel._signature()]
    return [Parameter(n, t) for n, t in zip(names, types_of_parameters, strict=True)]


def of_function(function):
    """The parameters of an annotated function."""
    annotations = inspect.get_annotations(function, eval_str=True)
    parameters = []
    for name in inspect.signature(function).parameters:
        if name not in annotations:
            raise TypeError(
                f"function '{function.__name__}': argument '{name}' needs a type annotation, as kernels have"
            )
        kind = getattr(dtypes.canonical(annotations[name]), "_weft_type_", None)
        if kind is None:
            raise TypeError(
                f"function '{function.__name__}': argument '{name}' is annotated as {annotations[name]!r}, "
                "expected an array or a type of values"
            )
        parameters.append(Parameter(name, kind))
    return parameters
