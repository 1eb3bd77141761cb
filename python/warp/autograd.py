"""Jacobians by reverse mode and by differences, and checks of the one against the other: tools for finding mistakes.

Plots are in jacobian_plots.py.
"""

from dataclasses import dataclass, field

import numpy as np

from warp import _core, types
from warp.array_data import numpy_values
from warp.arrays import array
from warp.jacobian_plots import plot
from warp.kernels import Kernel
from warp.tape import Tape

_DISABLED = "Kernel must have backward pass enabled to compute Jacobians"


@dataclass
class FunctionMetadata:
    """What is known of a function: its name, and the names, strides and types of what goes in and comes out.

    Inputs that have no derivative, such as numbers and arrays of integers, have None for a type.
    """

    key: str | None = None
    input_labels: list = field(default_factory=list)
    output_labels: list = field(default_factory=list)
    input_strides: list = field(default_factory=list)
    output_strides: list = field(default_factory=list)
    input_dtypes: list = field(default_factory=list)
    output_dtypes: list = field(default_factory=list)

    def update(self, key, inputs, outputs, input_labels, output_labels):
        self.key, self.input_labels, self.output_labels = key, list(input_labels), list(output_labels)
        self.input_strides, self.input_dtypes = _described(inputs)
        self.output_strides, self.output_dtypes = _described(outputs)


def _described(values):
    arrays = [v if isinstance(v, array) else None for v in values]
    return [a and a.strides for a in arrays], [None if a is None else a.dtype for a in arrays]


def _is_differentiable(value):
    return isinstance(value, array) and value.requires_grad and types.scalar_of(value.dtype).__name__ in _FLOATS


_FLOATS = ("float16", "float32", "float64")


class _Case:
    """Something to differentiate: a kernel with its arguments, or a function of Python that launches kernels."""

    def __init__(self, function, inputs, outputs, launch, metadata=None):
        self.function, self.inputs, self.outputs, self.launch = function, list(inputs or ()), outputs, launch
        self.is_kernel = isinstance(function, Kernel)
        if self.is_kernel and outputs is None:
            raise ValueError("outputs= must be given: the arrays that the kernel writes")
        self.metadata = metadata or FunctionMetadata()
        self.given = metadata is not None

    def run(self):
        """One evaluation: the arrays that come out."""
        if self.is_kernel:
            dim, device, max_blocks, block_dim = self.launch
            if device is None:  # where the arrays are
                arrays = (v for v in (*self.inputs, *self.outputs) if isinstance(v, array))
                device = next((a.device for a in arrays), None)
            _core.launch(
                self.function, dim, self.inputs, self.outputs, device=device, max_blocks=max_blocks, block_dim=block_dim
            )
            results = list(self.outputs)
        else:
            results = self.function(*self.inputs)
            results = [results] if isinstance(results, array) else list(results)
        if not self.given:
            self._describe(results)
            self.given = True
        return results

    def _describe(self, results):
        function = self.function
        if self.is_kernel:
            labels = [a.label for a in function.adj.args]
            inputs, outputs = labels[: len(self.inputs)], labels[len(self.inputs) :]
        else:
            code = function.__code__
            inputs = code.co_varnames[: code.co_argcount]
            outputs = [f"output_{i}" for i in range(len(results))]
        key = function.key if self.is_kernel else function.__name__
        self.metadata.update(key, self.inputs, results, inputs, outputs)

    def pairs(self, mask, results):
        """The positions of inputs and outputs that are looked at."""
        found = [
            (i, o)
            for i, a in enumerate(self.inputs)
            for o, b in enumerate(results)
            if _is_differentiable(a) and _is_differentiable(b)
        ]
        if mask is None:
            return found
        wanted = [
            (_position(i, self.metadata.input_labels, "input"), _position(o, self.metadata.output_labels, "output"))
            for i, o in mask
        ]
        return [pair for pair in found if pair in wanted]


def _position(name, labels, what):
    if not isinstance(name, str):
        return name
    if name not in labels:
        raise ValueError(f"input_output_mask names an {what} '{name}'; there are: {', '.join(labels)}")
    return list(labels).index(name)


