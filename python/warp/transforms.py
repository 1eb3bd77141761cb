"""Derivatives of functions: `wp.jvp`, `wp.vjp`, `wp.hvp`, `wp.grad`.

They differentiate with respect to the memory of the arrays given, whatever requires a gradient: no array needs
`requires_grad`, no `grad` is touched. `Tape` is in tape.py; the derivatives themselves are the core's (src/ad).
"""

import functools

from warp import _core
from warp.array_makers import copy, zeros
from warp.arrays import array
from warp.builtin_functions import Builtin, call
from warp.errors import WarpGradientError
from warp.functions import Function
from warp.kernels import Kernel, TangentKernel
from warp.shadows import Shadows, arrays_of, converted, shadow_argument, spread

_NO_SECOND = "gradients have no derivatives of their own while something is recorded: use wp.hvp() for second ones"


class _Forward:
    """Forward mode while it is active: launches run their tangents beside them."""

    def __init__(self):
        self.tangents = Shadows()
        # Of the arguments, by position, that are no arrays: for one kernel alone.
        self.numbers = {}
        self._outer = None

    def __enter__(self):
        self._outer = _core.get_forward()
        _core.set_forward(self)
        return self

    def __exit__(self, *exception):
        _core.set_forward(self._outer)

    def _run(self, work):
        """Work that this forward mode does not see, but those around it do."""
        _core.set_forward(self._outer)
        try:
            work()
        finally:
            _core.set_forward(self)

    def _launch(self, kernel, dim, arguments, device):
        arguments, kinds, given = converted(kernel, arguments)
        if self.numbers:  # everything that it writes depends on them
            for argument, (_, written) in zip(arguments, kernel._access(given), strict=True):
                for a in arrays_of(argument) if written else ():
                    self.tangents.add(a)
        if not spread(self.tangents, kernel, given, arguments):
            return self._run(lambda: _core.launch(kernel, dim, arguments, device=device))
        tangents = [
            self.numbers[i] if i in self.numbers else shadow_argument(self.tangents, argument, kind)
            for i, (argument, kind) in enumerate(zip(arguments, kinds, strict=True))
            if kind.is_differentiable
        ]
        both = kernel._tangent(given, TangentKernel)
        return self._run(lambda: _core.launch(both, dim, arguments, tangents, device=device))

    def _copy(self, dest, src):
        if src in self.tangents and dest._element.is_differentiable:
            self.tangents.add(dest)
        to, held = self.tangents.of(dest), self.tangents.of(src)
        if to is not None:
            self._run(to.zero_ if held is None else lambda: copy(to, held))

    def _fill(self, a):
        tangent = self.tangents.of(a)
        if tangent is not None:
            self._run(tangent.zero_)


class _Recorder:
    """Records what a function does, for its gradient by all memory that is computed from its inputs."""

    _records_all = True  # the core keeps what the adjoints need of any array

    def __init__(self, inputs):
        self.records = []
        self.gradients = Shadows()
        for a in inputs:
            self.gradients.add(a)

    def __enter__(self):
        if _core.get_tape() is not None:
            raise WarpGradientError(_NO_SECOND)
        _core.set_tape(self)
        return self

    def __exit__(self, *exception):
        _core.set_tape(None)

    def refuse_pullback(self):
        raise WarpGradientError(_NO_SECOND)

    def _record_launch(self, kernel, dim, arguments, device, saved, _block_dim):
        arguments, kinds, given = converted(kernel, arguments)
        if not spread(self.gradients, kernel, given, arguments):
            return
        if not kernel._enable_backward:
            raise WarpGradientError(f"kernel '{kernel.key}' was made with enable_backward=False: it has no gradient")

        def backward(gradients):
            given = [
                None
                if not kind.is_differentiable or not kind.contains_array
                else shadow_argument(gradients, argument, kind)
                for argument, kind in zip(arguments, kinds, strict=True)
            ]
            wrapped = tuple(g if g is None or isinstance(g, _core.Array) else _Made(g) for g in given)
            _core.launch_adjoint(kernel, dim, tuple(arguments), device, saved, wrapped)

        self.records.append(backward)

    def _record_copy(self, dest, src):
        if not dest._element.is_differentiable:
            return
        if src in self.gradients:
            self.gradients.add(dest)
        if dest in self.gradients:
            self.records.append(functools.partial(_copy_backward, dest, src))

    def _record_fill(self, a):
        if a in self.gradients and a._element.is_differentiable:
            self.records.append(lambda gradients: gradients.of(a).zero_())

    def backward(self, gradients):
        if _core.get_forward() is not None or _core.get_tape() is not None:
            raise WarpGradientError(_NO_SECOND)
        for record in reversed(self.records):
            record(gradients)


