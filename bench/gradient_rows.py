"""Rows of the benchmark for gradients: simulations forward, and backward through a tape; as in rows.py.

Each subject is a function that makes (launches, inputs, output): `launches()` computes the output once from the inputs,
from a clean start. The forward row runs it, the backward row the tape of it, again and again.
"""

import numpy as np
from rows import bodies_kernel

import warp as wp

RANDOM = np.random.default_rng(2)


def array(values, dtype=float):
    return wp.array(np.asarray(values, dtype=np.float32), dtype=dtype, requires_grad=True)


def zeros(shape, dtype=float):
    return wp.zeros(shape, dtype=dtype, requires_grad=True)


# ---- n-body: every body is drawn to every other one ----


def nbody(n=2000):
    x, f = array(RANDOM.random((n, 3)), wp.vec3), zeros(n, wp.vec3)
    return lambda: wp.launch(bodies_kernel, dim=n, inputs=[x, f, n]), [x], f


# ---- cloth: springs between neighbours, then a step in time ----


@wp.kernel
def springs(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    ends: wp.array(dtype=wp.vec2i),
    rest: wp.array(dtype=float),
    f: wp.array(dtype=wp.vec3),
    stiffness: float,
    damping: float,
):
    s = wp.tid()
    i = ends[s][0]
    j = ends[s][1]
    d = x[i] - x[j]
    length = wp.length(d)
    along = d / length
    pull = along * (stiffness * (length - rest[s]) + damping * wp.dot(along, v[i] - v[j]))
    wp.atomic_sub(f, i, pull)
    wp.atomic_add(f, j, pull)


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    mass: float,
    dt: float,
    x_new: wp.array(dtype=wp.vec3),
    v_new: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    a = f[i] / mass + wp.vec3(0.0, -9.81, 0.0)
    w = v[i] + a * dt
    v_new[i] = w
    x_new[i] = x[i] + w * dt


def cloth(side=256):
    at = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.concatenate([at, np.zeros((len(at), 1))], axis=1) * 0.05 + 0.01 * RANDOM.random((len(at), 3))
    index = np.arange(side * side).reshape(side, side)
    pairs = [
        (index[:-1], index[1:]),
        (index[:, :-1], index[:, 1:]),
        (index[:-1, :-1], index[1:, 1:]),
        (index[1:, :-1], index[:-1, 1:]),
    ]
    ends = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs]).astype(np.int32)
    lengths = np.linalg.norm(at[ends[:, 0]] - at[ends[:, 1]], axis=1) * 0.05
    x, v, rest = array(points, wp.vec3), zeros(len(at), wp.vec3), array(lengths)
    f, x_new, v_new = (zeros(len(at), wp.vec3) for _ in range(3))
    ends_of = wp.array(ends, dtype=wp.vec2i)

    def launches():
        f.zero_()
        wp.launch(springs, dim=len(ends), inputs=[x, v, ends_of, rest, f, 500.0, 2.0])
        wp.launch(integrate, dim=len(at), inputs=[x, v, f, 0.1, 0.001, x_new, v_new])

    return launches, [x, v, rest], x_new


# ---- MPM: particles to a grid, the grid, and back (moving least squares, neo-Hookean) ----


@wp.func
def bspline(fx: wp.vec3):
    a = wp.vec3(1.5) - fx
    b = fx - wp.vec3(1.0)
    c = fx - wp.vec3(0.5)
    return wp.matrix_from_cols(wp.cw_mul(a, a) * 0.5, wp.vec3(0.75) - wp.cw_mul(b, b), wp.cw_mul(c, c) * 0.5)


@wp.kernel
def to_grid(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    c: wp.array(dtype=wp.mat33),
    deformation: wp.array(dtype=wp.mat33),
    cells: float,
    dt: float,
    grid_v: wp.array3d(dtype=wp.vec3),
    grid_m: wp.array3d(dtype=float),
):
    p = wp.tid()
    scaled = x[p] * cells
    base_x = int(scaled[0] - 0.5)
    base_y = int(scaled[1] - 0.5)
    base_z = int(scaled[2] - 0.5)
    fx = scaled - wp.vec3(float(base_x), float(base_y), float(base_z))
    w = bspline(fx)
    deform = deformation[p]
    volume = wp.determinant(deform)
    stress = (deform * wp.transpose(deform) - wp.identity(n=3, dtype=float)) * 100.0 + wp.identity(n=3, dtype=float) * (
        40.0 * wp.log(volume)
    )
    affine = c[p] - stress * (dt * 4.0 * cells * cells * 1.0e-4)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                offset = (wp.vec3(float(i), float(j), float(k)) - fx) / cells
                weight = w[0, i] * w[1, j] * w[2, k]
                wp.atomic_add(grid_v, base_x + i, base_y + j, base_z + k, (v[p] + affine * offset) * weight)
                wp.atomic_add(grid_m, base_x + i, base_y + j, base_z + k, weight)


