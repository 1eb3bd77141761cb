"""Each kind of program whose gradient others of this kind get silently wrong, with values worked out by hand."""

import numpy as np
import pytest

import warp as wp

A = wp.array(dtype=wp.float64)


def leaf(*values):
    return wp.array(values, dtype=wp.float64, requires_grad=True)


def gradients(kernel, dim, inputs, output, seed=None):
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim, [*inputs, output])
    tape.backward(grads={output: wp.ones_like(output) if seed is None else seed})
    return [a.grad.numpy().tolist() for a in inputs if isinstance(a, wp.array) and a.requires_grad]


@wp.kernel
def power(x: A, n: int, out: A):
    i = wp.tid()
    p = wp.float64(1.0)
    for _ in range(n):
        p = p * x[i]
    out[i] = p


def test_a_variable_changed_in_a_run_time_loop():
    assert gradients(power, 2, [leaf(2.0, 3.0), 3], leaf(0.0, 0.0)) == [[12.0, 27.0]]  # 3 x^2


@wp.kernel
def odd_turns(x: A, n: int, out: A):
    i = wp.tid()
    p = wp.float64(1.0)
    for k in range(n):
        if k % 2 == 0:
            continue
        p = p * x[i] + x[i]
    out[i] = p


def test_continue():
    # n = 4: turns 1 and 3: (x + x) x + x = 2 x^2 + x.
    assert gradients(odd_turns, 1, [leaf(3.0), 4], leaf(0.0)) == [[13.0]]


@wp.kernel
def grid_of_turns(x: A, n: int, m: int, out: A):
    i = wp.tid()
    p = x[i]
    for _ in range(n):
        q = p
        for _ in range(m):
            q = q * x[i]
        p = q
    out[i] = p


def test_nested_loops():
    # x^(1 + n m): n = 2, m = 2 gives 5 x^4.
    assert gradients(grid_of_turns, 1, [leaf(2.0), 2, 2], leaf(0.0)) == [[80.0]]


@wp.kernel
def two_loops(x: A, n: int, out: A):
    i = wp.tid()
    p = wp.float64(1.0)
    for _ in range(n):
        p = p * x[i]
    q = p
    for _ in range(n):
        q = q * p
    out[i] = q + p


def test_a_value_that_lives_across_loops():
    # n = 2: p = x^2, q = p^3: x^6 + x^2, derivative 6 x^5 + 2 x.
    assert gradients(two_loops, 1, [leaf(2.0), 2], leaf(0.0)) == [[196.0]]


@wp.kernel
def scale_in_place(x: A, out: A):
    i = wp.tid()
    out[i] *= x[i]
    out[i] /= x[i] * x[i]
    out[i] -= x[i]


def test_in_place_products_and_quotients():
    # out x / x^2 - x = out / x - x: by x: -out / x^2 - 1; by out: 1 / x.
    out = leaf(6.0, 1.0)
    assert gradients(scale_in_place, 2, [leaf(2.0, -1.0)], out) == [[-2.5, -2.0]]
    assert out.grad.numpy().tolist() == [0.5, -1.0]


@wp.kernel
def components(x: A, out: A):
    i = wp.tid()
    v = wp.vec3d(x[i], wp.float64(2.0), wp.float64(3.0))
    v[1] = v[0] * v[1]
    v[0] = v[1] * v[1]
    v[2] += v[0] * v[2]
    m = wp.matrix_from_cols(v, v)
    m[0, 1] = m[1, 0] * m[2, 1]
    out[i] = m[0, 1] + v[0]


def test_component_writes():
    # v1 = 2x, v0 = 4x^2, v2 = 3 + 12x^2; m01 = v1 v2 = 6x + 24x^3; out = 24x^3 + 4x^2 + 6x.
    assert gradients(components, 1, [leaf(0.5)], leaf(0.0)) == [[72.0 * 0.25 + 8.0 * 0.5 + 6.0]]


@wp.kernel
def uses_then_overwrites(x: A, out: A):
    i = wp.tid()
    y = x[i] * x[i]
    x[i] = y + wp.float64(1.0)
    out[i] = x[i] * y


def test_arrays_that_are_overwritten_and_reused():
    # (x^2 + 1) x^2: 4 x^3 + 2 x.
    x, out = leaf(2.0, 1.0), leaf(0.0, 0.0)
    tape = wp.Tape()
    with tape:
        wp.launch(uses_then_overwrites, 2, [x, out])
        x.fill_(9.0)
        wp.launch(power, 2, [out, 2, x])  # x = out^2
        out.fill_(7.0)
    tape.backward(grads={x: wp.ones(2, dtype=wp.float64)})
    # 2 out (4 x^3 + 2 x), out = 20 and 2.
    assert x.grad.numpy().tolist() == [2.0 * 20.0 * 36.0, 2.0 * 2.0 * 6.0]


