"""Sums by atomics, prefix sums, sorts."""

import numpy as np
from problem import Problem, random
from row import Row, Subject, Work, forward

import warp as wp


@wp.kernel
def sum_kernel(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(out, 0, x[i, j])


def one_address(n):
    # Small integers, whose sums are exact in any order up to 2^24; the last value makes the sum odd.
    values = np.zeros((n, n), dtype=np.float32)
    values[::3, ::3] = 1.0
    x, out = wp.array(values), wp.zeros(1, dtype=float)

    def launches():
        out.zero_()
        wp.launch(sum_kernel, dim=(n, n), inputs=[x, out])

    return Subject(launches, [x], out, lambda x: np.array([x.sum()]))


@wp.kernel
def scatter_kernel(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, index[i], x[i])


def scatter(n, targets):
    at = np.random.default_rng(3).integers(0, targets, n, dtype=np.int32)
    index, x, out = wp.array(at), wp.array(random(n)), wp.zeros(targets, dtype=float)

    def launches():
        out.zero_()
        wp.launch(scatter_kernel, dim=n, inputs=[index, x, out])

    return Subject(launches, [x], out, lambda x: np.bincount(at, x, targets), constants=[at, np.array(targets)])


def scan(n):
    x, out = wp.array(random(n)), wp.zeros(n, dtype=float)
    # Whole numbers, whose sums no order of additions rounds: an implementation may sum in float32.
    x.assign(np.floor(2.0 * x.numpy()).astype(np.float32))
    return Subject(lambda: wp.utils.array_scan(x, out), [x], out, np.cumsum)


def sort(n):
    """Sorts copies of the same pairs: the copies are timed too."""
    given = np.random.default_rng(4).integers(-(2**31), 2**31, n, dtype=np.int32)
    first_keys, first_values = wp.array(given), wp.array(np.arange(n, dtype=np.int32))
    # Twice as long as what is sorted: the other half is working space.
    keys, values = wp.zeros(2 * n, dtype=int), wp.zeros(2 * n, dtype=int)

    def run():
        wp.copy(keys, first_keys, count=n)
        wp.copy(values, first_values, count=n)
        wp.utils.radix_sort_pairs(keys, values, n)

    order = np.argsort(given, kind="stable")
    problem = Problem([given, np.arange(n, dtype=np.int32)], np.stack([given[order], order]))
    return Work(run, lambda: problem.check(np.stack([keys.numpy()[:n], values.numpy()[:n]])), problem)


ROWS = [
    Row(
        "one_address_4096",
        forward(one_address),
        {"n": 4096},
        5.0,
        4 * 4096**2 / 1e9,
        "GB/s",
        "copy",
        gates={"torch": 0.9},
    ),
    Row("scatter_10k", forward(scatter), {"n": 2**20, "targets": 10_000}, None, 2**20 / 1e6, "M/s"),
    Row("scatter_1m", forward(scatter), {"n": 2**21, "targets": 1_000_000}, None, 2**21 / 1e6, "M/s"),
    Row("sort_2^22", sort, {"n": 2**22}, 2.0, 2**22 / 1e6, "M/s"),
    Row("scan_2^24", forward(scan), {"n": 2**24}, 1.7, 8 * 2**24 / 1e9, "GB/s", "copy"),
]
