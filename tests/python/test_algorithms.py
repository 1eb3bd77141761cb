"""Scans, sorts, run lengths, reductions and casts of `wp.utils` against NumPy."""

import itertools

import numpy as np
import pytest

import warp as wp
from warp import utils

RNG = np.random.default_rng(3)
ids = {"ids": lambda v: getattr(v, "__name__", str(v))}


def random_of(dtype, n):
    name = np.dtype(wp.dtype_to_numpy(dtype)).name
    if "float" in name:
        return RNG.standard_normal(n).astype(name)
    info = np.iinfo(name)
    return RNG.integers(info.min, info.max, n, dtype=name, endpoint=True)


@pytest.mark.parametrize("dtype", [wp.int32, wp.int64, wp.float32, wp.float64], **ids)
@pytest.mark.parametrize("n", [0, 1, 2, 1000, 100_001, 1_200_003])
def test_scans(dtype, n):
    data = RNG.integers(-9, 9, n).astype(wp.dtype_to_numpy(dtype))
    a, out = wp.array(data, dtype=dtype), wp.full(n, 7, dtype=dtype)
    utils.array_scan(a, out)
    assert np.array_equal(out.numpy(), np.cumsum(data, dtype=data.dtype))
    utils.array_scan(a, out, inclusive=False)
    assert np.array_equal(out.numpy(), (np.cumsum(data) - data).astype(data.dtype))
    utils.array_scan(a, a)  # in place
    assert np.array_equal(a.numpy(), np.cumsum(data, dtype=data.dtype))


@pytest.fixture
def threads():
    yield lambda count: setattr(wp.config, "cpu_threads", count)
    wp.config.cpu_threads = 0


@pytest.mark.host("its threads, which add in float64")
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64], **ids)
@pytest.mark.parametrize("n", [100_001, 5_000_003])  # of which the second lies in no cache
@pytest.mark.parametrize("view", [np.s_[:], np.s_[1:], np.s_[::3]], ids=str)
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans_of_floats_round_once_whatever_the_threads(threads, dtype, n, view, inclusive):
    data = random_of(dtype, n)
    whole = wp.zeros(n, dtype=dtype)
    found = []
    for count in (1, 2, 3, 7):
        threads(count)
        whole.fill_(7.0)
        utils.array_scan(wp.array(data)[view], whole[view], inclusive)
        found.append(whole.numpy().copy())
    for other in found[1:]:
        assert np.array_equal(other, found[0])
    x = data[view].astype(np.longdouble)
    sums = np.cumsum(x) - (0 if inclusive else x)
    # The additions are off by at most so much of what has been added up.
    off = np.abs(found[0][view] - sums) - 1e-13 * np.cumsum(np.abs(x))
    assert (off <= 0.5 * np.spacing(np.abs(sums).astype(data.dtype))).all()
    left = np.ones(n, dtype=bool)
    left[view] = False
    assert (found[0][left] == 7.0).all()


@pytest.mark.parametrize("shift", [1, -1, 40_000])
def test_scans_into_memory_that_overlaps(shift):
    n = 200_000
    data = RNG.integers(-9, 9, n + abs(shift)).astype(np.int32)
    a = wp.array(data)
    source, target = (np.s_[:n], np.s_[shift:]) if shift > 0 else (np.s_[-shift:], np.s_[:n])
    utils.array_scan(a[source], a[target])
    assert np.array_equal(a.numpy()[target], np.cumsum(data[source], dtype=np.int32))