def test_several_writes_with_retained_gradients():
    a, b, y = leaf(1.0), leaf(2.0), leaf(0.0)
    y.retain_grad = True
    tape = wp.Tape()
    with tape:
        wp.launch(power, 1, [a, 2, y])
        wp.launch(power, 1, [b, 3, y])
    tape.backward(grads={y: wp.ones(1, dtype=wp.float64)})
    assert [v.grad.numpy().tolist() for v in (a, b, y)] == [[0.0], [12.0], [1.0]]


@wp.struct
class Pair:
    first: wp.float64
    second: wp.vec2d


@wp.func
def make(x: wp.float64):
    p = Pair()
    p.first = x * x
    p.second = wp.vec2d(x, p.first)
    return p


@wp.func
def swap(p: Pair):
    q = Pair()
    q.first = p.second[1] * p.second[0]
    q.second = wp.vec2d(p.first, p.first)
    return q, p.first


@wp.kernel
def through_structs(x: A, out: A):
    i = wp.tid()
    p = make(x[i])
    q, s = swap(p)
    out[i] = q.first + q.second[0] * s


def test_struct_returns():
    # x^3 + x^4.
    assert gradients(through_structs, 1, [leaf(2.0)], leaf(0.0)) == [[12.0 + 32.0]]


def test_seeds_used_twice():
    x, out = leaf(2.0), leaf(0.0)
    tape = wp.Tape()
    with tape:
        wp.launch(power, 1, [x, 3, out])
    seed = wp.array([10.0], dtype=wp.float64)
    for times in (1, 2):
        tape.backward(grads={out: seed})
        assert x.grad.numpy().tolist() == [times * 120.0] and seed.numpy().tolist() == [10.0]


@wp.kernel
def pull(x: wp.array(dtype=wp.vec3d), n: int, f: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    total = wp.vec3d()
    for j in range(n):
        d = x[j] - x[i]
        r = wp.dot(d, d) + wp.float64(0.01)
        total += d / (r * wp.sqrt(r))
    f[i] = total


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
def test_all_pairs(n):
    """Lanes that add to one place: the adjoint of sum(w_i . f_i) by x, pair by pair."""
    r = np.random.default_rng(n)
    points, weights = r.uniform(-1.0, 1.0, (n, 3)), r.uniform(-1.0, 1.0, (n, 3))
    x = wp.array(points, dtype=wp.vec3d, requires_grad=True)
    f = wp.zeros(n, dtype=wp.vec3d, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(pull, n, [x, n, f])
    tape.backward(grads={f: wp.array(weights, dtype=wp.vec3d)})
    d = points[None] - points[:, None]
    q = (d * d).sum(-1) + 0.01
    wd = (weights[:, None] * d).sum(-1)
    by_d = weights[:, None] / q[..., None] ** 1.5 - 3.0 * d * (wd / q**2.5)[..., None]
    np.testing.assert_allclose(x.grad.numpy(), by_d.sum(0) - by_d.sum(1), rtol=1e-9, atol=1e-9)


@wp.func
def doubled(x: float):
    return 2.0 * x


@wp.func
def applied(f: wp.Function, x: float):
    return f(x) * x


@wp.func_grad(applied)
def adjoint_applied(f: wp.Function, x: float, adjoint: float):
    wp.adjoint[x] += 100.0 * adjoint


def test_functions_that_take_functions_may_have_a_gradient_of_their_own():
    @wp.kernel(module="unique")
    def kernel(x: wp.array[float], out: wp.array[float]):
        out[0] = applied(doubled, x[0])

    x, out = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x], outputs=[out])
    tape.backward(out)
    assert out.list() == [18] and x.grad.list() == [100]


@wp.func
def add(a: wp.vec3, b: float):
    return wp.vec3(a[0] + b, a[1] * b, a[2] + b * b)


def test_elements_changed_by_an_operator_of_the_user_have_gradients():
    @wp.kernel(module="unique")
    def kernel(v: wp.array[wp.vec3], b: wp.array[float]):
        v[0] += b[0]

    v = wp.array([wp.vec3(3.0, 4.0, 5.0)], dtype=wp.vec3, requires_grad=True)
    b = wp.array([2.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[v, b])
    assert v.numpy().tolist() == [[5, 8, 9]]
    tape.backward(grads={v: wp.array([wp.vec3(1.0, 10.0, 100.0)], dtype=wp.vec3)})
    assert v.grad.numpy().tolist() == [[1, 10 * 2, 100]]
    assert b.grad.list() == [1 + 10 * 4 + 100 * 2 * 2]
