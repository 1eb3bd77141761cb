"""`warp.config.deterministic`: the same bits for every number of threads; and sums by private copies without it."""

import numpy as np
import pytest

import warp as wp

pytestmark = pytest.mark.host("GPUs refuse what this mode does")

RANDOM = np.random.default_rng(11)
N = 20_000
ON = wp.DeterministicMode.RUN_TO_RUN


@pytest.fixture(autouse=True)
def settings():
    yield
    wp.config.deterministic = wp.DeterministicMode.NOT_GUARANTEED
    wp.config.cpu_threads = 0


def bits_on_threads(run):
    """What `run()` returns, twice on one, two and three threads: the same each time."""
    wp.config.deterministic = ON
    results = []
    for threads in (1, 2, 3, 2, 1):
        wp.config.cpu_threads = threads
        results.append([np.array(a) for a in run()])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()
    return results[0]


@wp.kernel
def scatter(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, index[i], x[i])


@wp.func
def deposit(grid: wp.array2d(dtype=wp.vec3), where: wp.vec2i, v: wp.vec3):
    wp.atomic_sub(grid, where[0], where[1], v)


@wp.kernel
def scatter_by_function(index: wp.array(dtype=wp.vec2i), v: wp.array(dtype=wp.vec3), grid: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    k = i * 100 + j
    deposit(grid, index[k], v[k])
    deposit(grid, wp.vec2i(0, 0), v[k])


@wp.kernel
def total(x: wp.array2d(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(out, 0, x[i, j])


@wp.kernel
def running(x: wp.array(dtype=float), sum: wp.array(dtype=float), before: wp.array(dtype=float)):
    i = wp.tid()
    before[i] = wp.atomic_add(sum, 0, x[i])


@wp.kernel
def compact(x: wp.array(dtype=float), count: wp.array(dtype=int), kept: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.5:
        kept[wp.atomic_add(count, 0, 1)] = x[i]


@wp.kernel
def square(index: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[index[i]] * x[index[i]] + x[0]


def numbers(*shape):
    return RANDOM.uniform(-1.0, 1.0, shape).astype(np.float32)


@pytest.mark.parametrize("targets", [1, 50, 5_000, 400_000])
def test_scatter(targets):
    x, index = numbers(N), RANDOM.integers(0, targets, N).astype(np.int32)
    x_of, index_of = wp.array(x), wp.array(index)

    def run():
        out = wp.full(targets, value=0.5, dtype=float)
        wp.launch(scatter, N, [index_of, x_of, out])
        return [out.numpy()]

    (found,) = bits_on_threads(run)
    want = 0.5 + np.bincount(index, x.astype(np.float64), targets)
    np.testing.assert_allclose(found, want, atol=2e-3 if targets == 1 else 1e-4)


def test_scatter_by_a_function_into_views():
    index = RANDOM.integers(0, 7, (N, 2)).astype(np.int32)
    v = numbers(N, 3)
    index_of, v_of = wp.array(index, dtype=wp.vec2i), wp.array(v, dtype=wp.vec3)
    for view in (lambda a: a, lambda a: a.transpose((1, 0)), lambda a: a[::2]):

        def run(view=view):
            grid = wp.zeros((14, 7), dtype=wp.vec3)
            wp.launch(scatter_by_function, (N // 100, 100), [index_of, v_of, view(grid)])
            return [view(grid).numpy()]

        (found,) = bits_on_threads(run)
        want = np.zeros(found.shape)
        np.subtract.at(want, (index[:, 0], index[:, 1]), v)
        want[0, 0] -= v.sum(axis=0, dtype=np.float64)
        np.testing.assert_allclose(found, want, atol=2e-2)


def test_a_sum_of_doubles_to_one_address():
    x = RANDOM.random((300, 200))
    x_of = wp.array(x)

    def run():
        out = wp.zeros(1, dtype=wp.float64)
        wp.launch(total, x.shape, [x_of, out])
        return [out.numpy()]

    np.testing.assert_allclose(bits_on_threads(run)[0], x.sum(), rtol=1e-12)


def test_old_values_come_in_one_order():
    x = numbers(N)
    x_of = wp.array(x)

    def run():
        sum, before = wp.zeros(1, dtype=float), wp.zeros(N, dtype=float)
        count, kept = wp.zeros(1, dtype=int), wp.zeros(N, dtype=float)
        wp.launch(running, N, [x_of, sum, before])
        wp.launch(compact, N, [x_of, count, kept])
        return [before.numpy(), sum.numpy(), count.numpy(), kept.numpy()]

    before, _, count, kept = bits_on_threads(run)
    np.testing.assert_allclose(before, np.cumsum(x, dtype=np.float64) - x, atol=1e-3)
    assert count[0] == np.sum(x > 0.5)
    assert np.array_equal(kept[: count[0]], x[x > 0.5])  # items in order


def gradients(x, index, seed):
    x_of = wp.array(x, dtype=float, requires_grad=True)
    y = wp.zeros(len(index), dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(square, len(index), [index, x_of, y])
    tape.backward(grads={y: seed})
    return x_of.grad.numpy()


def test_the_adjoint_of_a_gather():
    x, index, seed = numbers(300), RANDOM.integers(0, 300, N).astype(np.int32), numbers(N)
    index_of, seed_of = wp.array(index), wp.array(seed)
    (found,) = bits_on_threads(lambda: [gradients(x, index_of, seed_of)])
    want = 2.0 * x * np.bincount(index, seed.astype(np.float64), 300)
    want[0] += seed.sum(dtype=np.float64)
    np.testing.assert_allclose(found, want, atol=1e-3)


@wp.kernel
def relax(x: wp.array(dtype=float), pairs: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] + 0.01 * wp.sin(x[pairs[i]] - x[0])


def test_a_checkpointed_rollout_has_the_bits_of_a_whole_one():
    n, steps = 4_000, 12
    start, pairs = numbers(n), wp.array(RANDOM.integers(0, 100, n).astype(np.int32))

    def rollout(checkpointed):
        x = wp.array(start, dtype=float, requires_grad=True)
        e = wp.zeros(1, dtype=float, requires_grad=True)

        def step(i, state):
            out = wp.zeros_like(state)
            wp.launch(relax, n, [state, pairs, out])
            wp.copy(state, out)

        tape = wp.Tape()
        with tape:
            if checkpointed:
                wp.checkpoint(step, [x], steps, 10 * 4 * n)
            else:
                for i in range(steps):
                    step(i, x)
            wp.launch(square_sum, n, [x, e])
        tape.backward(e)
        return [x.grad.numpy(), e.numpy()]

    whole = bits_on_threads(lambda: rollout(False))
    parts = bits_on_threads(lambda: rollout(True))
    for a, b in zip(whole, parts, strict=True):
        assert a.tobytes() == b.tobytes()


@wp.kernel
def square_sum(x: wp.array(dtype=float), e: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(e, 0, x[i] * x[i])


def test_a_kernel_or_a_module_may_ask_for_it():
    x, index = wp.array(numbers(N)), wp.array(RANDOM.integers(0, 50, N).astype(np.int32))

    @wp.kernel(module="unique", module_options={"deterministic": ON})
    def own(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(out, index[i], x[i])

    results = set()
    for threads in (1, 2, 3, 2):
        wp.config.cpu_threads = threads
        out = wp.zeros(50, dtype=float)
        wp.launch(own, N, [index, x, out])
        results.add(out.numpy().tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("wrong", ["run_to_run", True, 1, 2.5])
def test_modes_that_are_none(wrong):
    with pytest.raises(ValueError, match="takes a DeterministicMode"):
        wp.config.deterministic = wrong
    for give in (lambda o: wp.kernel(lambda: None, module="unique", module_options=o), wp.set_module_options):
        with pytest.raises(ValueError, match=f"deterministic must be a warp.DeterministicMode, found {wrong!r}"):
            give({"deterministic": wrong})
    assert wp.get_module_options()["deterministic"] is not wrong


snippet = """
    atomicAdd(&out[0], x[i]);
"""


@wp.func_native(snippet)
def add_natively(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.kernel
def total_natively(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    add_natively(x, out, wp.tid())


def test_atomics_of_snippets_come_in_order():
    x = numbers(N)
    x_of = wp.array(x)

    def run():
        out = wp.zeros(1, dtype=float)
        wp.launch(total_natively, N, [x_of, out])
        return [out.numpy()]

    np.testing.assert_allclose(bits_on_threads(run)[0], x.sum(dtype=np.float64), atol=1e-2)


@pytest.mark.parametrize("deterministic", [False, True])
def test_arrays_that_meet_are_summed_right(deterministic):
    """Whole numbers, so that no order matters: targets beside, over and within what is read, and twice the same."""
    wp.config.deterministic = wp.DeterministicMode(int(deterministic))
    wp.config.cpu_threads = 2
    n = 3_000

    @wp.kernel(module="unique")
    def two(index: wp.array(dtype=int), x: wp.array(dtype=float), a: wp.array(dtype=float), b: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(a, index[i], x[i])
        wp.atomic_add(b, index[i] + 1, 2.0 * x[i])

    index = RANDOM.integers(0, 9, n)
    x = RANDOM.integers(0, 8, n)
    first, second = np.bincount(index, x, 10), np.bincount(index + 1, 2 * x, 10)
    index_of = wp.array(index, dtype=int)
    for _ in range(6):
        memory = wp.array(np.concatenate([np.zeros(20), x, np.zeros(20)]).astype(np.float32))
        x_of, a, b = memory[20 : 20 + n], memory[:10], memory[20 + n : 30 + n]
        for targets in ((a, b), (a, a), (memory[2:12], memory[4:14]), (None, b)):
            before = memory.numpy().copy()
            if targets[0] is None:
                wp.launch(scatter, n, [index_of, x_of, b])
                before[20 + n : 30 + n] += first
            else:
                wp.launch(two, n, [index_of, x_of, *targets])
                for target, sums in zip(targets, (first, second), strict=True):
                    at = (target.ptr - memory.ptr) // 4
                    before[at : at + 10] += sums
            assert np.array_equal(memory.numpy(), before)
