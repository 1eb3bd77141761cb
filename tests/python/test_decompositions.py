"""Decompositions of small matrices: what defines them, singular and degenerate matrices, derivatives by differences."""

import numpy as np
import pytest

import warp as wp

wp.set_module_options({"enable_backward": True})

SPECIAL = [
    np.eye(3),
    np.zeros((3, 3)),
    np.diag([0.0, 2.0, 0.0]),
    np.diag([-1.0, -2.0, -3.0]),
    np.ones((3, 3)),
    np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
    np.diag([3.0, 3.0, 1.0]),
    np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    np.arange(1.0, 10.0).reshape(3, 3),
]
RANDOM = list(np.random.default_rng(3).normal(size=(20, 3, 3)))
TOLERANCE = {wp.float64: 1e-14, wp.float32: 1e-6, wp.float16: 4e-3}


def matrices(size, dtype):
    scales = [1.0] if dtype is wp.float16 else [1.0, 1e-12, 1e12]
    return [scale * m[:size, :size] for m in SPECIAL + RANDOM for scale in scales]


def results(function, matrix, dtype):
    given = wp.types.matrix(shape=matrix.shape, dtype=dtype)(*matrix.ravel())
    return [np.array(r, dtype=float) for r in function(given)]


def close(a, b, size, dtype):
    assert np.abs(np.asarray(a) - b).max() <= 4 * TOLERANCE[dtype] * max(size, 0), (a, b)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size, function", [(2, wp.svd2), (3, wp.svd3)])
def test_svd(size, function, dtype):
    for m in matrices(size, dtype):
        u, s, v = results(function, m, dtype)
        scale = np.abs(m).max()
        close(u @ np.diag(s) @ v.T, m, 3 * scale, dtype)
        close(np.abs(s), np.linalg.svd(m)[1], 3 * scale, dtype)
        for q in (u, v):
            close(q @ q.T, np.eye(size), 1, dtype)
        assert np.linalg.det(v) > 0.9
        assert (np.linalg.det(u) > 0.9) if size == 3 else (s >= 0).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_qr3(dtype):
    for m in matrices(3, dtype):
        q, r = results(wp.qr3, m, dtype)
        scale = np.abs(m).max()
        close(q @ r, m, 3 * scale, dtype)
        close(q @ q.T, np.eye(3), 1, dtype)
        assert np.linalg.det(q) > 0.9
        assert (np.tril(r, -1) == 0).all()
        assert r[0, 0] >= 0 and r[1, 1] >= -3 * TOLERANCE[dtype] * scale, r


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_eig3(dtype):
    for m in matrices(3, dtype):
        m = m + m.T
        q, d = results(wp.eig3, m, dtype)
        scale = np.abs(m).max()
        close(q @ np.diag(d) @ q.T, m, 3 * scale, dtype)
        close(np.sort(d), np.linalg.eigvalsh(m), 3 * scale, dtype)
        close(q @ q.T, np.eye(3), 1, dtype)
        assert np.linalg.det(q) > 0.9


@wp.kernel
def into_variables(a: wp.array[wp.mat33d], b: wp.array[wp.mat22d], out: wp.array[wp.mat33d], o: wp.array[wp.mat22d]):
    u = wp.mat33d()
    s = wp.vec3d()
    v = wp.mat33d()
    wp.svd3(a[0], u, s, v)
    out[0] = u * wp.diag(s) * wp.transpose(v)
    q = wp.mat33d()
    r = wp.mat33d()
    wp.qr3(a[0], q, r)
    out[1] = q * r
    wp.eig3(a[0], q, s)
    out[2] = q * wp.diag(s) * wp.transpose(q)
    u2 = wp.mat22d()
    s2 = wp.vec2d()
    v2 = wp.mat22d()
    for _ in range(wp.tid() + 1):
        wp.svd2(b[0], u2, s2, v2)
    o[0] = u2 * wp.diag(s2) * wp.transpose(v2)


