"""Cloth: springs between neighbours, then a step in time."""

import numpy as np
from problem import random
from row import Row, Subject, backward, forward

import warp as wp


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


def grid_of_springs(side):
    at = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.concatenate([at, np.zeros((len(at), 1))], axis=1) * 0.05 + 0.01 * random(len(at), 3)
    index = np.arange(side * side).reshape(side, side)
    pairs = [
        (index[:-1], index[1:]),
        (index[:, :-1], index[:, 1:]),
        (index[:-1, :-1], index[1:, 1:]),
        (index[1:, :-1], index[:-1, 1:]),
    ]
    ends = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs]).astype(np.int32)
    lengths = np.linalg.norm(at[ends[:, 0]] - at[ends[:, 1]], axis=1) * 0.05
    return points.astype(np.float32), ends, lengths.astype(np.float32)


def step_reference(x, v, rest, ends, dt):
    i, j = ends.T
    d = x[i] - x[j]
    length = np.linalg.norm(d, axis=1)
    along = d / length[:, None]
    pull = 500.0 * (length - rest) + 2.0 * np.sum(along * (v[i] - v[j]), axis=1)
    force = along * pull[:, None]
    f = np.stack([np.bincount(j, c, len(x)) - np.bincount(i, c, len(x)) for c in force.T], axis=1)
    v = v + dt * (f / np.float32(0.1) + np.array([0.0, np.float32(-9.81), 0.0]))
    return x + v * dt, v


def cloth(side, substeps=1):
    points, ends, lengths = grid_of_springs(side)
    n, dt = len(points), 0.001
    rest, ends_of = wp.array(lengths, requires_grad=True), wp.array(ends, dtype=wp.vec2i)
    xs = [wp.array(points, dtype=wp.vec3, requires_grad=True)]
    vs = [wp.zeros(n, dtype=wp.vec3, requires_grad=True)]
    # A frame goes to and fro between two states, after the first step.
    for states in (xs, vs):
        states += [wp.zeros(n, dtype=wp.vec3, requires_grad=True) for _ in range(min(2, substeps))]
    f = wp.zeros(n, dtype=wp.vec3, requires_grad=True)

    def launches():
        now = 0
        for k in range(substeps):
            then = 1 + k % 2
            f.zero_()
            wp.launch(springs, dim=len(ends), inputs=[xs[now], vs[now], ends_of, rest, f, 500.0, 2.0])
            wp.launch(integrate, dim=n, inputs=[xs[now], vs[now], f, 0.1, dt, xs[then], vs[then]])
            now = then

    def reference(x, v, rest):
        for _ in range(substeps):
            x, v = step_reference(x, v, rest, ends, np.float32(dt))
        return x

    output = xs[1 + (substeps - 1) % 2]
    return Subject(launches, [xs[0], vs[0], rest], output, reference, constants=[ends, np.array(substeps)])


ROWS = [
    Row("cloth_128x16", forward(cloth), {"side": 128, "substeps": 16}, 2.0, 1.0, "frames/s", gates={"numba": 1.2}),
    Row("cloth", forward(cloth), {"side": 256}),
    Row("cloth_back", backward(cloth), {"side": 256}),
]
