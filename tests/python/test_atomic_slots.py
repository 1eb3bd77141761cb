"""Gradients where integer atomics hand out slots: their results are kept for the adjoint, also those in loops."""

import resource

import numpy as np
import pytest

import warp as wp

RANDOM = np.random.default_rng(11)


def leaf(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


def made(n, dtype=float):
    return wp.zeros(n, dtype=dtype, requires_grad=True)


@wp.func
def claim(counter: wp.array(dtype=int)):
    return wp.atomic_add(counter, 0, 1)


def test_slots_from_a_counter():
    """Compaction: a counter hands out slots, in any order of items; the adjoint must know them."""

    @wp.kernel
    def compact(x: wp.array2d(dtype=float), counter: wp.array(dtype=int), o: wp.array(dtype=float)):
        i, j = wp.tid()
        if x[i, j] > 0.0:
            slot = claim(counter)
            o[slot] = x[i, j] * x[i, j]

    n = 60
    values = RANDOM.uniform(-1.0, 1.0, (n, n)).astype(np.float32)
    x, counter, o = leaf(values), wp.zeros(1, dtype=int), made(n * n)
    tape = wp.Tape()
    with tape:
        wp.launch(compact, (n, n), [x, counter, o])
    count = int((values > 0).sum())
    assert counter.numpy()[0] == count
    counter.zero_()  # of no concern
    weights = np.arange(n * n, dtype=np.float32)
    tape.backward(grads={o: weights})
    out = o.numpy()[:count]
    slot_of = {float(v): k for k, v in enumerate(out)}
    want = np.zeros_like(values)
    for index, v in np.ndenumerate(values):
        if v > 0:
            want[index] = 2.0 * v * weights[slot_of[float(np.float32(v * v))]]
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


# Each item i claims slots; of each slot the kernel notes who claimed it and with which number k: o[slot] = x[i]^2 * k.


@wp.kernel
def in_a_loop(x: wp.array(dtype=float), n: wp.array(dtype=int), c: wp.array(dtype=int), who: wp.array(dtype=int),
              factor: wp.array(dtype=int), o: wp.array(dtype=float)):  # fmt: skip
    i = wp.tid()
    for k in range(n[i]):
        slot = wp.atomic_add(c, 0, 1)
        who[slot], factor[slot] = i, k
        o[slot] = x[i] * x[i] * float(k)


@wp.kernel
def with_exits(x: wp.array(dtype=float), n: wp.array(dtype=int), c: wp.array(dtype=int), who: wp.array(dtype=int),
               factor: wp.array(dtype=int), o: wp.array(dtype=float)):  # fmt: skip
    i = wp.tid()
    for k in range(n[i]):
        if k % 3 == i % 3:
            continue
        slot = claim(c)
        who[slot], factor[slot] = i, k
        if k > 5 + i % 4:
            break
        o[slot] = x[i] * x[i] * float(k)


@wp.kernel
def nested(x: wp.array(dtype=float), n: wp.array(dtype=int), c: wp.array(dtype=int), who: wp.array(dtype=int),
           factor: wp.array(dtype=int), o: wp.array(dtype=float)):  # fmt: skip
    i = wp.tid()
    first = claim(c)
    who[first], factor[first] = i, 100
    o[first] = x[i] * x[i] * 100.0
    k = 0
    while k < n[i]:
        if k % 2 == 0:
            for j in range(k):
                slot = claim(c)
                who[slot], factor[slot] = i, 10 * k + j
                o[slot] = x[i] * x[i] * float(10 * k + j)
        else:
            slot = claim(c)
            who[slot], factor[slot] = i, k
            o[slot] = x[i] * x[i] * float(k)
        k += 1


@wp.kernel
def while_claimed(x: wp.array(dtype=float), n: wp.array(dtype=int), c: wp.array(dtype=int), who: wp.array(dtype=int),
                  factor: wp.array(dtype=int), o: wp.array(dtype=float)):  # fmt: skip
    """Work is taken from a counter until there is none."""
    i = wp.tid()
    slot = wp.atomic_add(c, 0, 1)
    while slot < 150:
        k = slot % 7
        who[slot], factor[slot] = i, k
        o[slot] = x[i] * x[i] * float(k)
        slot = wp.atomic_add(c, 0, 1)


@wp.kernel
def in_the_condition(x: wp.array(dtype=float), n: wp.array(dtype=int), c: wp.array(dtype=int),
                     who: wp.array(dtype=int), factor: wp.array(dtype=int), o: wp.array(dtype=float)):  # fmt: skip
    i = wp.tid()
    k = 0
    while wp.atomic_add(c, 1 + i, 1) < n[i]:
        slot = wp.atomic_add(c, 0, 1)
        who[slot], factor[slot] = i, k
        o[slot] = x[i] * x[i] * float(k)
        k += 1


KERNELS = [in_a_loop, with_exits, nested, while_claimed, in_the_condition]


@pytest.mark.host("GPUs do not keep results of atomics in loops")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_slots_in_loops(kernel, threads, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_threads", threads)
    items, room = 40, 4000
    x = leaf(RANDOM.uniform(0.5, 2.0, items))
    n = wp.array(RANDOM.integers(0, 13, items), dtype=int)
    who, factor, o = wp.full(room, -1, dtype=int), wp.zeros(room, dtype=int), made(room)
    counter = wp.zeros(1 + items, dtype=int)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, items, [x, n, counter, who, factor, o])
    counter.zero_()
    weights = RANDOM.uniform(-1.0, 1.0, room)
    written = o.numpy() != 0.0
    owner, k = who.numpy()[written], factor.numpy()[written]
    assert written.sum() > 50
    want = np.zeros(items)
    np.add.at(want, owner, 2.0 * x.numpy()[owner] * k * weights[written])
    for _ in range(2):  # what was kept is still there
        x.grad.zero_()
        tape.backward(grads={o: weights.astype(np.float32)})
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-4, atol=1e-4)


