"""Work that arithmetic bounds: n-body, transcendental functions, loops whose lengths differ."""

import numpy as np
from problem import random
from row import Row, Subject, backward, forward

import warp as wp


@wp.kernel(module="unique")
def bodies_kernel(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    p = x[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - p
        r2 = wp.dot(d, d) + 0.01
        total += d / (r2 * wp.sqrt(r2))
    f[i] = total


@wp.kernel(module="unique", module_options={"fast_math": True})
def fast_bodies_kernel(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    p = x[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - p
        r2 = wp.dot(d, d) + 0.01
        total += d / (r2 * wp.sqrt(r2))
    f[i] = total


def forces(x):
    out = np.empty_like(x)
    for k in range(0, len(x), 256):
        d = x[None] - x[k : k + 256, None]
        out[k : k + 256] = np.einsum("ijk,ij->ik", d, (np.einsum("ijk,ijk->ij", d, d) + 0.01) ** -1.5)
    return out


def bodies(n, kernel=bodies_kernel):
    x, f = wp.array(random(n, 3), dtype=wp.vec3, requires_grad=True), wp.zeros(n, dtype=wp.vec3, requires_grad=True)
    return Subject(lambda: wp.launch(kernel, dim=n, inputs=[x, f, n]), [x], f, forces)


@wp.kernel
def transcendental_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) + wp.exp(-x[i]) + wp.pow(x[i], 1.7)


def transcendental(n):
    x, y = wp.array(0.1 + 3.0 * random(n)), wp.zeros(n, dtype=float)
    return Subject(
        lambda: wp.launch(transcendental_kernel, dim=n, inputs=[x, y]),
        [x],
        y,
        lambda x: np.sin(x) + np.exp(-x) + x ** np.float64(np.float32(1.7)),
    )


@wp.kernel
def divergent_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    k = float(0.0)
    while v < 100.0:
        if v < 10.0:
            v = v * 1.5 + 0.25
        else:
            v = v * 1.25 + 2.0
        k += 1.0
    y[i] = v + k


def divergent_reference(x):
    v, k = x, np.zeros(len(x))
    while (active := v < 100.0).any():
        v, k = np.where(active, np.where(v < 10.0, v * 1.5 + 0.25, v * 1.25 + 2.0), v), k + active
    return v + k


def divergent(n):
    x, y = wp.array(np.exp(random(n) * 7.0 - 3.0)), wp.zeros(n, dtype=float)
    return Subject(
        lambda: wp.launch(divergent_kernel, dim=n, inputs=[x, y]), [x], y, divergent_reference, outliers=1e-4
    )


# Of one interaction, a division and a square root being one each.
FLOPS = 20

ROWS = [
    Row("nbody_8192", forward(bodies), {"n": 8192}, 8.0, FLOPS * 8192**2 / 1e9, "GFLOP/s", "fma"),
    Row(
        "nbody_8192_fast",
        forward(bodies),
        {"n": 8192, "kernel": fast_bodies_kernel},
        10.0,
        FLOPS * 8192**2 / 1e9,
        "GFLOP/s",
        "fma",
        gates={"taichi": 1.0},
    ),
    Row("transcendental_2^22", forward(transcendental), {"n": 2**22}, 10.0, 2**22 / 1e6, "M/s"),
    Row("divergent_2^21", forward(divergent), {"n": 2**21}, 4.5, 2**21 / 1e6, "M/s"),
    Row("nbody", forward(bodies), {"n": 2000}, None, 4.0, "M/s"),
    Row("nbody_back", backward(bodies), {"n": 2000}, None, 4.0, "M/s"),
]
