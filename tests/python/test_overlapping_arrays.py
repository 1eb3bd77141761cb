"""Gradients of launches whose arrays overlap in memory while the kernel writes one: what it reads through one name may
be what it wrote through another. Against central differences of the launches themselves.
"""

import numpy as np
import pytest

import warp as wp

D1 = wp.array(dtype=wp.float64)
F = wp.float64
N = 5
START = np.linspace(0.3, 1.4, N)


@wp.struct
class Two:
    p: wp.array(dtype=wp.float64)
    q: wp.array(dtype=wp.float64)


def made(n=N):
    return wp.zeros(n, dtype=wp.float64, requires_grad=True)


def copied(x, n=N):
    """The numbers of x at the beginning of another array."""
    y = made(n)
    wp.copy(y[: x.size], x)
    return y


@wp.kernel
def product(a: D1, b: D1):
    i = wp.tid()
    b[i] = a[i] * a[i] * b[i]


@wp.kernel
def write_then_read(a: D1, b: D1, o: D1):
    i = wp.tid()
    b[i] = wp.sin(a[i])
    o[i] = a[i] * b[i]


@wp.kernel
def recurrence(a: D1, b: D1, n: int):
    for k in range(n):
        b[k] = a[k] * a[k] + F(0.1)


@wp.kernel
def in_struct(s: Two, o: D1):
    i = wp.tid()
    s.q[i] = s.p[i] * s.p[i]
    o[i] = s.p[i] * s.q[i]


@wp.kernel
def in_struct_and_beside(s: Two, a: D1, o: D1):
    i = wp.tid()
    a[i] = wp.exp(s.p[i])
    o[i] = s.p[i] * a[i] + s.q[i]


@wp.kernel
def slots(a: D1, b: D1, c: wp.array(dtype=int), n: int):
    i = wp.tid()
    for _ in range(n):
        turn = wp.atomic_add(c, i, 1)
        b[i] = a[i] * a[i] * F(turn) + F(0.3)


@wp.kernel
def numbers_of_vectors(v: wp.array(dtype=wp.vec3d), a: D1, o: D1):
    i = wp.tid()
    a[3 * i + 1] = a[3 * i] * v[i][2]
    v[i] = v[i] * a[3 * i + 1]
    o[i] = v[i][1] * v[i][0] * a[3 * i + 2]


def both_names(x):
    y = copied(x)
    wp.launch(product, N, [y, y])
    return y


def written_then_read(x):
    y, o = copied(x), made()
    wp.launch(write_then_read, N, [y, y, o])
    return o


def shifted(x):
    y = copied(x)
    wp.launch(recurrence, 1, [y[:4], y[1:], 4])
    return y


def shifted_back(x):
    y = copied(x)
    wp.launch(recurrence, 1, [y[1:], y[:4], 4])
    wp.launch(recurrence, 1, [y[:3], y[2:], 3])
    return y


def of_two_arrays(x):
    """Another array over the same memory, which shares no storage."""
    y = copied(x)
    other = wp.array(ptr=y.ptr, shape=N, dtype=wp.float64, grad=y.grad)
    wp.launch(product, N, [y, other])
    return y


def members(x):
    s, o = Two(), made()
    s.p = s.q = copied(x)
    wp.launch(in_struct, N, [s, o])
    return o


def members_and_argument(x):
    s, o = Two(), made()
    y = copied(x)
    s.p, s.q = y, copied(x)
    wp.launch(in_struct_and_beside, N, [s, y, o])
    return o


def with_slots(x):
    y = copied(x)
    wp.launch(slots, N, [y, y, wp.zeros(N, dtype=int), 4])
    return y


def vectors_and_numbers(x):
    y, o = copied(x, 6), made(2)
    wp.launch(numbers_of_vectors, 2, [y.reshape((2, 3)).view(wp.vec3d), y, o])
    return o


CASES = [
    both_names,
    written_then_read,
    shifted,
    shifted_back,
    of_two_arrays,
    members,
    members_and_argument,
    pytest.param(with_slots, marks=pytest.mark.host("GPUs do not keep results of atomics in loops")),
    vectors_and_numbers,
]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_gradients(case, overwrite):
    x = wp.array(START, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        out = case(x)
    weights = np.linspace(0.5, 1.5, out.size)
    if overwrite:
        out.zero_()
    before = out.numpy().copy()
    for _ in range(2):
        x.grad.zero_()
        tape.backward(grads={out: weights})
        got = x.grad.numpy().copy()
    assert (out.numpy() == before).all()

    def loss(values):
        return float(weights @ case(wp.array(values, dtype=wp.float64, requires_grad=True)).numpy())

    steps = 1e-6 * np.eye(N)
    want = [(loss(START + h) - loss(START - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_columns_do_not_overlap():
    """Nothing is copied: so a captured graph may have them."""

    @wp.kernel
    def squares(a: D1, b: D1):
        i = wp.tid()
        b[i] = a[i] * a[i]

    m = wp.array(np.arange(8.0).reshape(4, 2), dtype=wp.float64, requires_grad=True)
    with wp.ScopedCapture():
        tape = wp.Tape()
        with tape:
            wp.launch(squares, 4, [m[:, 0], m[:, 1]])
        tape.backward()
    tape = wp.Tape()
    with tape:
        wp.launch(squares, 4, [m[:, 0], m[:, 1]])
    m.grad.fill_(1.0)
    tape.backward()
    assert m.grad.numpy()[:, 0].tolist() == [1.0, 5.0, 9.0, 13.0]


@pytest.mark.host("in graphs of GPUs what is overwritten is saved")
def test_arrays_that_overlap_are_refused_where_nothing_is_kept():
    y = wp.array(START, dtype=wp.float64, requires_grad=True)
    with pytest.raises(wp.WarpGradientError, match=r"'recurrence' needs values of arrays that overlap.*Tape"):
        wp.launch(recurrence, 1, [y[:4], y[1:], 4], adj_inputs=[None] * 3, adjoint=True)
    with pytest.raises(wp.WarpGradientError, match="graph that is captured"), wp.ScopedCapture():
        tape = wp.Tape()
        with tape:
            wp.launch(product, N, [y, y])
        tape.backward()


@wp.kernel
def write_bits(a: D1, bits: wp.array(dtype=wp.int64), o: D1):
    i = wp.tid()
    bits[i] = wp.int64(0)
    o[i] = F(2.0) * a[i]


def test_bits_written_over_floats_are_refused():
    y, o = wp.array(START, dtype=wp.float64, requires_grad=True), made()
    tape = wp.Tape()
    with tape:
        wp.launch(write_bits, N, [y, y.view(wp.int64), o])
    with pytest.raises(wp.WarpGradientError, match=r"'write_bits'.* writes bits through 'bits'"):
        tape.backward(grads={o: np.ones(N)})


def test_bits_that_are_copied_carry_gradients():
    x, y = wp.array(START, dtype=wp.float64, requires_grad=True), made()
    tape = wp.Tape()
    with tape:
        wp.copy(y.view(wp.int64), x.view(wp.int64))
        wp.launch(product, N, [x, y])
    tape.backward(grads={y: np.ones(N)})
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * START**2)
