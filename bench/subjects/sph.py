"""A fluid of smoothed particles whose neighbours are found by looking at all: densities, then forces."""

import numpy as np
from problem import random
from row import Row, Subject, forward

import warp as wp

RADIUS = 0.08
REST = 1000.0  # density
STIFFNESS = 20.0
VISCOSITY = 0.5


@wp.kernel
def densities(x: wp.array(dtype=wp.vec3), mass: float, density: wp.array(dtype=float), n: int):
    i = wp.tid()
    p = x[i]
    total = float(0.0)
    for j in range(n):
        d = x[j] - p
        inside = RADIUS * RADIUS - wp.dot(d, d)
        if inside > 0.0:
            total += inside * inside * inside
    density[i] = total * (mass * 1.566681471060845 / RADIUS**9.0)


@wp.kernel
def forces(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    density: wp.array(dtype=float),
    mass: float,
    f: wp.array(dtype=wp.vec3),
    n: int,
):
    i = wp.tid()
    p = x[i]
    pressure = STIFFNESS * (density[i] - REST)
    total = wp.vec3(0.0)
    for j in range(n):
        d = x[j] - p
        r2 = wp.dot(d, d)
        if r2 < RADIUS * RADIUS and r2 > 0.0:
            r = wp.sqrt(r2)
            left = RADIUS - r
            shared = (pressure + STIFFNESS * (density[j] - REST)) / (2.0 * density[j])
            total += (v[j] - v[i]) * (VISCOSITY * left / density[j]) - d * (shared * left * left / r)
    f[i] = total * (mass * 14.323944878270581 / RADIUS**6.0)


def reference(x, v, mass):
    n = len(x)
    density, out = np.empty(n), np.empty((n, 3))
    square = float(np.float32(RADIUS)) ** 2

    def each(work):
        for k in range(0, n, 256):
            d = x[None] - x[k : k + 256, None]
            work(slice(k, k + 256), d, np.einsum("ijk,ijk->ij", d, d))

    def density_of(rows, d, r2):
        density[rows] = (np.maximum(square - r2, 0.0) ** 3).sum(axis=1) * (mass * 1.566681471060845 / RADIUS**9)

    def force_of(rows, d, r2):
        near = (r2 < square) & (r2 > 0.0)
        r = np.sqrt(np.where(near, r2, 1.0))
        left = np.where(near, RADIUS - r, 0.0)
        pressure = STIFFNESS * (density - REST)
        shared = (pressure[rows, None] + pressure) / (2.0 * density)
        pull = np.einsum("ijk,ij->ik", d, shared * left * left / r)
        drag = np.einsum("ijk,ij->ik", v[None] - v[rows, None], VISCOSITY * left / density)
        out[rows] = (drag - pull) * (mass * 14.323944878270581 / RADIUS**6)

    each(density_of)
    each(force_of)
    return out


def sph(n):
    x, v = wp.array(random(n, 3), dtype=wp.vec3), wp.array(random(n, 3, seed=2) - 0.5, dtype=wp.vec3)
    density, f, mass = wp.zeros(n, dtype=float), wp.zeros(n, dtype=wp.vec3), REST / n

    def launches():
        wp.launch(densities, dim=n, inputs=[x, mass, density, n])
        wp.launch(forces, dim=n, inputs=[x, v, density, mass, f, n])

    constants = [np.array([mass, RADIUS, REST, STIFFNESS, VISCOSITY], dtype=np.float32)]
    return Subject(launches, [x, v], f, lambda x, v: reference(x, v, mass), 1e-4, constants=constants)


ROWS = [Row("sph_8192", forward(sph), {"n": 8192}, None, 2 * 8192**2 / 1e6, "M/s")]