class _Made:
    """A struct of gradients, as the core asks for it."""

    def __init__(self, value):
        self._value = value

    def _gradient(self):
        return self._value


def _copy_backward(dest, src, gradients):
    to, held = gradients.of(src), gradients.of(dest)
    # The other way round where both share memory: what was there before the copy has no gradient left.
    taken = zeros(dest.shape, dtype=dest.dtype, device=dest.device)
    taken._copy_from(held)
    held.zero_()
    if to is not None:
        to += taken


def _called(function, primals, dim, outputs, device):
    """Runs a kernel, or a function that launches kernels: whether it gave one array, and the arrays that it gave."""
    if isinstance(function, Kernel):
        if dim is None or outputs is None:
            raise TypeError(f"kernel '{function.key}' needs dim= and outputs=, the arrays that it writes")
        single = isinstance(outputs, array)
        outputs = [outputs] if single else list(outputs)
        _core.launch(function, dim, list(primals), outputs, device=device)
        return single, outputs
    if not callable(function):
        raise TypeError(f"expected a kernel or a function that launches kernels, found {function!r}")
    if dim is not None or outputs is not None:
        raise TypeError("dim= and outputs= are for kernels: a function returns what it computes")
    results = function(*primals)
    single = isinstance(results, array)
    results = [results] if single else list(results) if isinstance(results, (tuple, list)) else [results]
    for r in results:
        if not isinstance(r, array):
            name = getattr(function, "__name__", "the function")
            raise TypeError(f"{name} must return an array or several, found {type(r).__name__}")
    return single, results


def _differentiable(primals):
    return [a for p in primals for a in arrays_of(p) if a._element.is_differentiable]


def _set(to, value, what):
    """Writes an array, or what one can be made of, into a shadow."""
    if not isinstance(value, array):
        value = array(value, dtype=to.dtype, device=to.device)
    if value.shape != to.shape or value._element != to._element:
        raise ValueError(f"{what} must be {to!r}, found {value!r}")
    copy(to, value)


def _ones(a):
    return array(shape=a.shape, dtype=a.dtype, device=a.device).fill_(1.0)


def _several(values, count, what):
    values = list(values) if isinstance(values, (tuple, list)) else [values]
    if len(values) != count:
        raise ValueError(f"{what}: expected {count}, found {len(values)}")
    return values


def jvp(function, primals, tangents, *, dim=None, outputs=None, device=None):
    """The outputs of a function and their directional derivatives (Jacobian times vector), by forward mode.

    `function` is a kernel, launched over `dim` with `primals` as inputs and `outputs` as the arrays that it writes; or
    a Python function of `primals` that launches kernels and returns an array or several. `tangents` has for each primal
    an array of its dtype and shape (or what one can be made of), or None for zero; for a float or vector that a kernel
    takes, another.

    Returns (outputs, tangents of the outputs): arrays, or tuples of them where the function returns several. Raises
    WarpGradientError where something has no tangent, ValueError where a tangent has another shape.
    """
    primals = list(primals) if isinstance(primals, (tuple, list)) else [primals]
    tangents = _several(tangents, len(primals), "tangents, one for each primal")
    forward = _Forward()
    for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        if tangent is None:
            continue
        plain = _core.type_of_argument(primal)
        if isinstance(function, Kernel) and not arrays_of(primal) and plain.is_differentiable:
            forward.numbers[i] = tangent
            continue
        if not isinstance(primal, array) or not primal._element.is_differentiable:
            raise TypeError(f"primal {i} is {primal!r}: arrays of floats have tangents, and numbers that kernels take")
        forward.tangents.add(primal)
        _set(forward.tangents.of(primal), tangent, f"the tangent of primal {i}")
    with forward:
        single, results = _called(function, primals, dim, outputs, device)
    found = [_tangent_or_zero(forward.tangents, r) for r in results]
    return (results[0], found[0]) if single else (tuple(results), tuple(found))