def test_scans_of_vectors():
    data = RNG.integers(-9, 9, (500, 3)).astype(np.float32)
    out = wp.zeros(500, dtype=wp.vec3)
    utils.array_scan(wp.array(data, dtype=wp.vec3), out)
    assert np.array_equal(out.numpy(), np.cumsum(data, axis=0))


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint32, wp.float32, wp.int64, wp.uint64, wp.float64], **ids)
@pytest.mark.parametrize("n", [1, 2, 64, 77, 30_000, 300_001])
def test_sorts(dtype, n):
    data = random_of(dtype, n)
    data[: n // 3] = data[n // 3 : 2 * (n // 3)]  # equal keys keep their order
    keys, values = wp.zeros(2 * n, dtype=dtype), wp.zeros(2 * n, dtype=int)
    keys[:n].assign(data)
    values[:n].assign(np.arange(n, dtype=np.int32))
    utils.radix_sort_pairs(keys, values, n)
    order = np.argsort(data, kind="stable")
    assert np.array_equal(keys.numpy()[:n], data[order])
    assert np.array_equal(values.numpy()[:n], order)


@pytest.mark.host("its threads; GPUs work in the second half")
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("digits", [(0,), (1,), (0, 3), (0, 2, 3), ()], ids=str)
def test_sorts_of_keys_that_share_digits(threads, count, digits):
    threads(count)
    n = 150_001
    data = np.full(n, 0x01020304, dtype=np.int32)
    for digit in digits:
        data ^= RNG.integers(0, 256, n).astype(np.int32) << (8 * digit)
    keys, values = wp.zeros(2 * n, dtype=int), wp.zeros(2 * n, dtype=wp.int64)
    keys[:n].assign(data)
    values[:n].assign(np.arange(n))
    utils.radix_sort_pairs(keys, values, n)
    order = np.argsort(data, kind="stable")
    assert np.array_equal(keys.numpy()[:n], data[order])
    assert np.array_equal(values.numpy()[:n], order)
    assert not keys.numpy()[n:].any()


def test_sorts_by_some_bits():
    data = RNG.integers(0, 2**16, 500).astype(np.int32)
    keys, values = wp.array(np.tile(data, 2)), wp.array(np.arange(1000, dtype=np.int32))
    utils.radix_sort_pairs(keys, values, 500, begin_bit=4, end_bit=9)
    assert np.array_equal(values.numpy()[:500], np.argsort((data >> 4) & 31, kind="stable"))


@pytest.mark.parametrize("explicit_ends", [False, True])
def test_segments(explicit_ends):
    data = RNG.integers(-50, 50, 100).astype(np.int32)
    bounds = np.array([0, 10, 10, 57, 100], dtype=np.int32)
    keys, values = wp.array(np.tile(data, 2)), wp.array(np.arange(200, dtype=np.int32))
    segments = [wp.array(bounds[:-1].copy()), wp.array(bounds[1:].copy())] if explicit_ends else [wp.array(bounds)]
    utils.segmented_sort_pairs(keys, values, 100, *segments)
    order = np.concatenate([a + np.argsort(data[a:b], kind="stable") for a, b in itertools.pairwise(bounds)])
    assert np.array_equal(keys.numpy()[:100], data[order])
    assert np.array_equal(values.numpy()[:100], order)


def test_many_segments():
    n = 200_000
    data = RNG.standard_normal(n).astype(np.float32)
    bounds = np.unique(np.concatenate([[0, 3, 70_000, n], RNG.integers(0, n, 900)])).astype(np.int32)
    keys, values = wp.array(np.tile(data, 2)), wp.array(np.arange(2 * n, dtype=np.int32))
    # In any order.
    order = RNG.permutation(len(bounds) - 1)
    utils.segmented_sort_pairs(keys, values, n, wp.array(bounds[:-1][order]), wp.array(bounds[1:][order]))
    order = np.concatenate([a + np.argsort(data[a:b], kind="stable") for a, b in itertools.pairwise(bounds)])
    assert np.array_equal(keys.numpy()[:n], data[order])
    assert np.array_equal(values.numpy()[:n], order)


@pytest.mark.host("on GPUs all segments are sorted together")
def test_segments_that_overlap_are_sorted_one_after_the_other():
    data = RNG.integers(-50, 50, 1000).astype(np.int32)
    ranges = [(100, 900), (0, 500), (400, 1000)]
    keys, values = wp.array(np.tile(data, 2)), wp.array(np.arange(2000, dtype=np.int32))
    starts, ends = (wp.array(np.array(bounds, dtype=np.int32)) for bounds in zip(*ranges, strict=True))
    utils.segmented_sort_pairs(keys, values, 1000, starts, ends)
    for a, b in ranges:
        data[a:b] = np.sort(data[a:b])
    assert np.array_equal(keys.numpy()[:1000], data)


@pytest.mark.host("a replay on a GPU reads no bounds on the host")
def test_captured_segments_are_those_of_the_replay():
    data = np.array([4, 3, 2, 1], dtype=np.int32)
    keys, values = wp.array(np.tile(data, 2)), wp.zeros(8, dtype=int)
    bounds = wp.array(np.array([0, 4], dtype=np.int32))
    with wp.ScopedCapture() as capture:
        utils.segmented_sort_pairs(keys, values, 4, bounds)
    bounds.assign(np.array([0, 2], dtype=np.int32))
    wp.capture_launch(capture.graph)
    assert keys.list()[:4] == [3, 4, 2, 1]
    bounds.assign(np.array([0, 5], dtype=np.int32))
    with pytest.raises(ValueError, match="index 0: "):
        wp.capture_launch(capture.graph)


@pytest.mark.parametrize("data", [[], [5], [1, 1, 1], [1, 2, 2, 1, 3, 3, 3]], ids=str)
def test_run_lengths(data):
    n = len(data)
    values, lengths = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)
    found = utils.runlength_encode(wp.array(data, dtype=int), values, lengths)
    starts = [i for i in range(n) if i == 0 or data[i] != data[i - 1]]
    assert found == len(starts)
    assert values.list()[:found] == [data[i] for i in starts]
    assert lengths.list()[:found] == np.diff([*starts, n]).tolist()


