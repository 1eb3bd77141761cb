"""Adjoints of stencils, which gather instead of scattering: against the transposed operator, worked out in NumPy."""

import numpy as np
import pytest

import warp as wp

F = wp.float64


def array(values, dtype=F):
    return wp.array(values, dtype=dtype, requires_grad=True)


def gathers(kernel):
    return kernel._dump("ir", [], True, gathered=True) != ""


def gradients(kernel, dim, arguments, output, seed):
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim, arguments)
    tape.backward(grads={output: seed})
    return [a.grad.numpy() for a in arguments if isinstance(a, wp.array) and a.grad is not None]


@wp.kernel
def line(u: wp.array(dtype=F), w: wp.array(dtype=F), out: wp.array(dtype=F)):
    """Not guarded: the item 0 reads u[-1], the last element."""
    i = wp.tid()
    out[i] = w[0] * u[i - 1] * u[i] + u[i + 2] * u[i + 2]


def line_gradient(u, w, seed, items):
    gu, gw = np.zeros_like(u), 0.0
    for i in range(items):
        gu[i - 1] += seed[i] * w * u[i]
        gu[i] += seed[i] * w * u[i - 1]
        gu[i + 2] += seed[i] * 2.0 * u[i + 2]
        gw += seed[i] * u[i - 1] * u[i]
    return gu, gw


@pytest.mark.parametrize("items", [1, 2, 3, 17, 100])
def test_borders_wrap_and_reach_beyond_the_launch(items):
    r = np.random.default_rng(items)
    u, seed = r.uniform(-1.0, 1.0, items + 2), r.uniform(-1.0, 1.0, items)
    out = array(np.zeros(items))
    gu, gw, gout = gradients(line, items, [array(u), array([1.5]), out], out, seed)
    want_u, want_w = line_gradient(u, 1.5, seed, items)
    np.testing.assert_allclose(gu, want_u, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(gw, [want_w], rtol=1e-12, atol=1e-15)
    assert not gout.any() and gathers(line)


@wp.struct
class Cell:
    v: wp.vec2d
    h: F


@wp.kernel
def cells(u: wp.array2d(dtype=Cell), out: wp.array2d(dtype=Cell), k: F):
    i, j = wp.tid()
    n, m = u.shape[0], u.shape[1]
    if i < 1 or j < 2 or i >= n - 1 or j >= m - 2:
        return
    flow = k * (u[i + 1, j].v[0] - u[i - 1, j].v[0])
    for s in range(2):
        flow += u[i, j - 2].v[s] * u[i, j + 1].h
    out[i, j].h = u[i, j].h * flow
    if flow > F(0.1):
        out[i, j].v = u[i + 1, j - 1].v * flow


def run_cells(u, k):
    """u: an array (n, m, 3)."""
    n, m, _ = u.shape
    out = np.zeros_like(u)
    for i in range(1, n - 1):
        for j in range(2, m - 2):
            flow = k * (u[i + 1, j, 0] - u[i - 1, j, 0])
            flow += (u[i, j - 2, 0] + u[i, j - 2, 1]) * u[i, j + 1, 2]
            out[i, j, 2] = u[i, j, 2] * flow
            if flow > 0.1:
                out[i, j, :2] = u[i + 1, j - 1, :2] * flow
    return out


def test_structs_branches_and_loops():
    r = np.random.default_rng(4)
    u, seed = r.uniform(-1.0, 1.0, (7, 8, 3)), r.uniform(-1.0, 1.0, (7, 8, 3))
    want = np.zeros_like(u)
    for place in np.ndindex(u.shape):
        moved = [u.copy(), u.copy()]
        moved[0][place] += 1e-6
        moved[1][place] -= 1e-6
        want[place] = np.sum(seed * (run_cells(moved[0], 0.7) - run_cells(moved[1], 0.7))) / 2e-6
    layout = np.dtype(Cell.numpy_dtype())

    def packed(values):
        made = np.zeros((7, 8), dtype=layout)
        made["v"], made["h"] = values[..., :2], values[..., 2]
        return wp.array(made, dtype=Cell, requires_grad=True)

    given, out = packed(u), packed(np.zeros_like(u))
    found = gradients(cells, (7, 8), [given, out, 0.7], out, packed(seed))[0]
    got = np.concatenate([found["v"], found["h"][..., None]], axis=-1)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)
    assert gathers(cells)