@wp.kernel
def weighted_by_slots(x: wp.array(dtype=wp.float64), n: int, c: wp.array(dtype=int), o: wp.array(dtype=wp.float64)):
    """Values that loops carry depend on what the item's own counter said."""
    i = wp.tid()
    s = x[i]
    for _ in range(n):
        turn = wp.atomic_add(c, i, 2)
        if turn % 3 == 0:
            s = s * x[i] + wp.float64(0.1) * wp.float64(turn)
        for j in range(turn % 4):
            s += wp.float64(0.1) * wp.sin(wp.float64(0.1) * s * wp.float64(wp.atomic_sub(c, i, 1) + j))
    o[i] = s


@wp.kernel
def counted_and_read(x: wp.array(dtype=wp.float64), n: int, c: wp.array(dtype=int), o: wp.array(dtype=wp.float64)):
    """The counter is read besides: its earlier values must be what they were."""
    i = wp.tid()
    s = x[i]
    before = wp.atomic_add(c, i, 3)
    s = s * x[i] + wp.float64(before + c[i])
    for k in range(n):
        wp.atomic_add(c, i, 1 + k % 2)
        s = s * x[i] * wp.float64(c[i]) + wp.float64(wp.atomic_add(c, i, 1)) * x[i]
    o[i] = s * wp.float64(c[i])


@pytest.mark.host("GPUs do not keep results of atomics in loops")
@pytest.mark.parametrize("backend", ["", "cxx"])
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("kernel", [weighted_by_slots, counted_and_read], ids=lambda k: k.key)
def test_values_from_slots_against_differences(kernel, count, backend, monkeypatch):
    monkeypatch.setattr(wp.config, "cpu_backend", backend or wp.config.cpu_backend)
    start = RANDOM.uniform(0.3, 0.9, 6)
    counts = np.arange(6, dtype=np.int32)

    def run(values):
        x, c, o = leaf(values, wp.float64), wp.array(counts), made(6, wp.float64)
        tape = wp.Tape()
        with tape:
            wp.launch(kernel, 6, [x, count, c, o])
        return tape, x, o

    tape, x, o = run(start)
    tape.backward(grads={o: np.ones(6)})
    h = 1e-6
    want = (run(start + h)[2].numpy() - run(start - h)[2].numpy()) / (2 * h)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6, atol=1e-6)


def test_what_is_kept_goes_with_the_tape():
    items, turns = 1000, 250  # 2 MB a tape
    x, n = leaf(np.ones(items)), wp.full(items, turns, dtype=int)
    who, factor = (wp.zeros(items * turns, dtype=int) for _ in range(2))
    o = made(items * turns)

    def run():
        tape = wp.Tape()
        with tape:
            wp.launch(in_a_loop, items, [x, n, wp.zeros(1, dtype=int), who, factor, o])

    run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(40):
        run()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000  # kB


@pytest.mark.host("GPUs do not keep results of atomics in loops")
def test_a_graph_does_not_keep_slots():
    x, n = leaf([1.0, 2.0]), wp.full(2, 3, dtype=int)
    who, factor, o, c = wp.zeros(6, dtype=int), wp.zeros(6, dtype=int), made(6), wp.zeros(1, dtype=int)
    refused = pytest.raises(wp.WarpGradientError, match=r"'in_a_loop'.* results of its atomics, which a graph")
    with refused, wp.ScopedCapture():
        tape = wp.Tape()
        with tape:
            wp.launch(in_a_loop, 2, [x, n, c, who, factor, o])
        tape.backward()


def test_results_of_atomics_on_floats_are_refused():
    @wp.kernel
    def scaled(x: wp.array(dtype=float), total: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
        i = wp.tid()
        for _ in range(n):
            o[i] += x[i] * wp.atomic_add(total, 0, 1.0)

    tape = wp.Tape()
    with tape:
        wp.launch(scaled, 2, [leaf([1.0, 2.0]), wp.zeros(1, dtype=float), 3, made(2)])
    with pytest.raises(wp.WarpGradientError, match="needs the result of an atomic of floats") as caught:
        tape.backward()
    assert "wp.atomic_add(total, 0, 1.0)" in caught.value.text
