"""Sums, inner products and run lengths by kernels, for devices whose memory the host does not reach; they can be
captured.

A sum goes by passes: each thread adds every so many elements, then the threads' sums are added likewise. The order
depends on sizes alone, so that results repeat.
"""

import typing

import warp as wp
from warp.array_makers import copy, empty
from warp.device_algorithms import _launch, readable_beside, scan

_OPTIONS = {"enable_backward": False}
_THREADS = 1 << 16  # that keep a device busy
_LEAST = 16  # elements that a thread adds before it pays to have more threads


@wp.kernel(**_OPTIONS)
def _sum_parts(x: wp.array3d(dtype=typing.Any), count: int, out: wp.array3d(dtype=typing.Any)):
    i, part, j = wp.tid()
    parts = out.shape[1]
    total = x[i, part, j]
    for k in range(part + parts, count, parts):
        total += x[i, k, j]
    out[i, part, j] = total


def _multiply(product):
    @wp.kernel(module="unique", **_OPTIONS)
    def inner_parts(
        a: wp.array3d(dtype=typing.Any), b: wp.array3d(dtype=typing.Any), count: int, out: wp.array3d(dtype=typing.Any)
    ):
        i, part, j = wp.tid()
        parts = out.shape[1]
        total = product(a[i, part, j], b[i, part, j])
        for k in range(part + parts, count, parts):
            total += product(a[i, k, j], b[i, k, j])
        out[i, part, j] = total

    return inner_parts


_PRODUCTS = {
    "scalar": _multiply(wp.mul),
    "vec": _multiply(wp.dot),
    "quat": _multiply(wp.dot),
    "mat": _multiply(wp.ddot),
}


def _three_dimensional(source, axis):
    """The array as (before the axis, along it, behind it)."""
    outer, inner = 1, 1
    for extent in source.shape[:axis]:
        outer *= extent
    for extent in source.shape[axis + 1 :]:
        inner *= extent
    return source.contiguous().reshape((outer, source.shape[axis], inner))


def _parts(outer, count, inner):
    """How many threads share one sum."""
    return max(1, min(_THREADS // max(1, outer * inner), count // _LEAST))


def _reduce(sources, first, out, axis, count):
    """`first` adds parts of the sources, _sum_parts what it leaves."""
    if out.size == 0:
        return
    if count == 0:
        out.zero_()
        return
    sources = [_three_dimensional(readable_beside(source, out), axis) for source in sources]
    outer, _, inner = sources[0].shape
    kernel = first
    while True:
        parts = _parts(outer, count, inner)
        last = parts == 1 and out.is_contiguous
        if last:
            made = out.reshape((outer, 1, inner))
        else:
            made = empty((outer, parts, inner), dtype=out.dtype, device=out.device)
        _launch(kernel, made.shape, *sources, count, made)
        sources, count, kernel = [made], parts, _sum_parts
        if parts == 1:
            break
    if not last:
        copy(out, made.reshape(out.shape))


def sum_along(source, out, axis, count):
    """The sums of the first `count` elements along an axis; `out` has an extent of 1 there."""
    _reduce([source], _sum_parts, out, axis, count)


def inner_along(a, b, out, axis, count):
    """The sums of products of the first `count` elements along an axis, of components too."""
    kind = a._element.kind
    if kind not in _PRODUCTS:
        kind = "vec"
        flat = wp.types.vector(a._element.part_count, wp.types.scalar_of(a.dtype))
        a, b = a.view(flat), b.view(flat)
    _reduce([a, b], _PRODUCTS[kind], out, axis, count)


# ---- run lengths ----


@wp.kernel(**_OPTIONS)
def _mark_starts(values: wp.array(dtype=int), marks: wp.array(dtype=int)):
    i = wp.tid()
    marks[i] = 1
    if i > 0:
        if values[i] == values[i - 1]:
            marks[i] = 0


@wp.kernel(**_OPTIONS)
def _note_starts(
    values: wp.array(dtype=int),
    count: int,
    runs: wp.array(dtype=int),
    starts: wp.array(dtype=int),
    run_values: wp.array(dtype=int),
    run_count: wp.array(dtype=int),
):
    i = wp.tid()
    run = runs[i] - 1
    begins = i == 0
    if i > 0:
        begins = runs[i - 1] - 1 != run
    if begins:
        starts[run] = i
        run_values[run] = values[i]
    if i == count - 1:
        run_count[0] = run + 1


@wp.kernel(**_OPTIONS)
def _measure_runs(
    count: int, run_count: wp.array(dtype=int), starts: wp.array(dtype=int), lengths: wp.array(dtype=int)
):
    run = wp.tid()
    runs = run_count[0]
    if run < runs:
        end = count
        if run + 1 < runs:
            end = starts[run + 1]
        lengths[run] = end - starts[run]


def encode_runs(values, count, run_values, run_lengths, run_count):
    """Runs of equal values among the first `count`: their values, their lengths, their number."""
    values = readable_beside(values, run_values)
    runs, starts = (empty(count, dtype=wp.int32, device=values.device) for _ in range(2))
    _launch(_mark_starts, count, values, runs)
    scan(runs, runs, True)
    _launch(_note_starts, count, values, count, runs, starts, run_values, run_count)
    wp.launch(
        _measure_runs, count, inputs=[count, run_count, starts, run_lengths], device=values.device, record_tape=False
    )
