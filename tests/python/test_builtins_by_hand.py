"""The builtins that no map can be made of (BY_HAND of test_builtins.py), in kernels: the two backends in every bit,
forward and backward, and values that are known."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_builtins import BY_HAND

import warp as wp
from warp import _core

N = 8
ROWS_WITH_OUTPUTS = ["svd2", "svd3", "qr3", "eig3"]
BACKENDS = ["", "cxx"]
bias = wp.constant(3)


@wp.kernel
def constructors(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    a = wp.vector(x[i], x[i] * x[i], wp.float64(3.0))
    b = wp.vec(x[i], wp.float64(2.0), length=2, dtype=wp.float64)
    m = wp.matrix(x[i], wp.float64(1.0), wp.float64(2.0), x[i] + wp.float64(3.0), shape=(2, 2), dtype=wp.float64)
    n = wp.matrix_from_cols(b, b * x[i])
    r = wp.matrix_from_rows(b, b * x[i])
    e = wp.identity(n=2, dtype=wp.float64)
    q = wp.quat_identity(dtype=wp.float64)
    t = wp.transform_identity(dtype=wp.float64)
    o[i, 0] = a[0] * a[1] + a[2]
    o[i, 1] = wp.determinant(m @ n) + wp.trace(r + e)
    o[i, 2] = q[3] * x[i] + t[6]
    o[i, 3] = wp.float64(wp.static(bias + 4)) * x[i]


@wp.kernel
def local_arrays(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    a = wp.zeros(shape=(3,), dtype=wp.float64)
    b = wp.ones(shape=(2, 2), dtype=wp.float64)
    c = wp.full(shape=(4,), value=wp.float64(2.5), dtype=wp.float64)
    d = wp.empty(shape=(2,), dtype=wp.float64)
    d[0] = x[i]
    d[1] = x[i] + wp.float64(1.0)
    for k in range(3):
        a[k] = x[i] * wp.float64(k)
    o[i, 0] = a[1] + a[2] + b[1, 1]
    o[i, 1] = c[3] * d[1] + d[0]
    o[i, 2] = x[i] + wp.float64(len(x))
    o[i, 3] = x[wp.lower_bound(x, x[i])]


@wp.kernel
def casts(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    o[i, 0] = wp.float64(wp.cast(wp.float32(x[i]), wp.int32)) + wp.float64(wp.int32(x[i] * wp.float64(100.0)))
    view = wp.array(ptr=wp.uint64(x.ptr), shape=(x.shape[0],), dtype=wp.float64)
    o[i, 1] = type(x[i])(i) + wp.float64(wp.block_dim()) + view[i]
    o[i, 2] = wp.float64(wp.address_of(x[i]) - wp.address_of(x[0]))
    o[i, 3] = wp.float64(wp.lower_bound(x, 2, 6, x[i]))


@wp.kernel
def atomics(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64), words: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    w = wp.uint32(i) * wp.uint32(77)
    wp.atomic_add(o, 0, 0, x[i])
    wp.atomic_sub(o, 1, 0, x[i])
    wp.atomic_min(words, 0, w)
    wp.atomic_max(words, 1, w)
    wp.atomic_and(words, 2, w | wp.uint32(5))
    wp.atomic_or(words, 3, w)
    wp.atomic_xor(words, 4, w)
    words[8 + i] = wp.atomic_exch(words, 16 + i, w)


@wp.func
def cube(v: wp.float64):
    return v * v * v


@wp.kernel
def gradients(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    o[i, 0] = wp.grad(cube)(x[i])


@wp.kernel
def checks(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    wp.expect_eq(x[i], x[i])
    wp.expect_neq(x[i], x[i] + wp.float64(1.0))
    wp.expect_near(x[i], x[i] + wp.float64(1.0e-9), wp.float64(1.0e-6))
    o[i, 0] = x[i]


@wp.kernel
def decompositions(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    s = wp.float64(0.25)
    m = wp.mat33d(x[i], s, s + s, s, x[i] * x[i] + s, s, s + s, s, wp.float64(3.0))
    u = wp.mat33d()
    v = wp.mat33d()
    w = wp.vec3d()
    wp.svd3(m, u, w, v)
    o[i, 0] = u[0, 1] + w[0] + v[2, 2]
    q = wp.mat33d()
    r = wp.mat33d()
    wp.qr3(m, q, r)
    o[i, 1] = q[1, 1] + r[0, 2]
    wp.eig3(m, q, w)
    o[i, 2] = q[0, 0] * w[1]
    m2 = wp.mat22d(x[i], s, s, s + s)
    u2 = wp.mat22d()
    v2 = wp.mat22d()
    w2 = wp.vec2d()
    wp.svd2(m2, u2, w2, v2)
    o[i, 3] = u2[0, 0] + w2[1] + v2[1, 0]


@wp.kernel
def blocks(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    row = wp.shared_array(shape=(4,), dtype=wp.float64)
    t = wp.thread_idx()
    row[t] = x[i]
    wp.sync_threads()
    o[i, 0] = row[3 - t] + wp.float64(wp.block_idx())


@wp.kernel
def prints(x: wp.array(dtype=wp.float64), o: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    if i == 3:
        print(x[i])
        print("text, and", wp.vec2(1.0, float(i)))
        wp.printf("%d %u %lld %f %s\n", i, wp.uint32(7), wp.int64(-5), x[i], "word")


KERNELS = [constructors, local_arrays, casts, gradients, checks, decompositions]
DIFFERENTIABLE = [constructors, local_arrays, decompositions]
X = np.linspace(0.3, 2.4, N)


def on_both(run):
    out = []
    for backend in BACKENDS:
        wp.config.cpu_backend = backend
        try:
            out.append(run())
        finally:
            wp.config.cpu_backend = ""
    return out


@pytest.mark.host("is about the CPU's two backends")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key)
def test_forward(kernel):
    def run():
        o = wp.zeros((N, 4), dtype=wp.float64)
        wp.launch(kernel, N, inputs=[wp.array(X, dtype=wp.float64), o], block_dim=64)
        return o.numpy()

    ours, other = on_both(run)
    assert ours.tobytes() == other.tobytes() and np.isfinite(ours).all() and (ours != 0).any()


@pytest.mark.host("is about the CPU's two backends")
@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=lambda k: k.key)
def test_backward(kernel):
    def run():
        x = wp.array(X, dtype=wp.float64, requires_grad=True)
        o = wp.zeros((N, 4), dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, N, inputs=[x, o])
        tape.backward(grads={o: wp.array(np.cos(np.arange(4.0 * N)).reshape(N, 4), dtype=wp.float64)})
        return x.grad.numpy()

    ours, other = on_both(run)
    assert ours.tobytes() == other.tobytes() and np.isfinite(ours).all() and (ours != 0).any()


@pytest.mark.host("is about the CPU's two backends")
def test_blocks():
    def run():
        o = wp.zeros((N, 4), dtype=wp.float64)
        wp.launch(blocks, N, inputs=[wp.array(X, dtype=wp.float64), o], block_dim=4)
        return o.numpy()[:, 0]

    for o in on_both(run):
        np.testing.assert_array_equal(o, np.append(X[3::-1], X[:3:-1] + 1.0))


@pytest.mark.host("is about the CPU's two backends")
def test_atomics():
    words = np.zeros(24, dtype=np.uint32)
    words[:5] = [4000, 3, 0xFFFFFFFF, 1, 9]
    items = np.arange(N, dtype=np.uint32) * 77

    def run():
        o, w = wp.zeros((N, 4), dtype=wp.float64), wp.array(words, dtype=wp.uint32)
        wp.launch(atomics, N, inputs=[wp.array(X, dtype=wp.float64), o, w])
        return o.numpy(), w.numpy()

    for o, w in on_both(run):
        np.testing.assert_allclose(o[:2, 0], [X.sum(), -X.sum()], rtol=1e-15)
        np.testing.assert_array_equal(w[:3], [0, 539, np.bitwise_and.reduce(items | 5)])
        np.testing.assert_array_equal(w[3:5], [1 | np.bitwise_or.reduce(items), 9 ^ np.bitwise_xor.reduce(items)])
        np.testing.assert_array_equal(w[8:16], np.zeros(N))
        np.testing.assert_array_equal(w[16:], items)


@pytest.mark.host("is about the CPU's two backends")
def test_prints(capfd):
    def run():
        wp.launch(prints, N, inputs=[wp.array(X, dtype=wp.float64), wp.zeros((N, 4), dtype=wp.float64)])
        wp.synchronize()
        return capfd.readouterr().out

    ours, other = on_both(run)
    assert ours == other and "3 7 -5 1.2" in ours and "word" in ours


def test_every_builtin_is_in_a_kernel():
    """By the text of this file; textures have test_textures.py, which runs on both backends."""
    source = Path(__file__).read_text()
    names = {*re.findall(r"\bwp\.(\w+)\(", source), *re.findall(r"\b(print|len|type|range)\(", source)}
    elsewhere = {"adjoint": "test_replay.py", "texture_sample": "test_textures.py", "mat": "test_language_values.py"}
    assert set(BY_HAND) - names - set(elsewhere) == set()
    assert set(ROWS_WITH_OUTPUTS) <= names
    assert all(name in _core.builtin_names() for name in BY_HAND)
