"""`wp.checkpoint`: schedules, memory within the budget, gradients equal to those of a whole tape; what is refused."""

import functools

import numpy as np
import pytest

import warp as wp
from warp import _core
from warp.checkpoint import reach, split

N = 2000


@wp.kernel
def move(x: wp.array(dtype=float), v: wp.array(dtype=float), k: wp.array(dtype=float), dt: float):
    i = wp.tid()
    v[i] = v[i] - dt * k[i] * wp.sin(x[i]) * x[i]
    x[i] = x[i] + dt * v[i] * wp.cos(v[i])


@wp.kernel
def moved(x: wp.array(dtype=float), k: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] + 0.01 * k[i] * wp.sin(x[i])


@wp.kernel
def energy(x: wp.array(dtype=float), v: wp.array(dtype=float), e: wp.array(dtype=float)):
    i = wp.tid()
    e[i] = x[i] * x[i] + v[i]


class System:
    def __init__(self, n=N):
        r = np.random.default_rng(5)
        self.x, self.v, self.k = (
            wp.array(r.uniform(-1.0, 1.0, n).astype(np.float32), dtype=float, requires_grad=True) for _ in range(3)
        )
        self.e = wp.zeros(n, dtype=float, requires_grad=True)
        self.n = n
        self.runs = 0

    def step(self, i, x, v):
        self.runs += 1
        wp.launch(move, self.n, [x, v, self.k, 0.01 + 0.0001 * i])

    def gradients(self, rollout, times=1):
        tape = wp.Tape()
        with tape:
            rollout(self)
            wp.launch(energy, self.n, [self.x, self.v, self.e])
        for _ in range(times):
            tape.zero()
            tape.backward(grads={self.e: wp.ones(self.n, dtype=float)})
        return [a.grad.numpy().copy() for a in (self.x, self.v, self.k)]


def whole(count):
    def rollout(s):
        for i in range(count):
            s.step(i, s.x, s.v)

    return rollout


def checkpointed(count, budget):
    return lambda s: wp.checkpoint(s.step, [s.x, s.v], count, budget)


@functools.cache
def least(steps, slots):
    """The fewest repeated steps, by trying all ways."""
    if steps == 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(m + least(steps - m, slots - 1) + least(m, slots) for m in range(1, steps))


def repeated(steps, slots):
    """What the schedule repeats."""
    if steps == 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    m = split(steps, slots)
    return m + repeated(steps - m, slots - 1) + repeated(m, slots)


def test_the_schedule_is_the_best():
    for slots in range(1, 7):
        for steps in range(1, 60):
            assert repeated(steps, slots) == least(steps, slots), (steps, slots)
    # Griewank and Walther: with s states and r repeats, (s + r)! / (s! r!) steps.
    assert reach(3, 3) == 20 and reach(10, 3) == 286 and reach(4, 2) == 15


@pytest.mark.parametrize("slots", [1, 2, 5, 10, 200])
def test_a_rollout_keeps_to_its_budget_and_gives_the_same_gradient(slots):
    count = 200 if slots > 2 else 40
    want = System().gradients(whole(count))
    s = System()
    size = 2 * N * 4
    start = _core.bytes_held()
    s.gradients(checkpointed(1, 10**9))  # what a step needs, and its code
    one_step = 2 * 2 * N * 4  # both arrays are overwritten: saved, and copied while the adjoint runs
    s = System()
    budget = (slots + 1) * size + one_step
    tape = wp.Tape()
    with tape:
        before = _core.bytes_held()
        _core.reset_peak_bytes()
        wp.checkpoint(s.step, [s.x, s.v], count, budget)
        wp.launch(energy, N, [s.x, s.v, s.e])
    final = s.x.numpy().copy()
    runs = s.runs
    for _ in range(2):  # a second time from the first state alone
        tape.zero()
        s.e.grad.fill_(1.0)
        tape.backward()
        found = [a.grad.numpy().copy() for a in (s.x, s.v, s.k)]  # of a GPU: not held beyond
        assert all(np.array_equal(f, w) for f, w in zip(found, want, strict=True))
        assert np.array_equal(s.x.numpy(), final)
    # The copy of x and v for the energy's adjoint is none of the rollout's.
    assert _core.peak_bytes() - before <= budget + size, (_core.peak_bytes() - before, budget)
    if slots == 10:
        assert s.runs - runs <= 2 * 4 * count
    assert start <= before


def test_a_budget_that_is_too_small_tells_what_is_needed():
    s = System()
    with wp.Tape(), pytest.raises(ValueError, match=r"too small: the state has 16000 bytes.* are needed") as caught:
        wp.checkpoint(s.step, [s.x, s.v], 10, 1000)
    needed = int(str(caught.value).split(" are needed")[0].split()[-1])
    want = System().gradients(whole(10))
    found = System().gradients(checkpointed(10, needed))
    assert all(np.array_equal(f, w) for f, w in zip(found, want, strict=True))


def test_steps_that_return_the_next_state():
    s = System(7)

    def step(i, x):
        out = wp.zeros(7, dtype=float, requires_grad=True)
        wp.launch(moved, 7, [x, s.k, out])
        return out

    start = s.x.numpy().copy()
    tape = wp.Tape()
    with tape:
        wp.checkpoint(step, s.x, 30, 7 * 4 * 12)
    tape.backward(grads={s.x: wp.ones(7, dtype=float)})
    x, slope, by_k = start.astype(np.float64), np.ones(7), np.zeros(7)
    k = s.k.numpy().astype(np.float64)
    for _ in range(30):
        by_k = by_k * (1.0 + 0.01 * k * np.cos(x)) + 0.01 * np.sin(x)
        slope *= 1.0 + 0.01 * k * np.cos(x)
        x = x + 0.01 * k * np.sin(x)
    np.testing.assert_allclose(s.x.numpy(), x, rtol=1e-5)
    np.testing.assert_allclose(s.x.grad.numpy(), slope, rtol=1e-5)
    np.testing.assert_allclose(s.k.grad.numpy(), by_k, rtol=1e-4)


def test_without_a_tape_it_only_runs():
    s, t = System(5), System(5)
    wp.checkpoint(s.step, [s.x, s.v], 4, 100)
    whole(4)(t)
    assert s.x.numpy().tolist() == t.x.numpy().tolist()


def test_a_state_that_is_not_all_of_it_is_refused():
    s = System(5)
    tape = wp.Tape()
    with tape:
        wp.checkpoint(lambda i, x: s.step(i, x, s.v), [s.x], 10, 10**6)
    with pytest.raises(wp.WarpGradientError, match=r"wp\.checkpoint\(\)"):
        tape.backward(grads={s.x: wp.ones(5, dtype=float)})


def test_what_is_refused():
    s = System(5)
    with wp.Tape(), pytest.raises(ValueError, match="requires_grad"):
        wp.checkpoint(lambda i, x: None, [wp.zeros(3, dtype=float)], 3)
    with wp.Tape(), pytest.raises(TypeError, match="list of arrays"):
        wp.checkpoint(lambda i, x: None, [3.0], 3)
    with wp.Tape(), pytest.raises(ValueError, match="1 arrays, found 2"):
        wp.checkpoint(lambda i, x: (x, x), [s.x], 3)
    with pytest.raises(wp.WarpGradientError, match=r"works on a wp\.Tape"):
        wp.vjp(lambda x: (wp.checkpoint(lambda i, y: None, [s.x], 2), x)[1], s.x)
