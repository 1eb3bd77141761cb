"""Sums, inner products and run lengths by kernels, against NumPy; on the default device, whichever it is."""

import numpy as np
import pytest

import warp as wp
from warp import device_reductions

TYPES = {"float32": wp.float32, "vec3d": wp.vec3d, "mat22": wp.mat22, "quat": wp.quat, "transform": wp.transform}
SHAPES = [
    ((1,), 0),
    ((1000,), 0),
    ((100_003,), 0),
    ((3, 5000, 2), 1),
    ((5, 4, 3), 0),
    ((5, 4, 3), 2),
    ((2, 3, 4, 5), 1),
]


def random(shape, dtype, seed):
    """An array and its numbers in float64, the components flat behind the array's dimensions."""
    made = wp.zeros(shape, dtype=dtype)
    layout = made.numpy()
    numbers = np.random.default_rng(seed).standard_normal(layout.shape).astype(layout.dtype)
    return wp.array(numbers, dtype=dtype), numbers.astype(np.float64).reshape(*shape, -1)


@pytest.mark.parametrize("shape, axis", SHAPES, ids=str)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_along_an_axis(shape, axis, name, share):
    dtype = TYPES[name]
    count = int(np.ceil(shape[axis] * share))
    out_shape = tuple(1 if i == axis else n for i, n in enumerate(shape))
    (a, x), (b, y) = (random(shape, dtype, seed) for seed in range(2))
    x, y = (np.take(v, np.arange(count), axis) for v in (x, y))
    sums = wp.zeros(out_shape, dtype=dtype)
    device_reductions.sum_along(a, sums, axis, count)
    found = sums.numpy().reshape(*out_shape, -1)
    np.testing.assert_allclose(found, x.sum(axis, keepdims=True), rtol=1e-4, atol=1e-3)
    products = wp.zeros(out_shape, dtype=wp.types.scalar_of(dtype))
    device_reductions.inner_along(a, b, products, axis, count)
    np.testing.assert_allclose(products.numpy(), (x * y).sum(-1).sum(axis, keepdims=True), rtol=1e-4, atol=1e-3)


def test_nothing_to_add():
    out = wp.full(1, 7.0, dtype=float)
    device_reductions.sum_along(wp.ones(5, dtype=float), out, 0, 0)
    assert out.list() == [0.0]
    device_reductions.sum_along(wp.zeros((0, 4), dtype=float), wp.zeros((0, 1), dtype=float), 1, 4)


def test_results_that_are_not_dense():
    a = wp.array(np.arange(12.0).reshape(4, 3), dtype=wp.float64)
    wide = wp.zeros((4, 2), dtype=wp.float64)
    device_reductions.sum_along(a, wide[:, 1:], 1, 3)
    assert wide.numpy().tolist() == [[0, 3], [0, 12], [0, 21], [0, 30]]
    device_reductions.sum_along(a.transpose(), wide[:, :1].transpose(), 0, 3)
    assert wide.numpy()[:, 0].tolist() == [3, 12, 21, 30]


@pytest.mark.parametrize("n", [1, 2, 100, 5000])
def test_runs(n):
    values = np.sort(np.random.default_rng(n).integers(-4, 5, n)).astype(np.int32)
    values[n // 2 :] = values[n // 2 :][::-1]
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    run_values, lengths, number = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int), wp.zeros(1, dtype=int)
    device_reductions.encode_runs(wp.array(values), n, run_values, lengths, number)
    assert number.list() == [len(starts)]
    np.testing.assert_array_equal(run_values.numpy()[: len(starts)], values[starts])
    np.testing.assert_array_equal(lengths.numpy()[: len(starts)], np.diff(starts, append=n))
