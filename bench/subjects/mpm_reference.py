"""The transfers between particles and a grid in NumPy, in any number of dimensions: quadratic splines, affine momenta
(Jiang and others, The Affine Particle-In-Cell Method, 2015).
"""

import itertools

import numpy as np


def nodes_around(x, cells):
    """For each of the 3^d nodes around the particles: its place in the flat grid, its distance in cells, its weight."""
    dim = x.shape[1]
    scaled = x * cells
    base = (scaled - 0.5).astype(np.int64)
    fx = scaled - base
    w = np.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2], axis=1)
    out = []
    for node in itertools.product(range(3), repeat=dim):
        at, weight = 0, 1.0
        for d, k in enumerate(node):
            at, weight = at * cells + base[:, d] + k, weight * w[:, k, d]
        out.append((at, np.array(node) - fx, weight))
    return out


def momentum_on_grid(nodes, v, affine, cells):
    """Momentum and mass of each node, of particles of mass 1."""
    size = cells ** v.shape[1]
    momentum, mass = np.zeros((size, v.shape[1])), np.zeros(size)
    for at, offset, weight in nodes:
        mass += np.bincount(at, weight, size)
        part = (v + np.einsum("pij,pj->pi", affine, offset / cells)) * weight[:, None]
        momentum += np.stack([np.bincount(at, m, size) for m in part.T], axis=1)
    return momentum, mass


def back_from_grid(nodes, grid_v, cells):
    """Velocities of the particles, and their gradients."""
    v = sum(grid_v[at] * weight[:, None] for at, _, weight in nodes)
    c = sum(
        np.einsum("pi,pj->pij", grid_v[at], offset) * (weight * 4.0 * cells)[:, None, None]
        for at, offset, weight in nodes
    )
    return v, c


def velocity_on_grid(momentum, mass, gravity, above_floor):
    """Falls by `gravity`, and not through the floor; where there is no mass, nothing moves."""
    there = mass > 1.0e-6
    v = np.zeros_like(momentum)
    v[there] = momentum[there] / mass[there][:, None]
    v[there, 1] += gravity
    low = there & ~above_floor
    v[low, 1] = np.maximum(v[low, 1], 0.0)
    return v
