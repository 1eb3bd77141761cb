"""`wp.map` and operators on every kind of array against NumPy: plain, strided, indexed, Fabric; up to 8 dimensions."""

import itertools

import numpy as np
import pytest
from support.fabric import interface

import warp as wp

DATA = np.arange(1, 13, dtype=np.float32)
INDICES = np.array([3, 0, 7, 5, 11, 2], dtype=np.int32)


def plain(values):
    return wp.array(values)


def strided(values):
    return wp.array(np.repeat(values, 3))[::3]


def indexed(values):
    where = np.random.default_rng(1).permutation(2 * len(values)).astype(np.int32)[: len(values)]
    data = np.zeros(2 * len(values), dtype=np.float32)
    data[where] = values
    return wp.indexedarray(wp.array(data), [wp.array(where)])


def fabric(values):
    return wp.fabricarray(interface(values, [5, 0, len(values) - 5]), "a")


def indexed_fabric(values):
    where = np.random.default_rng(2).permutation(2 * len(values)).astype(np.int32)[: len(values)]
    data = np.zeros(2 * len(values), dtype=np.float32)
    data[where] = values
    return wp.fabricarray(interface(data, [4, 2 * len(values) - 4]), "a")[wp.array(where)]


KINDS = [plain, strided, indexed, fabric, indexed_fabric]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)


@wp.func
def scaled(x: float, y: float):
    return x * y + 1.0


@wp.func
def both(x: float, y: float):
    return x + y, wp.vec2(x, y)


@pytest.mark.parametrize("first, second", list(itertools.product(KINDS, KINDS)), ids=lambda k: k.__name__)
def test_operands_of_every_kind(first, second):
    a, b = first(DATA), second(DATA[::-1].copy())
    assert np.array_equal(wp.map(scaled, a, b).numpy(), DATA * DATA[::-1] + 1)
    assert np.array_equal((a - b).numpy(), DATA - DATA[::-1])


@kinds
def test_results_of_every_kind(kind):
    out = kind(np.zeros_like(DATA))
    assert wp.map(lambda x: x * 2.0, wp.array(DATA), out=out) is out
    assert np.array_equal(out.numpy(), DATA * 2)
    same = out
    out += 1.0
    out *= out
    assert out is same
    assert np.array_equal(out.numpy(), (DATA * 2 + 1) ** 2)


@kinds
def test_unary_operators_and_numbers(kind):
    a = kind(DATA)
    assert np.array_equal((-a).numpy(), -DATA)
    assert np.array_equal((2.0 / a).numpy(), np.float32(2) / DATA)
    assert np.array_equal((a % 5.0).numpy(), DATA % 5)


def test_several_results():
    x, v = wp.map(both, wp.array(DATA), fabric(DATA))
    assert np.array_equal(x.numpy(), 2 * DATA)
    assert np.array_equal(v.numpy(), np.stack([DATA, DATA], axis=1))


@pytest.mark.parametrize("rank", range(1, 9))
def test_dimensions(rank):
    """Every rank, with an operand that is broadcast along every other dimension."""
    shape = tuple(2 + i % 2 for i in range(rank))
    single = tuple(1 if i % 2 else n for i, n in enumerate(shape))
    rng = np.random.default_rng(rank)
    a, b = (rng.random(s, dtype=np.float32) for s in (shape, single))
    inner = rng.random(shape[-2:], dtype=np.float32)
    assert np.array_equal(wp.map(wp.sub, wp.array(a), wp.array(b)).numpy(), a - b)
    assert np.array_equal((wp.array(a) * wp.array(inner)).numpy(), a * inner)
    turned = wp.array(a).transpose()
    assert np.array_equal((turned + 1.0).numpy(), a.T + 1)


def test_gradients_of_many_dimensions():
    shape = (2, 3, 2, 2, 3, 2)
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    a = wp.array(x, requires_grad=True)
    with wp.Tape() as tape:
        y = a * a
    tape.backward(grads={y: wp.ones_like(y)})
    assert np.array_equal(a.grad.numpy(), 2 * x)


def test_captures_make_other_kernels():
    def shifted(by):
        return wp.map(lambda x: x + by, wp.array(DATA)).numpy()

    made = [shifted(1.0), shifted(5.0)]
    assert np.array_equal(made[0], DATA + 1)
    assert np.array_equal(made[1], DATA + 5)


def test_the_kernel_itself():
    a, out = wp.array(DATA), wp.zeros(12, dtype=float)
    kernel = wp.map(scaled, a, 3.0, return_kernel=True)
    wp.launch(kernel, dim=12, inputs=[a, 3.0], outputs=[out])
    assert np.array_equal(out.numpy(), DATA * 3 + 1)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wp.map(scaled, 1.0, 2.0), ValueError, "at least one"),
        (lambda: wp.map(scaled, wp.array(DATA)), TypeError, "does not match expected number"),
        (lambda: wp.map(np.sin, wp.array(DATA)), TypeError, "function of the kernel language"),
        (lambda: wp.map(scaled, wp.array(DATA), "x"), TypeError, "'x'"),
        (lambda: wp.map(scaled, wp.zeros(2, dtype=int), 1.0), TypeError, "argument types"),
        (lambda: wp.map(scaled, wp.array(DATA), wp.array(DATA[:5])), ValueError, "not broadcastable"),
        (lambda: wp.map(scaled, wp.array(DATA), 1.0, out=wp.zeros(3)), TypeError, r"\(3,\).*\(12,\)"),
        (lambda: wp.map(scaled, wp.array(DATA), 1.0, out=wp.zeros(12, dtype=int)), TypeError, "int32.*float32"),
        (lambda: wp.map(both, wp.array(DATA), 1.0, out=wp.zeros(12)), TypeError, "2 Warp arrays"),
        (lambda: wp.map(both, wp.array(DATA), 1.0, out=[wp.zeros(12)]), TypeError, r"\(1\).*\(2\)"),
    ],
)
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_fabric_arrays_of_arrays_are_for_kernels():
    rows = [np.arange(n, dtype=np.float32) for n in (3, 1, 4)]
    a = wp.fabricarray(interface(rows, [2, 1], arrays=True), "a")
    with pytest.raises(TypeError, match="reached in kernels only"):
        wp.map(lambda x: x, a)
