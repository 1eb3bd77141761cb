"""@wp.func_replay: what stands in for a function where reverse mode repeats it."""

import numpy as np
import pytest

import warp as wp


@wp.func
def next_slot(counter: wp.array[int], slots: wp.array[int], i: int):
    slot = wp.atomic_add(counter, 0, 1)
    slots[i] = slot
    return slot


@wp.func_replay(next_slot)
def known_slot(counter: wp.array[int], slots: wp.array[int], i: int):
    return slots[i]


@wp.kernel
def squares_into_slots(x: wp.array[float], counter: wp.array[int], slots: wp.array[int], out: wp.array[float]):
    i = wp.tid()
    slot = next_slot(counter, slots, i)
    out[slot] = x[i] * x[i]


def test_slots_of_a_counter():
    n = 1000
    values = np.arange(n, dtype=np.float32)
    x = wp.array(values, requires_grad=True)
    counter, slots = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    out = wp.zeros(n, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares_into_slots, dim=n, inputs=[x, counter, slots], outputs=[out])
    places = slots.numpy()
    np.testing.assert_array_equal(np.sort(places), np.arange(n))
    np.testing.assert_array_equal(out.numpy()[places], values * values)
    seed = np.random.default_rng(1).normal(size=n).astype(np.float32)
    tape.backward(grads={out: wp.array(seed)})
    np.testing.assert_array_equal(x.grad.numpy(), 2 * values * seed[places])
    assert counter.numpy()[0] == n, "the counter is not advanced again"


@wp.func
def squared(x: float) -> float:
    return x * x


@wp.func_replay(squared)
def not_squared(x: float) -> float:
    return x + 1.0


@wp.kernel
def squared_twice(x: wp.array[float], out: wp.array[float]):
    y = squared(x[0])
    out[0] = y * y


@pytest.mark.parametrize("backend", ["llvm", "cxx"])
def test_it_is_what_runs(backend, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_backend", backend)
    x = wp.array([3.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squared_twice, dim=1, inputs=[x], outputs=[out])
    tape.backward(loss=out)
    assert out.numpy()[0] == 81.0
    # 2 y with y = 4 as the replay has it, times 2 x.
    assert x.grad.numpy()[0] == 2.0 * 4.0 * 2.0 * 3.0


def test_a_replay_of_other_results_is_refused():
    @wp.func
    def halved(x: float) -> float:
        return x / 2.0

    @wp.func_replay(halved)
    def whole(x: float) -> int:
        return int(x)

    @wp.kernel
    def use(out: wp.array[float]):
        out[0] = halved(3.0)

    with pytest.raises(wp.WarpCodegenTypeError, match="the replay `whole` returns other values than `halved`"):
        wp.launch(use, dim=1, inputs=[wp.zeros(1)])
