"""`wp.jvp`, `wp.vjp`, `wp.hvp` and `wp.grad` at Python scope, against closed forms and differences in float64."""

import numpy as np
import pytest
from support import random_kernels as rk
from support.check_random_kernels import load

import warp as wp

X = np.array([0.3, 0.7, -1.2])
V = np.array([1.0, -2.0, 0.5])


def array(values):
    return wp.array(np.asarray(values), dtype=wp.float64)


@wp.kernel
def wave(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * x[(i + 1) % 3]


@wp.kernel
def squares(y: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(total, 0, y[i] * y[i])


@wp.kernel
def shrink(x: wp.array(dtype=wp.float64), n: int):
    i = wp.tid()
    for _ in range(n):
        x[i] = wp.float64(0.5) * x[i] + wp.sin(x[i]) * x[i]


def energy(x):
    y = wp.zeros(3, dtype=wp.float64)
    wp.launch(wave, 3, [x], [y])
    doubled = y * wp.float64(2.0)
    total = wp.zeros(1, dtype=wp.float64)
    wp.launch(squares, 3, [doubled], [total])
    return total


def energy_numpy(x):
    y = 2.0 * np.sin(x) * np.roll(x, -1)
    return np.dot(y, y)


def gradient_numpy(f, x, step=1e-6):
    return np.array([(f(x + step * e) - f(x - step * e)) / (2.0 * step) for e in np.eye(len(x))])


# ---- functions of arrays ----


def test_all_of_one_function():
    x = array(X)
    want = gradient_numpy(energy_numpy, X)
    output, tangent = wp.jvp(energy, x, V)
    np.testing.assert_allclose(output.numpy(), [energy_numpy(X)], rtol=1e-14)
    np.testing.assert_allclose(tangent.numpy(), [np.dot(want, V)], rtol=1e-8)
    output, pullback = wp.vjp(energy, x)
    for scale in (1.0, -3.0):  # may be called again
        np.testing.assert_allclose(pullback([scale])[0].numpy(), scale * want, rtol=1e-8)
    np.testing.assert_allclose(wp.grad(energy)(x).numpy(), want, rtol=1e-8)
    output, product = wp.hvp(energy, x, V)
    wanted = (
        gradient_numpy(energy_numpy, X + 1e-4 * V, 1e-4) - gradient_numpy(energy_numpy, X - 1e-4 * V, 1e-4)
    ) / 2e-4
    np.testing.assert_allclose(product.numpy(), wanted, rtol=1e-5)
    assert not x.requires_grad


def test_a_hessian_in_closed_form():
    """sum(x^4)/12 has the Hessian diag(x^2)."""

    @wp.kernel
    def quartic(x: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
        i = wp.tid()
        wp.atomic_add(total, 0, x[i] ** wp.float64(4.0) / wp.float64(12.0))

    total = wp.zeros(1, dtype=wp.float64)
    output, product = wp.hvp(quartic, [array(X)], [V], dim=3, outputs=total)
    assert output is total
    np.testing.assert_allclose(product[0].numpy(), X * X * V, rtol=1e-12)


def test_derivatives_of_any_order_by_forward_mode():
    def sine(x):
        y = wp.zeros(3, dtype=wp.float64)
        wp.launch(wave, 3, [x], [y])
        return y

    @wp.kernel
    def only_sine(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = wp.sin(x[i])

    def first(x):
        return wp.jvp(only_sine, [x], [np.ones(3)], dim=3, outputs=wp.zeros(3, dtype=wp.float64))[1]

    def second(x):
        return wp.jvp(first, x, np.ones(3))[1]

    np.testing.assert_allclose(second(array(X)).numpy(), -np.sin(X), rtol=1e-14)
    np.testing.assert_allclose(wp.jvp(second, array(X), np.ones(3))[1].numpy(), -np.cos(X), rtol=1e-14)


def test_several_inputs_and_outputs():
    @wp.kernel
    def mix(
        a: wp.array(dtype=wp.vec2d),
        n: wp.array(dtype=int),
        s: wp.float64,
        p: wp.array(dtype=wp.float64),
        q: wp.array(dtype=wp.vec2d),
    ):
        i = wp.tid()
        p[i] = s * wp.dot(a[i], a[n[i]])
        q[i] = a[n[i]] * a[i][0]

    a0 = np.array([[0.5, 1.0], [2.0, -1.0]])
    va = np.array([[1.0, 0.0], [0.5, 2.0]])
    order = np.array([1, 1])

    def reference(a):
        return np.concatenate([3.0 * (a * a[order]).sum(1), (a[order] * a[:, :1]).ravel()])

    jacobian = np.array(
        [(reference(a0 + 1e-6 * e) - reference(a0 - 1e-6 * e)) / 2e-6 for e in np.eye(4).reshape(4, 2, 2)]
    ).T
    a, n = wp.array(a0, dtype=wp.vec2d), wp.array(order, dtype=int)
    p, q = wp.zeros(2, dtype=wp.float64), wp.zeros(2, dtype=wp.vec2d)
    outputs, tangents = wp.jvp(mix, [a, n, 3.0], [va, None, None], dim=2, outputs=[p, q])
    assert outputs == (p, q)
    got = np.concatenate([tangents[0].numpy(), tangents[1].numpy().ravel()])
    np.testing.assert_allclose(got, jacobian @ va.ravel(), rtol=1e-8, atol=1e-8)
    _, tangents = wp.jvp(mix, [a, n, 3.0], [None, None, 2.0], dim=2, outputs=[p, q])
    np.testing.assert_allclose(tangents[0].numpy(), 2.0 * (a0 * a0[order]).sum(1), rtol=1e-14)
    assert not tangents[1].numpy().any()
    _, pullback = wp.vjp(mix, a, n, 3.0, dim=2, outputs=[p, q])
    seeds = [np.array([1.0, 2.0]), np.array([[0.5, -1.0], [3.0, 0.25]])]
    found = pullback(seeds)
    assert found[1:] == (None, None)
    wanted = np.concatenate([seeds[0], seeds[1].ravel()]) @ jacobian
    np.testing.assert_allclose(found[0].numpy().ravel(), wanted, rtol=1e-8, atol=1e-8)
    wanted = np.concatenate([seeds[0], np.zeros(4)]) @ jacobian
    np.testing.assert_allclose(pullback([seeds[0], None])[0].numpy().ravel(), wanted, rtol=1e-8, atol=1e-8)


def test_state_that_is_overwritten():
    """x <- x/2 + x sin(x), several times in place, in one launch and over several."""

    def step(x):
        return 0.5 * x + np.sin(x) * x

    def rollout(x):
        for n in (2, 1, 3):
            wp.launch(shrink, 3, [x, n])
        return x

    def reference(x):
        for _ in range(6):
            x = step(x)
        return x

    want = np.diag(gradient_numpy(reference, X))
    np.testing.assert_allclose(wp.jvp(rollout, array(X), V)[1].numpy(), want * V, rtol=1e-7)
    _, pullback = wp.vjp(rollout, array(X))
    np.testing.assert_allclose(pullback(V)[0].numpy(), want * V, rtol=1e-7)


def test_copies_fills_and_views():
    def work(x):
        y = wp.zeros(6, dtype=wp.float64)
        wp.copy(y[3:], x)
        z = y[3:5] * y[3:5]
        y.fill_(2.0)
        total = y[1:3] * z
        wp.copy(x[:2], total)
        return x

    got = wp.jvp(work, array(X), V)[1].numpy()
    want = np.array([4.0 * X[0] * V[0], 4.0 * X[1] * V[1], V[2]])
    np.testing.assert_allclose(got, want, rtol=1e-14)
    _, pullback = wp.vjp(work, array(X))
    np.testing.assert_allclose(pullback(np.ones(3))[0].numpy(), [4.0 * X[0], 4.0 * X[1], 1.0], rtol=1e-14)


@pytest.mark.host("memory of NumPy")
def test_memory_seen_through_numpy_is_the_same_memory():
    data = X.copy()

    def work(x):
        alias = wp.array(data, dtype=wp.float64, copy=False)
        y = wp.zeros(3, dtype=wp.float64)
        wp.launch(wave, 3, [alias], [y])
        return y

    x = wp.array(data, dtype=wp.float64, copy=False)
    want = np.cos(X) * V * np.roll(X, -1) + np.sin(X) * np.roll(V, -1)
    np.testing.assert_allclose(wp.jvp(work, x, V)[1].numpy(), want, rtol=1e-14)
    _, pullback = wp.vjp(work, x)
    found = pullback(np.ones(3))[0].numpy()
    np.testing.assert_allclose(found, np.cos(X) * np.roll(X, -1) + np.roll(np.sin(X), 1), rtol=1e-14)


def test_structs():
    @wp.struct
    class State:
        a: wp.array(dtype=wp.float64)
        scale: wp.float64

    @wp.kernel
    def cubes(s: State, y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = s.scale * s.a[i] * s.a[i] * s.a[i]

    def work(x):
        s, y = State(), wp.zeros(3, dtype=wp.float64)
        s.a, s.scale = x, 2.0
        wp.launch(cubes, 3, [s], [y])
        return y

    np.testing.assert_allclose(wp.jvp(work, array(X), V)[1].numpy(), 6.0 * X * X * V, rtol=1e-14)
    np.testing.assert_allclose(wp.vjp(work, array(X))[1](V)[0].numpy(), 6.0 * X * X * V, rtol=1e-14)
    total = lambda x: _sum(work(x))  # noqa: E731
    np.testing.assert_allclose(wp.hvp(total, array(X), V)[1].numpy(), 12.0 * X * V, rtol=1e-14)


def _sum(y):
    total = wp.zeros(1, dtype=wp.float64)

    @wp.kernel(module="unique")
    def add(y: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
        wp.atomic_add(total, 0, y[wp.tid()])

    wp.launch(add, y.shape[0], [y], [total])
    return total


def test_generic_kernels_and_defaults():
    @wp.kernel
    def scaled(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    @wp.kernel
    def power(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), n: int = 3):
        i = wp.tid()
        p = wp.float64(1.0)
        for _ in range(n):
            p *= x[i]
        y[i] = p

    y = wp.zeros(3, dtype=wp.float64)
    np.testing.assert_allclose(wp.jvp(scaled, [array(X)], [V], dim=3, outputs=y)[1].numpy(), 2.0 * X * V)
    np.testing.assert_allclose(wp.jvp(power, [array(X), y], [V, None], dim=3, outputs=[])[0], ())
    f = lambda x: (wp.launch(power, 3, [x, y]), y)[1]  # noqa: E731
    np.testing.assert_allclose(wp.jvp(f, array(X), V)[1].numpy(), 3.0 * X * X * V)


def test_a_function_with_a_gradient_of_its_own():
    """Forward mode means the same derivative as reverse mode."""

    @wp.func
    def clipped(v: wp.vec2d, s: wp.float64):
        return wp.vec2d(wp.min(v[0], s), v[1] * s), s * s

    @wp.func_grad(clipped)
    def adj_clipped(v: wp.vec2d, s: wp.float64, adj_w: wp.vec2d, adj_t: wp.float64):
        wp.adjoint[v] += wp.vec2d(wp.float64(5.0) * adj_w[0], s * adj_w[1])  # passes through the clip
        wp.adjoint[s] += v[1] * adj_w[1] + wp.float64(2.0) * s * adj_t

    @wp.kernel
    def apply(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        w, t = clipped(wp.vec2d(x[0], x[1]), x[2])
        y[0] = w[0]
        y[1] = w[1]
        y[2] = t

    jacobian = np.array([[5.0, 0.0, 0.0], [0.0, X[2], X[1]], [0.0, 0.0, 2.0 * X[2]]])
    y = wp.zeros(3, dtype=wp.float64)
    np.testing.assert_allclose(wp.jvp(apply, [array(X)], [V], dim=1, outputs=y)[1].numpy(), jacobian @ V, rtol=1e-14)
    _, pullback = wp.vjp(apply, array(X), dim=1, outputs=y)
    np.testing.assert_allclose(pullback(V)[0].numpy(), V @ jacobian, rtol=1e-14)


def test_a_length_of_zero_has_a_tangent_of_zero():
    @wp.kernel
    def lengths(x: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = wp.length(x[i])

    x = wp.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]], dtype=wp.vec3d)
    y = wp.zeros(2, dtype=wp.float64)
    tangent = wp.jvp(lengths, [x], [np.ones((2, 3))], dim=2, outputs=y)[1]
    np.testing.assert_allclose(tangent.numpy(), [1.4, 0.0], rtol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels(seed, tmp_path):
    """Forward and reverse mode agree: w . (J v) = (w J) . v, and Hessians with differences of gradients."""
    x, a, y, n, h = rk.inputs(seed)
    kernel, holder = load(rk.program(seed), tmp_path, f"forward_{seed}")
    r = np.random.default_rng(seed)
    given, vectors, weights = (x, a, h), r.uniform(-1.0, 1.0, (3, rk.ITEMS)), r.uniform(-1.0, 1.0, (3, rk.ITEMS))
    turns = wp.array(n, dtype=wp.int32)

    def run(x, a, h):
        y_out, a = wp.array(y, dtype=wp.float64), wp.clone(a)
        holder.h = wp.clone(h)
        wp.launch(kernel, rk.ITEMS, [x, a, y_out, turns, holder])
        return a, y_out, holder.h

    outputs, tangents = wp.jvp(run, [array(v) for v in given], list(vectors))
    again, pullback = wp.vjp(run, *(array(v) for v in given))
    for one, other in zip(outputs, again, strict=True):
        assert one.numpy().tolist() == other.numpy().tolist()
    forward = sum(np.dot(w, t.numpy()) for w, t in zip(weights, tangents, strict=True))
    reverse = sum(np.dot(g.numpy(), v) for g, v in zip(pullback(list(weights)), vectors, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-11)
    if seed >= 12:
        return

    def loss(*given):
        total = wp.zeros(1, dtype=wp.float64)
        for part in run(*given):
            wp.launch(squares, rk.ITEMS, [part, total])
        return total

    products = wp.hvp(loss, [array(v) for v in given], list(vectors))[1]
    sides = [wp.grad(loss)(*(array(g + s * v) for g, v in zip(given, vectors, strict=True))) for s in (1e-6, -1e-6)]
    for product, up, down in zip(products, *sides, strict=True):
        want = (up.numpy() - down.numpy()) / 2e-6
        np.testing.assert_allclose(product.numpy(), want, rtol=1e-4, atol=1e-4)


# ---- plain values ----


@wp.func
def value(a: float, b: float, k: int):
    return a * a * b, wp.sin(b)


def test_grad_of_plain_values():
    np.testing.assert_allclose(wp.grad(value)(2.0, 3.0, 1), [12.0, 4.0 + np.cos(3.0), 0.0], rtol=1e-6)
    np.testing.assert_allclose(wp.grad(wp.sin)(0.5), np.cos(0.5), rtol=1e-6)
    gradient = wp.grad(wp.length)(wp.vec3(3.0, 0.0, 4.0))
    np.testing.assert_allclose(np.array(gradient), [0.6, 0.0, 0.8], rtol=1e-6)


def test_grad_in_kernels_means_the_same():
    @wp.kernel
    def both(o: wp.array(dtype=float)):
        a, b, _ = wp.grad(value)(2.0, 3.0, 1)
        o[0] = a
        o[1] = b

    o = wp.zeros(2, dtype=float)
    wp.launch(both, 1, [o])
    np.testing.assert_allclose(o.numpy(), [12.0, 4.0 + np.cos(3.0)], rtol=1e-6)


# ---- what is refused ----


def test_what_is_refused():
    x = array(X)
    y = wp.zeros(3, dtype=wp.float64)
    with pytest.raises(ValueError, match="tangent of primal 0"):
        wp.jvp(energy, x, np.ones(2))
    with pytest.raises(ValueError, match="expected 1, found 2"):
        wp.jvp(energy, [x], [V, V])
    with pytest.raises(TypeError, match="needs dim="):
        wp.jvp(wave, [x], [V])
    with pytest.raises(TypeError, match="for kernels"):
        wp.jvp(energy, [x], [V], dim=3)
    with pytest.raises(TypeError, match="must return an array"):
        wp.vjp(lambda x: 2.0, x)
    with pytest.raises(TypeError, match="arrays of floats have tangents"):
        wp.jvp(wave, [wp.zeros(3, dtype=int)], [V], dim=3, outputs=y)
    with pytest.raises(ValueError, match="cotangent of output 0"):
        wp.vjp(energy, x)[1](np.ones(2))
    with pytest.raises(TypeError, match=r"wp\.vjp\(\) takes kernels"):
        wp.grad(wave)
    with pytest.raises(TypeError, match="one number"):
        wp.hvp(wave, [x], [V], dim=3, outputs=y)
    with pytest.raises(TypeError, match="array of floats"):
        wp.grad(lambda n: n)(wp.zeros(3, dtype=int))


def test_derivatives_of_pullbacks_are_refused():
    x = array(X)
    gradient = wp.grad(energy)
    with pytest.raises(wp.WarpGradientError, match=r"wp\.hvp"):
        wp.jvp(gradient, x, V)
    with pytest.raises(wp.WarpGradientError, match=r"wp\.hvp"):
        wp.vjp(gradient, x)

    def by_tape(x):
        y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(wave, 3, [x], [y])
        tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
        return x.grad

    x.requires_grad = True
    with pytest.raises(RuntimeError, match="nested"):
        wp.vjp(by_tape, x)
    with pytest.raises(wp.WarpGradientError, match=r"wp\.hvp"), wp.Tape():
        wp.grad(energy)(x)
    # Nothing is left active.
    assert wp._core.get_tape() is None and wp._core.get_forward() is None


def test_kernels_without_a_backward_pass_are_refused():
    @wp.kernel(enable_backward=False)
    def double(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = x[i] * wp.float64(2.0)

    y = wp.zeros(3, dtype=wp.float64)
    with pytest.raises(wp.WarpGradientError, match="enable_backward"):
        wp.vjp(double, array(X), dim=3, outputs=y)
    np.testing.assert_allclose(wp.jvp(double, [array(X)], [V], dim=3, outputs=y)[1].numpy(), 2.0 * V)


def test_an_array_filled_on_a_tape_ends_its_gradient():
    x, y = wp.array(X, dtype=wp.float64, requires_grad=True), wp.zeros(3, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(wave, 3, [x], [y])
        y.zero_()
        y += x
    tape.backward(grads={y: wp.ones(3, dtype=wp.float64)})
    assert x.grad.numpy().tolist() == [1.0, 1.0, 1.0]