@pytest.mark.host("its threads")
def test_many_run_lengths(threads):
    n = 300_000
    # Short runs, and one that is longer than what a thread takes.
    data = np.repeat(RNG.integers(0, 3, n).astype(np.int32), RNG.integers(1, 4, n))[:n]
    data[50_000:190_000] = 7
    starts = np.flatnonzero(np.concatenate([[True], data[1:] != data[:-1]]))
    for count in (1, 2, 5):
        threads(count)
        values, lengths = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)
        found = utils.runlength_encode(wp.array(data), values, lengths)
        assert found == len(starts)
        assert np.array_equal(values.numpy()[:found], data[starts])
        assert np.array_equal(lengths.numpy()[:found], np.diff([*starts, n]))
        assert not lengths.numpy()[found:].any()


@pytest.mark.parametrize("along", ["sums", "products"])
def test_reductions_into_memory_that_is_read(along):
    data = RNG.integers(-9, 9, (3000, 4, 3)).astype(np.float32)
    flat = wp.array(data.reshape(-1, 3), dtype=wp.vec3)
    a = flat.reshape((3000, 4))
    if along == "sums":
        out = flat[9000:].reshape((3000, 1))
        utils.array_sum(a, out=out, axis=1)
        wanted = data.sum(axis=1, keepdims=True)
    else:
        out = flat.view(float).flatten()[-3000:].reshape((3000, 1))
        utils.array_inner(a, a, out=out, axis=1)
        wanted = (data**2).sum(axis=(1, 2)).reshape(3000, 1)
    assert np.array_equal(out.numpy(), wanted)


def test_run_lengths_into_memory_that_is_read():
    n = 100_000
    data = np.repeat(RNG.integers(0, 3, n).astype(np.int32), RNG.integers(1, 4, n))[:n]
    starts = np.flatnonzero(np.concatenate([[True], data[1:] != data[:-1]]))
    values, lengths = wp.array(data), wp.zeros(n, dtype=int)
    found = utils.runlength_encode(values, values, lengths)
    assert found == len(starts)
    assert np.array_equal(values.numpy()[:found], data[starts])
    assert np.array_equal(lengths.numpy()[:found], np.diff([*starts, n]))


@pytest.mark.host("its threads, which add in float64")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("view", [np.s_[:], np.s_[1::3]], ids=str)
def test_long_sums_do_not_depend_on_threads(threads, dtype, view):
    x, y = (RNG.standard_normal(1_000_003).astype(dtype) for _ in range(2))
    a, b = wp.array(x)[view], wp.array(y)[view]
    sums, products = [], []
    for count in (1, 2, 5):
        threads(count)
        sums.append(utils.array_sum(a))
        products.append(utils.array_inner(a, b))
    assert len(set(sums)) == len(set(products)) == 1
    exact, exact_product = (v[view].astype(np.longdouble) for v in (x, y))
    # Rounded to float32 at the end; what the additions in float64 lose is far below that.
    for found, wanted, size in (
        (sums[0], exact.sum(), np.abs(exact).sum()),
        (products[0], exact @ exact_product, np.abs(exact * exact_product).sum()),
    ):
        assert abs(found - wanted) <= np.finfo(dtype).eps * abs(wanted) + 1e-13 * size


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.vec3, wp.mat22d], **ids)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_sums_and_products(dtype, axis):
    part = wp.types.part_shape(dtype)
    scalar = wp.dtype_to_numpy(wp.types.scalar_of(dtype))
    x, y = (RNG.random((5, 7, *part)).astype(scalar) for _ in range(2))
    a, b = wp.array(x, dtype=dtype), wp.array(y, dtype=dtype)
    where = (0, 1) if axis is None else axis % 2
    tolerance = {"rtol": 1e-5 if scalar == np.float32 else 1e-12}
    total = utils.array_sum(a, axis=axis)
    total = total.numpy() if isinstance(total, wp.array) else total
    expected = x.sum(axis=where, dtype=np.float64)
    np.testing.assert_allclose(np.squeeze(total), np.squeeze(expected), **tolerance)
    product = utils.array_inner(a, b, axis=axis)
    product = product.numpy() if isinstance(product, wp.array) else product
    inner = (x.astype(np.float64) * y).sum(axis=tuple(range(2, x.ndim))).sum(axis=where)
    np.testing.assert_allclose(np.squeeze(product), np.squeeze(inner), **tolerance)