def _tangent_or_zero(tangents, result):
    found = tangents.of(result)
    return zeros(result.shape, dtype=result.dtype, device=result.device) if found is None else found


def vjp(function, *primals, dim=None, outputs=None, device=None):
    """The outputs of a function, and a function that computes its gradients (vector times Jacobian), by reverse mode.

    `function`, `dim` and `outputs` are as in `wp.jvp`. Returns (outputs, pullback). `pullback(cotangents)` takes for
    each output an array of its dtype and shape (or what one can be made of), or None for zero, and returns a tuple: for
    each primal the gradient, an array of its dtype and shape; None for what is no array of floats. It may be called
    more than once, and raises WarpGradientError where something has no gradient.
    """
    recorder = _Recorder(_differentiable(primals))
    with recorder:
        single, results = _called(function, primals, dim, outputs, device)

    def pullback(cotangents):
        seeds = [cotangents] if single else _several(cotangents, len(results), "cotangents, one for each output")
        gradients = recorder.gradients.like()
        for i, (result, seed) in enumerate(zip(results, seeds, strict=True)):
            to = gradients.of(result)
            if seed is None:
                continue
            if to is None:  # does not depend on the inputs: nothing to do but to look at the seed
                to = zeros(result.shape, dtype=result.dtype, device=result.device)
            _add(to, seed, f"the cotangent of output {i}")
        recorder.backward(gradients)
        return tuple(gradients.of(p) if isinstance(p, array) else None for p in primals)

    return (results[0] if single else tuple(results)), pullback


def _add(to, seed, what):
    """Outputs may be one array twice: seeds add."""
    taken = zeros(to.shape, dtype=to.dtype, device=to.device)
    _set(taken, seed, what)
    to += taken


def hvp(function, primals, tangents, *, dim=None, outputs=None, device=None):
    """The product of the Hessian of a function with a vector, by reverse mode over forward mode.

    The function (as in `wp.jvp`) must have one output, an array of one number. `tangents` is the vector: an array for
    each primal, or None for zero. Returns (output, product): the product is an array for each primal in a tuple, or the
    array itself where `primals` is an array. Raises as `wp.jvp` and `wp.vjp` do.
    """
    many = isinstance(primals, (tuple, list))
    primals = list(primals) if many else [primals]
    kept = []

    def directional(*given):
        result, tangent = jvp(function, given, tangents, dim=dim, outputs=outputs, device=device)
        if not isinstance(result, array) or result.size != 1 or result._element.kind != "scalar":
            raise TypeError("wp.hvp() takes a function with one output, an array of one number")
        kept.append(result)
        return tangent

    _, pullback = vjp(directional, *primals)
    products = pullback(_ones(kept[0]))
    return kept[0], (products if many else products[0])


class _ValueGradient:
    """`wp.grad` of a function of the kernel language, called on plain values."""

    def __init__(self, function):
        self.function = function
        self.key = f"grad_{function.key.replace('.', '_')}"

    def __call__(self, *args):
        return call(self.function, args, derivative=True)

    def __repr__(self):
        return f"<gradient of {self.function!r}>"


def grad(func):
    """The derivative of a function, as a function of the same arguments.

    In a kernel, and at Python scope on plain values: `func` is a `@wp.func` or a builtin; the result is the derivative
    by each argument that is a value (0 for integers). At Python scope `func` may also be a Python function of arrays
    that launches kernels: the result is then its gradient by each array of floats, an array, or a tuple where there
    are several. Where a function has several outputs, or outputs of several numbers, it is the derivative of their sum.
    """
    if isinstance(func, (Function, Builtin)):
        return _ValueGradient(func)
    if isinstance(func, Kernel) or not callable(func):
        raise TypeError(f"wp.grad() takes a function, found {func!r}: wp.vjp() takes kernels")

    @functools.wraps(func)
    def gradient(*primals):
        results, pullback = vjp(func, *primals)
        one = isinstance(results, array)
        seeds = [_ones(r) if r._element.is_differentiable else None for r in ([results] if one else results)]
        found = [g for g in pullback(seeds[0] if one else seeds) if g is not None]
        if not found:
            raise TypeError("none of the arguments is an array of floats")
        return found[0] if len(found) == 1 else tuple(found)

    return gradient


__all__ = ["grad", "hvp", "jvp", "vjp"]