def test_results_into_variables():
    m = RANDOM[0]
    a = wp.array([m], dtype=wp.mat33d, requires_grad=True)
    b = wp.array([m[:2, :2]], dtype=wp.mat22d)
    out, small = wp.zeros(3, dtype=wp.mat33d, requires_grad=True), wp.zeros(1, dtype=wp.mat22d)
    with wp.Tape() as tape:
        wp.launch(into_variables, dim=1, inputs=[a, b], outputs=[out, small])
    np.testing.assert_allclose(out.numpy(), [m, m, (m + m.T) / 2], atol=1e-13)
    np.testing.assert_allclose(small.numpy()[0], m[:2, :2], atol=1e-13)
    seed = np.arange(27.0).reshape(3, 3, 3)
    tape.backward(grads={out: wp.array(seed, dtype=wp.mat33d)})
    # Each result is its argument (or the symmetric part of it): so is the adjoint.
    np.testing.assert_allclose(a.grad.numpy()[0], seed[0] + seed[1] + (seed[2] + seed[2].T) / 2, atol=1e-11)


@wp.kernel
def all_svd3(a: wp.array[wp.mat33d], w: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    u, s, v = wp.svd3(a[0])
    out[0] = wp.ddot(u, w[0]) + wp.dot(s, w[1][0]) + wp.ddot(v, w[2])


@wp.kernel
def all_svd2(a: wp.array[wp.mat22d], w: wp.array[wp.mat22d], out: wp.array[wp.float64]):
    u, s, v = wp.svd2(a[0])
    out[0] = wp.ddot(u, w[0]) + wp.dot(s, w[1][0]) + wp.ddot(v, w[2])


@wp.kernel
def all_qr3(a: wp.array[wp.mat33d], w: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    q, r = wp.qr3(a[0])
    out[0] = wp.ddot(q, w[0]) + wp.ddot(r, w[1])


@wp.kernel
def all_eig3(a: wp.array[wp.mat33d], w: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    q, d = wp.eig3(a[0])
    out[0] = wp.ddot(q, w[0]) + wp.dot(d, w[1][0])


@wp.kernel
def polar(a: wp.array[wp.mat33d], w: wp.array[wp.mat33d], out: wp.array[wp.float64]):
    u, _, v = wp.svd3(a[0])
    out[0] = wp.ddot(u * wp.transpose(v), w[0])


def gradient(kernel, m, weights):
    dtype = wp.mat22d if len(m) == 2 else wp.mat33d
    a = wp.array([m], dtype=dtype, requires_grad=True)
    out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[a, wp.array(weights, dtype=dtype)], outputs=[out])
    tape.backward(loss=out)
    return a.grad.numpy()[0], out.numpy()[0]


def difference(kernel, m, weights, step=1e-6):
    found = np.zeros_like(m)
    for i in np.ndindex(*m.shape):
        ends = []
        for sign in (1, -1):
            moved = m.copy()
            moved[i] += sign * step
            ends.append(gradient(kernel, moved, weights)[1])
        found[i] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("kernel", [all_svd2, all_svd3, all_qr3, all_eig3, polar], ids=lambda k: k.key)
def test_derivatives(kernel):
    size = 2 if kernel is all_svd2 else 3
    weights = np.random.default_rng(5).normal(size=(3, size, size))
    for m in RANDOM[:5]:
        m = m[:size, :size]
        found, _ = gradient(kernel, m, weights)
        np.testing.assert_allclose(found, difference(kernel, m, weights), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("m", [np.eye(3), np.diag([2.0, 2.0, 1.0]), np.diag([-1.0, 2.0, 2.0])], ids=str)
def test_the_polar_factor_where_singular_values_are_equal(m):
    weights = np.random.default_rng(6).normal(size=(1, 3, 3))
    found, _ = gradient(polar, m, weights)
    np.testing.assert_allclose(found, difference(polar, m, weights), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", [all_svd3, all_qr3, all_eig3], ids=lambda k: k.key)
def test_derivatives_of_singular_matrices_are_finite(kernel):
    weights = np.random.default_rng(7).normal(size=(3, 3, 3))
    for m in SPECIAL:
        assert np.isfinite(gradient(kernel, m, weights)[0]).all()