def test_sums_of_views_and_parts():
    x = RNG.random((6, 8))
    assert np.isclose(utils.array_sum(wp.array(x)[::2, 1:5]), x[::2, 1:5].sum())
    assert np.isclose(utils.array_sum(wp.array(x).transpose()), x.sum())
    assert np.isclose(utils.array_sum(wp.array(x[0].copy()), value_count=3), x[0, :3].sum())


@pytest.mark.parametrize("source", [wp.int32, wp.float64, wp.uint8], **ids)
@pytest.mark.parametrize("target", [wp.float32, wp.int64, wp.uint8], **ids)
def test_casts(source, target):
    data = RNG.integers(0, 100, (4, 3)).astype(wp.dtype_to_numpy(source))
    out = wp.zeros((4, 3), dtype=target)
    utils.array_cast(wp.array(data, dtype=source), out)
    assert np.array_equal(out.numpy(), data.astype(wp.dtype_to_numpy(target)))
    vectors = wp.zeros(4, dtype=wp.types.vector(3, target))
    utils.array_cast(wp.array(data.flatten(), dtype=source), vectors)
    assert np.array_equal(vectors.numpy(), out.numpy())


def test_captures_record_them():
    n = 50
    data = RNG.integers(0, 9, n).astype(np.int32)
    source = wp.zeros(n, dtype=int)
    scanned, wide = wp.zeros(n, dtype=int), wp.zeros(n, dtype=wp.float64)
    keys, values = wp.zeros(2 * n, dtype=int), wp.array(np.arange(2 * n, dtype=np.int32))
    runs, lengths, count = (wp.zeros(size, dtype=int) for size in (n, n, 1))
    total = wp.zeros(1, dtype=wp.float64)
    with wp.ScopedCapture() as capture:
        utils.array_scan(source, scanned)
        utils.array_cast(source, wide)
        wp.copy(keys, source)
        utils.radix_sort_pairs(keys, values, n)
        utils.runlength_encode(source, runs, lengths, count)
        utils.array_sum(wide, out=total)
    assert not (scanned.numpy().any() or wide.numpy().any() or count.numpy().any())
    source.assign(data)
    wp.capture_launch(capture.graph)
    assert np.array_equal(scanned.numpy(), np.cumsum(data))
    assert np.array_equal(wide.numpy(), data)
    assert np.array_equal(keys.numpy()[:n], np.sort(data))
    assert count.list() == [1 + int((data[1:] != data[:-1]).sum())]
    assert total.list() == [data.sum()]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda f, i: utils.array_scan(f, wp.zeros(3)), "sizes do not match"),
        (lambda f, i: utils.array_scan(f, i), "types do not match"),
        (lambda f, i: utils.array_scan(wp.zeros(4, dtype=wp.uint8), wp.zeros(4, dtype=wp.uint8)), "Unsupported"),
        (lambda f, i: utils.radix_sort_pairs(i, i, 3), r"2\*count"),
        (lambda f, i: utils.radix_sort_pairs(i, i, 2, 5, 4), "bit range"),
        (lambda f, i: utils.radix_sort_pairs(i[::2], i, 1), "contiguous keys"),
        (lambda f, i: utils.runlength_encode(f, f, i), "Unsupported"),
        (lambda f, i: utils.array_sum(i), "Unsupported"),
        (lambda f, i: utils.array_sum(f, value_count=9), "9 elements of 4"),
        (lambda f, i: utils.array_cast(i, wp.zeros(3)), "exceeds"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(wp.zeros(4), wp.zeros(4, dtype=int))
