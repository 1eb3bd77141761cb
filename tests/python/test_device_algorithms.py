"""Prefix sums and sorts by kernels, against NumPy; on the default device, whichever it is."""

import numpy as np
import pytest

import warp as wp
from warp import device_algorithms, device_reductions


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000, 70000])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("dtype", [wp.int32, wp.int64, wp.float64])
def test_prefix_sums(n, inclusive, dtype):
    x = np.random.default_rng(n).integers(-50, 50, n)
    source = wp.array(x, dtype=dtype)
    out = wp.zeros_like(source)
    device_algorithms.scan(source, out, inclusive)
    sums = np.cumsum(x)
    np.testing.assert_array_equal(out.numpy(), sums if inclusive else sums - x)
    device_algorithms.scan(source, source, inclusive)
    np.testing.assert_array_equal(source.numpy(), out.numpy())


@pytest.mark.parametrize("shift", [1, -1, 300])
def test_what_is_written_lies_where_is_read(shift):
    x = np.random.default_rng(5).integers(-50, 50, 1000 + abs(shift)).astype(np.int32)
    source, target = (np.s_[:1000], np.s_[shift:]) if shift > 0 else (np.s_[-shift:], np.s_[:1000])
    a = wp.array(x)
    device_algorithms.scan(a[source], a[target], True)
    np.testing.assert_array_equal(a.numpy()[target], np.cumsum(x[source]))

    runs = np.repeat(x, 3)[: len(x)]
    values, lengths, count = wp.array(runs), wp.zeros(1000, dtype=int), wp.zeros(1, dtype=int)
    device_reductions.encode_runs(values[source], 1000, values[target], lengths, count)
    starts = np.flatnonzero(np.diff(runs[source], prepend=runs[source][0] - 1))
    found = count.numpy()[0]
    assert found == len(starts)
    np.testing.assert_array_equal(values[target].numpy()[:found], runs[source][starts])
    np.testing.assert_array_equal(lengths.numpy()[:found], np.diff([*starts, 1000]))

    flat = wp.array(np.arange(4000), dtype=float)
    out = flat[3000:].reshape((1000, 1))
    device_reductions.sum_along(flat.reshape((1000, 4)), out, 1, 4)
    np.testing.assert_array_equal(out.numpy()[:, 0], np.arange(4000).reshape(1000, 4).sum(axis=1))


KEYS = {
    wp.int32: lambda rng, n: rng.integers(-(1 << 31), 1 << 31, n).astype(np.int32),
    wp.uint32: lambda rng, n: rng.integers(0, 1 << 32, n).astype(np.uint32),
    wp.int64: lambda rng, n: rng.integers(-(1 << 62), 1 << 62, n),
    wp.uint64: lambda rng, n: rng.integers(0, 1 << 63, n).astype(np.uint64) * np.uint64(2),
    wp.float32: lambda rng, n: rng.normal(0, 1e3, n).astype(np.float32),
    wp.float64: lambda rng, n: rng.normal(0, 1e-3, n),
}


def pairs(keys, dtype):
    """Keys and their positions, each with room for twice as many."""
    both = np.concatenate([keys, np.zeros_like(keys)])
    return wp.array(both, dtype=dtype), wp.array(np.arange(2 * len(keys)), dtype=wp.int32)


@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("n", [1, 31, 33, 5000])
def test_sorts_are_stable(dtype, n):
    rng = np.random.default_rng(n)
    made = KEYS[dtype](rng, n)
    made = made[rng.integers(0, max(1, n // 3), n)]  # equal keys too
    keys, values = pairs(made, dtype)
    device_algorithms.sort_pairs(keys, values, n, 0, 8 * made.itemsize)
    order = np.argsort(made, kind="stable")
    np.testing.assert_array_equal(keys.numpy()[:n], made[order])
    np.testing.assert_array_equal(values.numpy()[:n], order)


@pytest.mark.parametrize("bits", [(0, 4), (3, 10), (8, 9), (5, 5)])
def test_some_bits_decide(bits):
    begin, end = bits
    made = np.random.default_rng(7).integers(0, 1 << 20, 999).astype(np.uint32)
    keys, values = pairs(made, wp.uint32)
    device_algorithms.sort_pairs(keys, values, 999, begin, end)
    order = np.argsort((made >> begin) & ((1 << (end - begin)) - 1), kind="stable")
    np.testing.assert_array_equal(values.numpy()[:999], order)


def test_segments_are_sorted_by_themselves():
    made = np.random.default_rng(3).integers(0, 20, 500).astype(np.int32)
    keys, values = pairs(made, wp.int32)
    ranges = [(0, 100), (100, 101), (120, 120), (130, 400), (-3, 4), (490, 501)]  # the last two are none
    starts, ends = (wp.array(np.array(x), dtype=wp.int32) for x in zip(*ranges, strict=True))
    device_algorithms.sort_segments(keys, values, 500, starts, ends)
    wanted = np.arange(500)
    for begin, end in ranges[:4]:
        wanted[begin:end] = begin + np.argsort(made[begin:end], kind="stable")
    np.testing.assert_array_equal(values.numpy()[:500], wanted)
    np.testing.assert_array_equal(keys.numpy()[:500], made[wanted])


@pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")
def test_they_can_be_captured():
    made = np.random.default_rng(5).integers(0, 1 << 40, 2500)
    keys, values = pairs(made, wp.int64)
    with wp.ScopedCapture() as capture:
        wp.utils.radix_sort_pairs(keys, values, 2500)
        wp.utils.array_scan(values, values)
    for _ in range(2):
        keys.assign(np.concatenate([made, np.zeros_like(made)]))
        values.assign(np.arange(5000))
        wp.capture_launch(capture.graph)
        order = np.argsort(made, kind="stable")
        np.testing.assert_array_equal(keys.numpy()[:2500], made[order])
        np.testing.assert_array_equal(values.numpy()[:2500], np.cumsum(order))