@wp.kernel
def cube(u: wp.array3d(dtype=float), out: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    if i > 0 and j > 0 and k > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1 and k < u.shape[2] - 1:
        out[i, j, k] = (
            u[i - 1, j, k] + 2.0 * u[i + 1, j, k] + 3.0 * u[i, j - 1, k] + 4.0 * u[i, j + 1, k] - u[i, j, k - 1]
        ) - 0.5 * u[i, j, k + 1]


@pytest.mark.parametrize("threads_of", [(3, 3, 3), (9, 20, 35)])
@pytest.mark.parametrize("transposed", [False, True])
def test_three_dimensions_and_strides(threads_of, transposed):
    r = np.random.default_rng(1)
    u, seed = (r.uniform(-1.0, 1.0, threads_of).astype(np.float32) for _ in range(2))
    want = np.zeros_like(u)
    inner = seed[1:-1, 1:-1, 1:-1]
    shifts = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
    for shift, factor in zip(shifts, [1, 2, 3, 4, -1, -0.5], strict=True):
        place = tuple(slice(1 + s, n - 1 + s) for s, n in zip(shift, u.shape, strict=True))
        want[place] += factor * inner
    given = array(np.ascontiguousarray(u.T), float).transpose() if transposed else array(u, float)
    out = array(np.zeros_like(u), float)
    for times in (1, 2):  # gradients add up
        found = gradients(cube, threads_of, [given, out], out, seed)[0]
        np.testing.assert_allclose(found, times * want, rtol=1e-4, atol=1e-5)
    assert gathers(cube)


def test_where_it_would_be_wrong_it_scatters():
    @wp.kernel
    def in_place(u: wp.array(dtype=F)):
        i = wp.tid()
        if i < 3:
            u[i] += u[i + 3] * u[i + 3]

    @wp.kernel
    def twice(u: wp.array(dtype=F), out: wp.array(dtype=F)):
        i = wp.tid()
        out[i] = u[i] * F(3.0)
        out[i] = u[i + 1] * F(2.0)

    u = array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    tape = wp.Tape()
    with tape:
        wp.launch(in_place, 6, [u])
    u.grad.fill_(1.0)
    tape.backward()
    assert u.grad.numpy().tolist() == [1.0, 1.0, 1.0, 9.0, 11.0, 13.0] and not gathers(in_place)

    u, out = array([1.0, 2.0, 3.0]), array([0.0, 0.0])
    assert gradients(twice, 2, [u, out], out, np.ones(2))[0].tolist() == [0.0, 2.0, 2.0] and not gathers(twice)


def test_arrays_that_overlap_are_not_gathered():
    """The same kernel on views of one buffer, whose gradients overlap."""

    @wp.kernel
    def difference(u: wp.array(dtype=F), out: wp.array(dtype=F)):
        i = wp.tid()
        out[i] = u[i + 1] - u[i] * F(0.5)

    buffer = array(np.arange(8.0))
    tape = wp.Tape()
    with tape:
        wp.launch(difference, 3, [buffer[0:4], buffer[4:7]])
        wp.launch(difference, 2, [buffer[4:7], buffer[2:4]])
    buffer.grad[2:4].fill_(1.0)
    tape.backward()
    # b[2] = b[5] - b[4] / 2, b[3] = b[6] - b[5] / 2, and before b[4 + k] = b[k + 1] - b[k] / 2.
    seed = {4: -0.5, 5: 1.0 - 0.5, 6: 1.0}
    want = np.zeros(8)
    for k, s in seed.items():
        want[k - 4 + 1] += s
        want[k - 4] -= 0.5 * s
    np.testing.assert_allclose(buffer.grad.numpy(), want)
    assert gathers(difference)


def test_more_items_than_elements_and_further_dimensions():
    @wp.kernel
    def guarded(u: wp.array(dtype=F), out: wp.array(dtype=F)):
        i = wp.tid()
        if i + 1 < u.shape[0]:
            out[i] = u[i + 1] * u[i]

    for dim in (5, 500, (5, 1)):
        u, out = array(np.arange(1.0, 6.0)), array(np.zeros(5))
        assert gradients(guarded, dim, [u, out], out, np.ones(5))[0].tolist() == [2.0, 4.0, 6.0, 8.0, 4.0]
    assert gathers(guarded)

    @wp.kernel
    def summed(u: wp.array(dtype=F), total: wp.array(dtype=F)):
        i = wp.tid()
        wp.atomic_add(total, 0, u[i] * u[i + 1])

    u, total = array(np.arange(1.0, 6.0)), array(np.zeros(1))
    # Two items of each i: their gradients are added twice.
    assert gradients(summed, (4, 2), [u, total], total, np.ones(1))[0].tolist() == [4.0, 8.0, 12.0, 16.0, 8.0]
