"""MPM in two dimensions: particles to a grid, the grid, and back; a fluid whose pressure follows its volume."""

import numpy as np
from problem import random
from row import Row, Subject, forward
from subjects.mpm_reference import back_from_grid, momentum_on_grid, nodes_around, velocity_on_grid

import warp as wp

DT = 1.0e-4
STIFFNESS = 0.02  # of a fluid, over the mass of its particles


@wp.func
def weights(fx: wp.vec2):
    a = wp.vec2(1.5) - fx
    b = fx - wp.vec2(1.0)
    c = fx - wp.vec2(0.5)
    return wp.matrix_from_cols(wp.cw_mul(a, a) * 0.5, wp.vec2(0.75) - wp.cw_mul(b, b), wp.cw_mul(c, c) * 0.5)


@wp.kernel
def to_grid(
    x: wp.array(dtype=wp.vec2),
    v: wp.array(dtype=wp.vec2),
    c: wp.array(dtype=wp.mat22),
    volume: wp.array(dtype=float),
    cells: float,
    grid_v: wp.array2d(dtype=wp.vec2),
    grid_m: wp.array2d(dtype=float),
):
    p = wp.tid()
    scaled = x[p] * cells
    base_x = int(scaled[0] - 0.5)
    base_y = int(scaled[1] - 0.5)
    fx = scaled - wp.vec2(float(base_x), float(base_y))
    w = weights(fx)
    affine = c[p] - wp.identity(n=2, dtype=float) * (DT * 4.0 * cells * STIFFNESS * (volume[p] - 1.0))
    for i in range(3):
        for j in range(3):
            offset = (wp.vec2(float(i), float(j)) - fx) / cells
            weight = w[0, i] * w[1, j]
            wp.atomic_add(grid_v, base_x + i, base_y + j, (v[p] + affine * offset) * weight)
            wp.atomic_add(grid_m, base_x + i, base_y + j, weight)


@wp.kernel
def on_grid(grid_v: wp.array2d(dtype=wp.vec2), grid_m: wp.array2d(dtype=float)):
    i, j = wp.tid()
    m = grid_m[i, j]
    if m > 1.0e-6:
        v = grid_v[i, j] / m + wp.vec2(0.0, -9.81 * DT)
        if j < 3 and v[1] < 0.0:
            v = wp.vec2(v[0], 0.0)
        grid_v[i, j] = v


@wp.kernel
def from_grid(
    x: wp.array(dtype=wp.vec2),
    volume: wp.array(dtype=float),
    grid_v: wp.array2d(dtype=wp.vec2),
    cells: float,
    x_new: wp.array(dtype=wp.vec2),
    v_new: wp.array(dtype=wp.vec2),
    c_new: wp.array(dtype=wp.mat22),
    volume_new: wp.array(dtype=float),
):
    p = wp.tid()
    scaled = x[p] * cells
    base_x = int(scaled[0] - 0.5)
    base_y = int(scaled[1] - 0.5)
    fx = scaled - wp.vec2(float(base_x), float(base_y))
    w = weights(fx)
    v = wp.vec2(0.0)
    c = wp.mat22(0.0)
    for i in range(3):
        for j in range(3):
            offset = wp.vec2(float(i), float(j)) - fx
            weight = w[0, i] * w[1, j]
            at = grid_v[base_x + i, base_y + j]
            v += at * weight
            c += wp.outer(at, offset) * (weight * 4.0 * cells)
    v_new[p] = v
    c_new[p] = c
    x_new[p] = x[p] + v * DT
    volume_new[p] = volume[p] * (1.0 + DT * wp.trace(c))


def step_reference(x, v, c, volume, cells):
    nodes = nodes_around(x, cells)
    affine = c - (DT * 4.0 * cells * STIFFNESS * (volume - 1.0))[:, None, None] * np.eye(2)
    momentum, mass = momentum_on_grid(nodes, v, affine, cells)
    above_floor = np.arange(cells**2) % cells >= 3
    v, c = back_from_grid(nodes, velocity_on_grid(momentum, mass, -9.81 * DT, above_floor), cells)
    return v, c, volume * (1.0 + DT * np.trace(c, axis1=1, axis2=2))


def mpm_2d(n, cells):
    kinds = (wp.vec2, wp.vec2, wp.mat22, float)
    first = (
        0.1 + 0.8 * random(n, 2, seed=1),
        random(n, 2, seed=2) - 0.5,
        random(n, 2, 2, seed=3) * 0.1,
        1.0 + 0.1 * random(n, seed=4),
    )
    state = [wp.array(s, dtype=k) for s, k in zip(first, kinds, strict=True)]
    after = [wp.zeros(n, dtype=k) for k in kinds]
    grid_v, grid_m = wp.zeros((cells, cells), dtype=wp.vec2), wp.zeros((cells, cells), dtype=float)

    def launches():
        grid_v.zero_()
        grid_m.zero_()
        wp.launch(to_grid, dim=n, inputs=[*state, float(cells), grid_v, grid_m])
        wp.launch(on_grid, dim=(cells, cells), inputs=[grid_v, grid_m])
        wp.launch(from_grid, dim=n, inputs=[state[0], state[3], grid_v, float(cells), *after])

    # Velocities: in positions an error would be multiplied by the step in time.
    return Subject(
        launches, state, after[1], lambda *now: step_reference(*now, cells)[0], 1e-4, constants=[np.array(cells)]
    )


ROWS = [
    Row("mpm_2d_64k", forward(mpm_2d), {"n": 65536, "cells": 256}, None, 65536 / 1e6, "M/s"),
    Row("mpm_2d_1m", forward(mpm_2d), {"n": 10**6, "cells": 1024}, None, 1.0, "M/s", rounds=5),
]
