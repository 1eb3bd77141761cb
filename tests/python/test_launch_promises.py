"""What launches promise to code for GPUs (no gaps, small extents, nothing written that another array reads) changes no
result: the same kernels with arrays that keep the promise and with arrays that do not, on every device."""

import numpy as np
import pytest

import warp as wp


@wp.kernel
def write_then_read(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    before = a[i]
    b[i] = before + 1.0
    out[i] = a[i] + before


@wp.kernel
def add_in_turns(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for _k in range(3):
        b[i] = b[i] + 1.0
        total += a[i]
    out[i] = total


def filled(n, value=2.0):
    return wp.full(n, value, dtype=float)


def test_what_is_read_after_a_write_to_another_array():
    n = 100
    for kernel, apart, same in ((write_then_read, 4.0, 5.0), (add_in_turns, 6.0, 12.0)):
        a, b, out = filled(n), filled(n), filled(n)
        wp.launch(kernel, n, [a, b, out])
        np.testing.assert_array_equal(out.numpy(), apart)
        # One array twice: the write is seen.
        a = filled(n)
        wp.launch(kernel, n, [a, a, out])
        np.testing.assert_array_equal(out.numpy(), same)


def test_arrays_that_overlap_in_part():
    whole = wp.array(np.arange(40, dtype=np.float32))
    # From the 16th on, which keeps addresses multiples of 16 bytes: b[i] is a[i + 16].
    a, b, out = whole[:16], whole[16:32], filled(16, 0.0)
    wp.launch(write_then_read, 16, [a, b, out])
    np.testing.assert_array_equal(out.numpy(), 2.0 * np.arange(16))
    np.testing.assert_array_equal(whole.numpy()[16:32], np.arange(16) + 1.0)
    wp.launch(write_then_read, 16, [b, b, out])
    np.testing.assert_array_equal(out.numpy(), 2.0 * np.arange(16) + 3.0)


@wp.kernel
def around(x: wp.array3d(dtype=float), y: wp.array3d(dtype=float), a: int, b: int):
    i, j, k = wp.tid()
    n = x.shape[0]
    m = x.shape[1]
    p = (i - 1 + n) % n
    q = (j + 1 + m) % m
    y[i, j, k] = x[p, q, k] - x[a, b, -1 - k]


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 4, 2), (5, 3, 7), (16, 33, 20)])
@pytest.mark.parametrize("gaps", [False, True])
def test_places_in_arrays_of_several_dimensions(shape, gaps):
    x = np.random.default_rng(3).random(shape).astype(np.float32)
    wide = (*shape[:2], 2 * shape[2])
    given, out = wp.array(x), wp.zeros(shape, dtype=float)
    if gaps:
        given, out = (wp.zeros(wide, dtype=float)[:, :, ::2] for _ in range(2))
        wp.copy(given, wp.array(x))
    for a, b in ((0, -1), (-1, 0), (-shape[0], shape[1] - 1)):
        wp.launch(around, shape, [given, out, a, b])
        wanted = np.roll(np.roll(x, 1, 0), -1, 1) - x[a, b, ::-1]
        np.testing.assert_array_equal(out.numpy(), wanted)


@wp.kernel
def remainders(n: int, shift: int, out: wp.array2d(dtype=int), picked: wp.array2d(dtype=int)):
    i, j = wp.tid()
    r = (i - shift + out.shape[0]) % out.shape[0]
    out[i, j] = r
    picked[r, j] = i


def test_remainders_that_are_negative():
    n = 7
    for shift in (0, 1, 5, 7, 9, 20):
        out, picked = wp.zeros((n, 2), dtype=int), wp.full((n, 2), -1, dtype=int)
        wp.launch(remainders, (n, 2), [n, shift, out, picked])
        i = np.arange(n)
        wanted = np.fmod(i - shift + n, n)  # the sign of what is divided
        np.testing.assert_array_equal(out.numpy(), np.stack([wanted] * 2, 1))
        places = np.where(wanted < 0, wanted + n, wanted)
        np.testing.assert_array_equal(picked.numpy()[places, 1], i)


@wp.kernel
def of_rows(x: wp.array2d(dtype=wp.vec3), out: wp.array(dtype=float), hits: wp.array2d(dtype=float)):
    i = wp.tid()
    row = x[i]
    total = float(0.0)
    for j in range(row.shape[0]):
        total += row[j][1]
        wp.atomic_add(hits, j, i % 2, row[j][0])
    out[i] = total


def test_rows_and_sums_into_two_dimensions():
    x = np.random.default_rng(4).integers(0, 16, (300, 5, 3)).astype(np.float32)
    out, hits = wp.zeros(300, dtype=float), wp.zeros((5, 2), dtype=float)
    wp.launch(of_rows, 300, [wp.array(x, dtype=wp.vec3), out, hits])
    np.testing.assert_array_equal(out.numpy(), x[:, :, 1].sum(1))
    np.testing.assert_array_equal(hits.numpy(), np.stack([x[0::2, :, 0].sum(0), x[1::2, :, 0].sum(0)], 1))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 9])
def test_sums_of_vectors_at_any_place(size):
    vector = wp.types.vector(size, float)

    @wp.struct
    class Pair:
        head: float
        tail: vector

    @wp.kernel(module="unique")
    def scatter(
        at: wp.array(dtype=int), x: wp.array(dtype=vector), out: wp.array(dtype=vector), pairs: wp.array(dtype=Pair)
    ):
        i = wp.tid()
        wp.atomic_add(out, at[i], x[i])
        pairs[at[i]].tail += x[i]

    rng = np.random.default_rng(size)
    n, places = 4000, 33
    x = rng.integers(-8, 9, (n, size)).astype(np.float32)
    at = rng.integers(0, places, n).astype(np.int32)
    wanted = np.zeros((places, size), dtype=np.float32)
    np.add.at(wanted, at, x)
    out, pairs = wp.zeros(places, dtype=vector), wp.zeros(places, dtype=Pair)
    wp.launch(scatter, n, [wp.array(at), wp.array(x, dtype=vector), out, pairs])
    np.testing.assert_array_equal(out.numpy(), wanted)
    np.testing.assert_array_equal(pairs.numpy()["tail"], wanted)
    assert not pairs.numpy()["head"].any()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 255, 257, 16384, 33001])
def test_every_item_of_a_small_launch_runs_once(n):
    """Few items are spread over more blocks than was asked."""

    @wp.kernel
    def count(hits: wp.array(dtype=int), seen: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(hits, i, 1)
        seen[i] = hits[i] * 10 + i % 10

    hits, seen = wp.zeros(n, dtype=int), wp.zeros(n, dtype=int)
    wp.launch(count, n, [hits, seen])
    np.testing.assert_array_equal(hits.numpy(), 1)
    np.testing.assert_array_equal(seen.numpy(), 10 + np.arange(n) % 10)
