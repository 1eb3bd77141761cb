"""MPM: particles to a grid, the grid, and back (moving least squares, neo-Hookean)."""

import numpy as np
from problem import random
from row import Row, Subject, backward, forward, gradient
from subjects.mpm_reference import back_from_grid, momentum_on_grid, nodes_around, velocity_on_grid

import warp as wp


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


def step_reference(x, v, c, deformation, cells, dt):
    nodes = nodes_around(x, cells)
    one = np.eye(3)
    stress = 100.0 * (deformation @ deformation.transpose(0, 2, 1) - one)
    stress = stress + 40.0 * np.log(np.linalg.det(deformation))[:, None, None] * one
    momentum, mass = momentum_on_grid(nodes, v, c - stress * (dt * 4.0 * cells * cells * 1.0e-4), cells)
    above_floor = np.arange(cells**3) // cells % cells >= 3
    v, c = back_from_grid(nodes, velocity_on_grid(momentum, mass, -9.81 * dt, above_floor), cells)
    return x + v * dt, v, c, (one + c * dt) @ deformation


def mpm(n, cells, steps=1):
    dt = 1.0e-4
    kinds = (wp.vec3, wp.vec3, wp.mat33, wp.mat33)
    first = (
        0.3 + 0.4 * random(n, 3, seed=1),
        random(n, 3, seed=2) - 0.5,
        random(n, 3, 3, seed=3) * 0.1,
        np.eye(3, dtype=np.float32) + 0.05 * random(n, 3, 3, seed=4),
    )
    states = [[wp.array(s, dtype=k, requires_grad=True) for s, k in zip(first, kinds, strict=True)]]
    states += [[wp.zeros(n, dtype=k, requires_grad=True) for k in kinds] for _ in range(steps)]
    shape = (cells, cells, cells)
    grids = [[wp.zeros(shape, dtype=k, requires_grad=True) for k in (wp.vec3, float, wp.vec3)] for _ in range(steps)]

    def launches():
        for k in range(steps):
            (x, v, c, deformation), (grid_v, grid_m, grid_out) = states[k], grids[k]
            for grid in grids[k]:
                grid.zero_()
            wp.launch(to_grid, dim=n, inputs=[x, v, c, deformation, float(cells), dt, grid_v, grid_m])
            wp.launch(on_grid, dim=shape, inputs=[grid_v, grid_m, dt, grid_out])
            wp.launch(from_grid, dim=n, inputs=[x, deformation, grid_out, float(cells), dt, *states[k + 1]])

    def reference(*state):
        for _ in range(steps):
            state = step_reference(*state, cells, dt)
        return state[0]

    return Subject(launches, states[0], states[-1][0], reference, constants=[np.array(cells)])


ROWS = [
    Row("mpm_64k", forward(mpm), {"n": 65536, "cells": 64}, 2.5, 65536 / 1e6, "M/s", gates={"taichi": 1.3}),
    Row("mpm_1m", forward(mpm), {"n": 10**6, "cells": 128}, None, 1.0, "M/s", rounds=5),
    Row("gradient_mpm_16k_x4", gradient(mpm), {"n": 16384, "cells": 32, "steps": 4}, 2.5, 4 * 16384 / 1e6, "M/s"),
    Row("mpm", forward(mpm), {"n": 40_000, "cells": 48}),
    Row("mpm_back", backward(mpm), {"n": 40_000, "cells": 48}),
]