class _Kept:
    """While it is active no tape records, and afterwards the inputs are as they were, marks of reading included."""

    def __init__(self, inputs, restore):
        self.arrays = [a for a in inputs if isinstance(a, array)]
        self.restores = restore

    def __enter__(self):
        self.tape = _core.get_tape()
        _core.set_tape(None)
        self.marks = [a._is_read for a in self.arrays]
        self.copies = [_copy(a) for a in self.arrays] if self.restores else []
        self.forget_reads()
        return self

    def forget_reads(self):
        for a in self.arrays:
            a._is_read = False

    def restore(self):
        for a, values in zip(self.arrays, self.copies, strict=False):
            a._copy_from(values)
        self.forget_reads()

    def __exit__(self, *exception):
        self.restore()
        for a, mark in zip(self.arrays, self.marks, strict=True):
            a._is_read = mark
        _core.set_tape(self.tape)


def _copy(a):
    kept = array(shape=a.shape, dtype=a.dtype, device=a.device)
    kept._copy_from(a)
    return kept


def _values(a):
    """A copy of the numbers of an array, in one dimension."""
    return np.array(numpy_values(a)).reshape(-1)


def _set(a, numbers):
    shape = a.shape + types.part_shape(a.dtype)
    a._copy_from(array(numbers.reshape(shape), dtype=a.dtype, device=a.device))


