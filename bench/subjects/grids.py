"""Stencils and lattice Boltzmann."""

import itertools

import numpy as np
from problem import random
from row import Row, Subject, backward, forward, gradient

import warp as wp


@wp.kernel
def stencil_kernel(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])


def neighbours(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]


def stencil(n):
    u, v = wp.array(random(n, n)), wp.zeros((n, n), dtype=float)

    def reference(u):
        return np.pad(u[1:-1, 1:-1] + 0.1 * neighbours(u), 1)

    return Subject(lambda: wp.launch(stencil_kernel, dim=(n, n), inputs=[u, v]), [u], v, reference)


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


def rollout(n, steps):
    states = [wp.array(random(n, n), requires_grad=True)]
    states += [wp.zeros((n, n), dtype=float, requires_grad=True) for _ in range(steps)]

    def launches():
        for k in range(steps):
            wp.launch(react, dim=(n, n), inputs=[states[k], states[k + 1], 0.1])

    def reference(u):
        for _ in range(steps):
            here = u[1:-1, 1:-1]
            u = np.pad(here + np.float32(0.1) * (neighbours(u) + here * (1.0 - here)), 1)
        return u

    return Subject(launches, [states[0]], states[-1], reference)


# ---- lattice Boltzmann: pulled from the neighbours, collided (BGK), periodic ----

NINE = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
NINETEEN = [v for v in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, v)) < 3]
NINE_WEIGHTS = [(4 / 9, 1 / 9, 1 / 36)[sum(map(abs, v))] for v in NINE]
NINETEEN_WEIGHTS = [(1 / 3, 1 / 18, 1 / 36)[sum(map(abs, v))] for v in NINETEEN]

vec9 = wp.types.vector(9, float)
vec19 = wp.types.vector(19, float)


@wp.kernel
def d2q9_kernel(f: wp.array3d(dtype=float), g: wp.array3d(dtype=float), omega: float):
    i, j = wp.tid()
    n = f.shape[1]
    m = f.shape[2]
    here = vec9()
    density = float(0.0)
    u = wp.vec2(0.0, 0.0)
    for k in range(9):
        a = (i - wp.static(NINE[k][0]) + n) % n
        b = (j - wp.static(NINE[k][1]) + m) % m
        here[k] = f[k, a, b]
        density += here[k]
        u += here[k] * wp.vec2(wp.static(float(NINE[k][0])), wp.static(float(NINE[k][1])))
    u = u / density
    for k in range(9):
        c = 3.0 * wp.dot(u, wp.vec2(wp.static(float(NINE[k][0])), wp.static(float(NINE[k][1]))))
        wanted = wp.static(NINE_WEIGHTS[k]) * density * (1.0 + c + 0.5 * c * c - 1.5 * wp.dot(u, u))
        g[k, i, j] = here[k] + omega * (wanted - here[k])


@wp.kernel
def d3q19_kernel(f: wp.array4d(dtype=float), g: wp.array4d(dtype=float), omega: float):
    x, y, z = wp.tid()
    n = f.shape[1]
    here = vec19()
    density = float(0.0)
    u = wp.vec3(0.0, 0.0, 0.0)
    for k in range(19):
        a = (x - wp.static(NINETEEN[k][0]) + n) % n
        b = (y - wp.static(NINETEEN[k][1]) + n) % n
        c = (z - wp.static(NINETEEN[k][2]) + n) % n
        here[k] = f[k, a, b, c]
        density += here[k]
        u += here[k] * wp.vec3(
            wp.static(float(NINETEEN[k][0])), wp.static(float(NINETEEN[k][1])), wp.static(float(NINETEEN[k][2]))
        )
    u = u / density
    for k in range(19):
        along = 3.0 * wp.dot(
            u,
            wp.vec3(
                wp.static(float(NINETEEN[k][0])), wp.static(float(NINETEEN[k][1])), wp.static(float(NINETEEN[k][2]))
            ),
        )
        wanted = wp.static(NINETEEN_WEIGHTS[k]) * density * (1.0 + along + 0.5 * along * along - 1.5 * wp.dot(u, u))
        g[k, x, y, z] = here[k] + omega * (wanted - here[k])


def lattice(n, kernel, velocities, weights):
    shape = (n,) * len(velocities[0])
    f = wp.array(1.0 + 0.1 * random(len(velocities), *shape))
    g = wp.zeros(f.shape, dtype=float)

    def reference(f):
        axes = tuple(range(len(shape)))
        pulled = [np.roll(f[k], v, axes) for k, v in enumerate(velocities)]
        density = sum(pulled)
        u = [sum(p * v[d] for p, v in zip(pulled, velocities, strict=True)) / density for d in axes]
        square = sum(c * c for c in u)
        out = np.empty_like(f)
        for k, (v, w) in enumerate(zip(velocities, weights, strict=True)):
            c = 3.0 * sum(v[d] * u[d] for d in axes)
            wanted = w * density * (1.0 + c + 0.5 * c * c - 1.5 * square)
            out[k] = pulled[k] + np.float32(1.2) * (wanted - pulled[k])
        return out

    constants = [np.array(velocities, dtype=np.int32), np.array(weights, dtype=np.float32)]
    return Subject(lambda: wp.launch(kernel, dim=shape, inputs=[f, g, 1.2]), [f], g, reference, constants=constants)


D2Q9 = {"kernel": d2q9_kernel, "velocities": NINE, "weights": NINE_WEIGHTS}
D3Q19 = {"kernel": d3q19_kernel, "velocities": NINETEEN, "weights": NINETEEN_WEIGHTS}
ROWS = [
    Row("stencil_2048", forward(stencil), {"n": 2048}, 5.0, 8 * 2048**2 / 1e9, "GB/s", "copy"),
    Row("d2q9_1024", forward(lattice), {"n": 1024, **D2Q9}, 7.0, 72 * 1024**2 / 1e9, "GB/s", "copy"),
    Row("d3q19_128", forward(lattice), {"n": 128, **D3Q19}, 6.0, 152 * 128**3 / 1e9, "GB/s", "copy"),
    Row("d3q19_256", forward(lattice), {"n": 256, **D3Q19}, None, 152 * 256**3 / 1e9, "GB/s", "copy", rounds=5),
    Row("gradient_stencil_512x20", gradient(rollout), {"n": 512, "steps": 20}, 5.0, 1.0, "steps/s"),
    Row("rollout", forward(rollout), {"n": 512, "steps": 10}),
    Row("rollout_back", backward(rollout), {"n": 512, "steps": 10}),
]