@wp.kernel
def on_grid(
    grid_v: wp.array3d(dtype=wp.vec3), grid_m: wp.array3d(dtype=float), dt: float, out: wp.array3d(dtype=wp.vec3)
):
    i, j, k = wp.tid()
    m = grid_m[i, j, k]
    if m > 1.0e-6:
        v = grid_v[i, j, k] / m + wp.vec3(0.0, -9.81 * dt, 0.0)
        if j < 3 and v[1] < 0.0:
            v = wp.vec3(v[0], 0.0, v[2])
        out[i, j, k] = v


@wp.kernel
def from_grid(
    x: wp.array(dtype=wp.vec3),
    deformation: wp.array(dtype=wp.mat33),
    grid_v: wp.array3d(dtype=wp.vec3),
    cells: float,
    dt: float,
    x_new: wp.array(dtype=wp.vec3),
    v_new: wp.array(dtype=wp.vec3),
    c_new: wp.array(dtype=wp.mat33),
    deformation_new: wp.array(dtype=wp.mat33),
):
    p = wp.tid()
    scaled = x[p] * cells
    base_x = int(scaled[0] - 0.5)
    base_y = int(scaled[1] - 0.5)
    base_z = int(scaled[2] - 0.5)
    fx = scaled - wp.vec3(float(base_x), float(base_y), float(base_z))
    w = bspline(fx)
    v = wp.vec3(0.0)
    c = wp.mat33(0.0)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                offset = wp.vec3(float(i), float(j), float(k)) - fx
                weight = w[0, i] * w[1, j] * w[2, k]
                at = grid_v[base_x + i, base_y + j, base_z + k]
                v += at * weight
                c += wp.outer(at, offset) * (weight * 4.0 * cells)
    v_new[p] = v
    c_new[p] = c
    x_new[p] = x[p] + v * dt
    deformation_new[p] = (wp.identity(n=3, dtype=float) + c * dt) * deformation[p]


def mpm(n=40_000, cells=48):
    dt = 1.0e-4
    x = array(0.3 + 0.4 * RANDOM.random((n, 3)), wp.vec3)
    v = array(RANDOM.random((n, 3)) - 0.5, wp.vec3)
    c = array(RANDOM.random((n, 3, 3)) * 0.1, wp.mat33)
    deformation = array(np.eye(3) + 0.05 * RANDOM.random((n, 3, 3)), wp.mat33)
    shape = (cells, cells, cells)
    grid_v, grid_out, grid_m = zeros(shape, wp.vec3), zeros(shape, wp.vec3), zeros(shape)
    x_new, v_new = zeros(n, wp.vec3), zeros(n, wp.vec3)
    c_new, deformation_new = zeros(n, wp.mat33), zeros(n, wp.mat33)

    def launches():
        grid_v.zero_()
        grid_m.zero_()
        wp.launch(to_grid, dim=n, inputs=[x, v, c, deformation, float(cells), dt, grid_v, grid_m])
        wp.launch(on_grid, dim=shape, inputs=[grid_v, grid_m, dt, grid_out])
        wp.launch(
            from_grid,
            dim=n,
            inputs=[x, deformation, grid_out, float(cells), dt, x_new, v_new, c_new, deformation_new],
        )

    return launches, [x, v, c, deformation], x_new


# ---- a rollout of a stencil: diffusion with a reaction ----


@wp.kernel
def react(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float), dt: float):
    i, j = wp.tid()
    n = u.shape[0]
    m = u.shape[1]
    if i > 0 and j > 0 and i < n - 1 and j < m - 1:
        here = u[i, j]
        flow = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * here
        out[i, j] = here + dt * (flow + here * (1.0 - here))


def rollout(n=512, steps=10):
    states = [array(RANDOM.random((n, n)))] + [zeros((n, n)) for _ in range(steps)]

    def launches():
        for k in range(steps):
            wp.launch(react, dim=(n, n), inputs=[states[k], states[k + 1], 0.1])

    return launches, [states[0]], states[-1]


def _rows(subject):
    def forward():
        launches, _, output = subject()
        return launches, output.numpy

    def backward():
        launches, inputs, output = subject()
        tape = wp.Tape()
        with tape:
            launches()
        seed = wp.full(output.shape, value=output.dtype(1.0), dtype=output.dtype)
        # Gradients add up: what is compared is the first run's.
        return lambda: tape.backward(grads={output: seed}), inputs[0].grad.numpy

    forward.__name__, backward.__name__ = subject.__name__, subject.__name__ + "_back"
    return [forward, backward]


ROWS = [row for subject in (nbody, cloth, mpm, rollout) for row in _rows(subject)]
