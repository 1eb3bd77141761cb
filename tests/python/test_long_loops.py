"""Gradients through loops of any length, with memory that stays bounded: against recurrences in NumPy."""

import numpy as np
import pytest

import warp as wp
from warp import _core

F = wp.float64


@wp.kernel
def counted(x: wp.array(dtype=F), w: wp.array(dtype=F), begin: int, end: int, step: int, out: wp.array(dtype=F)):
    i = wp.tid()
    s = x[i]
    for k in range(begin, end, step):
        s = s * w[0] + F(0.9) * wp.sin(s + F(0.001) * F(k))
    out[i] = s * s


@wp.kernel
def until(x: wp.array(dtype=F), w: wp.array(dtype=F), begin: int, end: int, step: int, out: wp.array(dtype=F)):
    i = wp.tid()
    s = x[i]
    k = begin
    while k != end:
        if k < -1000000:
            break
        s = s * w[0] + F(0.9) * wp.sin(s + F(0.001) * F(k))
        k += step
    out[i] = s * s


@wp.kernel
def nested(x: wp.array(dtype=F), w: wp.array(dtype=F), begin: int, end: int, step: int, out: wp.array(dtype=F)):
    """An outer loop of two turns, an inner one of half of the steps each."""
    i = wp.tid()
    v = wp.vec2d(x[i], F(0.0))
    middle = begin + (end - begin) / 2
    for outer in range(2):
        first = wp.where(outer == 0, begin, middle)
        last = wp.where(outer == 0, middle, end)
        for k in range(first, last, step):
            v = wp.vec2d(v[0] * w[0] + F(0.9) * wp.sin(v[0] + F(0.001) * F(k)), v[0])
    out[i] = v[0] * v[0]


def reference(x, w, begin, end, step):
    """The values, and the gradients of their sum by x and by w."""
    s, by_x, by_w = x.copy(), np.ones_like(x), np.zeros_like(x)
    for k in range(begin, end, step):
        slope = w + 0.9 * np.cos(s + 0.001 * k)
        by_x, by_w = by_x * slope, by_w * slope + s
        s = s * w + 0.9 * np.sin(s + 0.001 * k)
    return s * s, 2.0 * s * by_x, np.sum(2.0 * s * by_w)


@pytest.mark.parametrize("kernel", [counted, until, nested])
@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [(0, 0, 1), (0, 2, 1), (0, 1024, 1), (0, 1026, 1), (5, 2049, 1), (3000, 0, -1), (-100, 9900, 2), (0, 30_000, 1)],
)
def test_loops_of_any_length(kernel, begin, end, step):
    r = np.random.default_rng(end)
    x = wp.array(r.uniform(-1.0, 1.0, 3), dtype=F, requires_grad=True)
    w = wp.array([0.3], dtype=F, requires_grad=True)
    out = wp.zeros(3, dtype=F, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, 3, [x, w, begin, end, step, out])
    _core.reset_stack_peak()
    tape.backward(grads={out: wp.ones(3, dtype=F)})
    want, by_x, by_w = reference(x.numpy(), 0.3, begin, end, step)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-9)
    np.testing.assert_allclose(x.grad.numpy(), by_x, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), [by_w], rtol=1e-7)
    # A few values for each of some thousand turns that are kept.
    assert _core.stack_peak_bytes() < 600_000


def test_memory_grows_as_the_logarithm():
    x = wp.array([0.3], dtype=F, requires_grad=True)
    w = wp.array([0.3], dtype=F, requires_grad=True)
    out = wp.zeros(1, dtype=F, requires_grad=True)
    peaks = []
    for turns in (1000, 10_000, 100_000, 1_000_000):
        tape = wp.Tape()
        with tape:
            wp.launch(counted, 1, [x, w, 0, turns, 1, out])
        _core.reset_stack_peak()
        tape.backward(grads={out: wp.ones(1, dtype=F)})
        peaks.append(_core.stack_peak_bytes())
    assert peaks[3] <= 8 * peaks[0], peaks