def _made(numbers, dtype, device):
    """A Jacobian as an array: a row for each number that comes out, elements of the input's type in it."""
    inner = types.part_shape(dtype)
    count = int(np.prod(inner)) if inner else 1
    shape = (numbers.shape[0], numbers.shape[1] // count, *inner)
    return array(np.ascontiguousarray(numbers.reshape(shape)), dtype=dtype, device=device)


def _limited(count, limit):
    return count if limit is None or limit < 0 else min(count, limit)


def _by_reverse_mode(case, mask, max_outputs, restore):
    """The Jacobians as arrays of numbers."""
    if case.is_kernel and not case.function._option("enable_backward"):
        raise ValueError(_DISABLED)
    found = {}
    with _Kept(case.inputs, restore):
        tape = Tape()
        with tape:
            results = case.run()
        for record in tape.launches:
            kernel = getattr(record, "kernel", None)
            if kernel is not None and not kernel._option("enable_backward"):
                raise ValueError(_DISABLED)
        pairs = case.pairs(mask, results)
        for o in sorted({o for _, o in pairs}):
            inputs = [i for i, other in pairs if other == o]
            out = results[o]
            rows = _values(out).size
            scalar = numpy_values(out).dtype
            for i in inputs:
                a = numpy_values(case.inputs[i])
                found[i, o] = np.full((rows, a.size), np.nan, a.dtype)
            for row in range(_limited(rows, max_outputs)):
                tape.zero()
                for i in inputs:
                    case.inputs[i].grad.zero_()
                seed = np.zeros(rows, scalar)
                seed[row] = 1
                _set(out.grad, seed)
                tape.backward()
                for i in inputs:
                    found[i, o][row] = _values(case.inputs[i].grad)
        tape.zero()
    return found


def _by_differences(case, mask, max_inputs, eps, restore):
    found = {}
    with _Kept(case.inputs, restore) as kept:
        results = case.run()
        kept.restore()
        pairs = case.pairs(mask, results)
        for i in sorted({i for i, _ in pairs}):
            a = case.inputs[i]
            start = _values(a)
            outputs = [o for other, o in pairs if other == i]
            for o in outputs:
                found[i, o] = np.full((_values(results[o]).size, start.size), np.nan, start.dtype)
            for column in range(_limited(start.size, max_inputs)):
                sides = []
                for moved in (start[column] + start.dtype.type(eps), start[column] - start.dtype.type(eps)):
                    numbers = _values(a)
                    numbers[column] = moved
                    _set(a, numbers)
                    kept.forget_reads()
                    results = case.run()
                    sides.append((float(moved), [_values(results[o]).astype(np.float64) for o in outputs]))
                    kept.restore()
                (high, above), (low, below) = sides
                for o, up, down in zip(outputs, above, below, strict=True):
                    found[i, o][:, column] = (up - down) / (high - low)
    return found


def _as_arrays(found, inputs):
    return {pair: _made(numbers, inputs[pair[0]].dtype, inputs[pair[0]].device) for pair, numbers in found.items()}


def jacobian(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=None,
    max_outputs_per_var=-1,
    plot_jacobians=False,
    metadata=None,
    restore_inputs=True,
):
    """The Jacobians of a kernel, or of a function that launches kernels, by reverse mode: {(input, output): array}.

    A row belongs to a number of the output, a column to an element of the input; rows beyond `max_outputs_per_var`
    are NaN. Gradients of the arrays are zero afterwards.
    """
    case = _Case(function, inputs, outputs, (dim, device, max_blocks, block_dim), metadata)
    found = _by_reverse_mode(case, input_output_mask, max_outputs_per_var, restore_inputs)
    jacobians = _as_arrays(found, case.inputs)
    if plot_jacobians:
        jacobian_plot(jacobians, case.metadata)
    return jacobians


def jacobian_fd(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=None,
    max_inputs_per_var=-1,
    eps=1.0e-4,
    plot_jacobians=False,
    metadata=None,
    restore_inputs=True,
):
    """The same by central differences; columns beyond `max_inputs_per_var` are NaN."""
    case = _Case(function, inputs, outputs, (dim, device, max_blocks, block_dim), metadata)
    found = _by_differences(case, input_output_mask, max_inputs_per_var, eps, restore_inputs)
    jacobians = _as_arrays(found, case.inputs)
    if plot_jacobians:
        jacobian_plot(jacobians, case.metadata)
    return jacobians


def jacobian_plot(
    jacobians,
    kernel,
    inputs=None,
    show_plot=True,
    show_colorbar=True,
    scale_colors_per_submatrix=False,
    title=None,
    colormap="coolwarm",
    log_scale=False,
):
    """Shows Jacobians as pictures by matplotlib; returns the figure."""
    metadata = kernel
    if isinstance(kernel, Kernel):
        if inputs is None:
            raise ValueError("inputs must be provided to plot the Jacobians of a kernel")
        labels = [a.label for a in kernel.adj.args]
        metadata = FunctionMetadata()
        outputs = [None] * (len(labels) - len(inputs))
        metadata.update(kernel.key, inputs, outputs, labels[: len(inputs)], labels[len(inputs) :])
    return plot(jacobians, metadata, show_plot, show_colorbar, scale_colors_per_submatrix, title, colormap, log_scale)


def _compared(case, options):
    """Compares both ways: whether they agree, the lines of a table, and what is wrong first."""
    mask, restore = options["mask"], options["restore"]
    exact = _by_reverse_mode(case, mask, options["max_outputs"], restore)
    approximate = _by_differences(case, mask, options["max_inputs"], options["eps"], restore)
    lines, wrong = [], None
    inputs, outputs = case.metadata.input_labels, case.metadata.output_labels
    differences = {}
    for pair, ad in sorted(exact.items()):
        rows = _limited(ad.shape[0], options["max_outputs"])
        columns = _limited(ad.shape[1], options["max_inputs"])
        ad, fd = ad[:rows, :columns].astype(np.float64), approximate[pair][:rows, :columns].astype(np.float64)
        if not ad.size:
            continue
        error = np.abs(ad - fd)
        relative = error / np.maximum(np.abs(fd), 1e-12)
        relative[error == 0] = 0
        differences[pair] = (error, relative)
        place = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        passed = bool(np.allclose(ad, fd, atol=options["atol"], rtol=options["rtol"]))
        numbers = [f"{n:.3e}" for n in (error[place], ad[place], fd[place], relative.max())]
        index = ", ".join(map(str, map(int, place)))
        names, result = (inputs[pair[0]], outputs[pair[1]]), "pass" if passed else "FAIL"
        lines.append((*names, f"{numbers[0]} at ({index})", *numbers[1:], result))
        if not passed and wrong is None:
            reason = "derivatives by reverse mode and by differences do not match"
            if np.isnan(ad).any() or np.isnan(fd).any():
                reason = "a derivative is NaN"
            wrong = f"the check of {case.metadata.key} failed, input {pair[0]}, output {pair[1]}: {reason}"
    return wrong, lines, differences


def _show(lines, key, passed):
    heads = ("Input", "Output", "Max abs error", "AD there", "FD there", "Max rel error", "Result")
    widths = [max(len(row[i]) for row in (heads, *lines)) for i in range(len(heads))]
    for row in (heads, *lines):
        print(" | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    print(f"check of the gradients of {key}: {'passed' if passed else 'FAILED'}")


def _check(case, options, raise_exception, show_summary, plot_relative_error=False, plot_absolute_error=False):
    wrong, lines, differences = _compared(case, options)
    if show_summary:
        _show(lines, case.metadata.key, wrong is None)
    for wanted, index, kind in ((plot_relative_error, 1, "relative"), (plot_absolute_error, 0, "absolute")):
        if wanted:
            title = f"{case.metadata.key} kernel Jacobian {kind} error"
            pictures = {pair: found[index] for pair, found in differences.items()}
            plot(pictures, case.metadata, title=title)
    if wrong is not None and raise_exception:
        raise ValueError(wrong)
    return wrong is None


def gradcheck(
    function,
    dim=None,
    inputs=None,
    outputs=None,
    *,
    eps=1.0e-4,
    atol=1.0e-3,
    rtol=1.0e-2,
    raise_exception=True,
    input_output_mask=None,
    device=None,
    max_blocks=0,
    block_dim=None,
    max_inputs_per_var=-1,
    max_outputs_per_var=-1,
    plot_relative_error=False,
    plot_absolute_error=False,
    show_summary=True,
    restore_inputs=True,
):
    """Whether the gradients of a kernel, or of a function that launches kernels, agree with differences."""
    options = {
        "mask": input_output_mask,
        "restore": restore_inputs,
        "max_inputs": max_inputs_per_var,
        "max_outputs": max_outputs_per_var,
        "eps": eps,
        "atol": atol,
        "rtol": rtol,
    }
    case = _Case(function, inputs, outputs, (dim, device, max_blocks, block_dim))
    return _check(case, options, raise_exception, show_summary, plot_relative_error, plot_absolute_error)


def gradcheck_tape(
    tape,
    *,
    eps=1.0e-4,
    atol=1.0e-3,
    rtol=1.0e-2,
    raise_exception=True,
    input_output_masks=None,
    blacklist_kernels=None,
    whitelist_kernels=None,
    max_inputs_per_var=-1,
    max_outputs_per_var=-1,
    plot_relative_error=False,
    plot_absolute_error=False,
    show_summary=True,
    reverse_launches=False,
    skip_to_launch_index=0,
):
    """Checks the launches of a tape one by one; those of kernels without a backward pass are passed over."""
    records = [record for record in tape.launches if getattr(record, "kernel", None) is not None]
    records = records[::-1] if reverse_launches else records
    passed = True
    for record in records[skip_to_launch_index:]:
        kernel = record.kernel
        if blacklist_kernels and kernel.key in blacklist_kernels:
            continue
        if whitelist_kernels and kernel.key not in whitelist_kernels:
            continue
        if not kernel._option("enable_backward"):
            continue
        options = {
            "mask": (input_output_masks or {}).get(kernel.key),
            "restore": True,
            "max_inputs": max_inputs_per_var,
            "max_outputs": max_outputs_per_var,
            "eps": eps,
            "atol": atol,
            "rtol": rtol,
        }
        # What is written from the first such parameter on is output, as launches usually pass it.
        given = [] if not kernel.is_generic else [_core.type_of_argument(a) for a in record.arguments]
        written = [writes for _, writes in kernel._access(given)]
        first = written.index(True) if True in written else len(written)
        arguments = list(record.arguments)
        case = _Case(kernel, arguments[:first], arguments[first:], (record.dim, record.device, 0, 256))
        if not _check(case, options, raise_exception, show_summary, plot_relative_error, plot_absolute_error):
            passed = False
    return passed
