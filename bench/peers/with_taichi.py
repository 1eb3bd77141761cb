import os

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu, fast_math=True, cpu_max_num_threads=len(os.sched_getaffinity(0)), log_level=ti.ERROR)

vec3 = ti.types.vector(3, ti.f32)
Vectors = ti.types.ndarray(dtype=vec3, ndim=1)
Numbers = ti.types.ndarray(dtype=ti.f32, ndim=1)
Plane = ti.types.ndarray(dtype=ti.f32, ndim=2)


def numbers(x):
    out = ti.ndarray(ti.f32, shape=x.shape)
    out.from_numpy(x)
    return out


def vectors(x):
    out = ti.Vector.ndarray(3, ti.f32, shape=x.shape[:-1])
    out.from_numpy(x)
    return out


@ti.kernel
def saxpy_kernel(a: ti.f32, x: Numbers, y: Numbers):
    for i in x:
        y[i] = a * x[i] + y[i]


def saxpy(x, y):
    x, y = numbers(x), numbers(y)
    return lambda: saxpy_kernel(1e-3, x, y), y.to_numpy


@ti.kernel
def bodies_kernel(x: Vectors, f: Vectors):
    for i in x:
        p = x[i]
        total = vec3(0.0)
        for j in range(x.shape[0]):
            d = x[j] - p
            r2 = d.dot(d) + 0.01
            total += d / (r2 * ti.sqrt(r2))
        f[i] = total


def bodies(x):
    x, f = vectors(x), vectors(np.zeros_like(x))
    return lambda: bodies_kernel(x, f), f.to_numpy


fast_bodies = bodies  # all maths is fast here


@ti.kernel
def stencil_kernel(u: Plane, v: Plane):
    for i, j in ti.ndrange((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])


def stencil(u):
    u, v = numbers(u), numbers(np.zeros_like(u))
    return lambda: stencil_kernel(u, v), v.to_numpy


@ti.kernel
def sum_kernel(x: Plane) -> ti.f32:
    total = 0.0
    for i, j in x:
        total += x[i, j]
    return total


def one_address(x):
    x, out = numbers(x), np.empty(1, dtype=np.float32)

    def run():
        out[0] = sum_kernel(x)

    return run, lambda: out


@ti.func
def bspline(fx):
    return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]


def mpm(x, v, c, deformation, cells):
    """Three dimensions, the arrays as fields: what the language is made for."""
    n, cells, dt = len(x), int(cells), 1.0e-4
    at, velocity = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    affine, deformed = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(3, 3, ti.f32, n)
    at_new, velocity_new = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    affine_new, deformed_new = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(3, 3, ti.f32, n)
    grid_v, grid_m = ti.Vector.field(3, ti.f32, (cells,) * 3), ti.field(ti.f32, (cells,) * 3)
    for field, values in ((at, x), (velocity, v), (affine, c), (deformed, deformation)):
        field.from_numpy(values)

    @ti.kernel
    def step():
        for i in ti.grouped(grid_m):
            grid_v[i] = ti.Vector([0.0, 0.0, 0.0])
            grid_m[i] = 0.0
        for p in at:
            scaled = at[p] * cells
            base = (scaled - 0.5).cast(int)
            fx = scaled - base.cast(ti.f32)
            w = bspline(fx)
            one = ti.Matrix.identity(ti.f32, 3)
            f = deformed[p]
            stress = (f @ f.transpose() - one) * 100.0 + one * (40.0 * ti.log(f.determinant()))
            a = affine[p] - stress * (dt * 4.0 * cells * cells * 1.0e-4)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = (ti.Vector([i, j, k]).cast(ti.f32) - fx) / cells
                weight = w[i][0] * w[j][1] * w[k][2]
                grid_v[base + ti.Vector([i, j, k])] += weight * (velocity[p] + a @ offset)
                grid_m[base + ti.Vector([i, j, k])] += weight
        for i, j, k in grid_m:
            m = grid_m[i, j, k]
            if m > 1.0e-6:
                u = grid_v[i, j, k] / m
                u[1] -= 9.81 * dt
                if j < 3 and u[1] < 0.0:
                    u[1] = 0.0
                grid_v[i, j, k] = u
            else:
                grid_v[i, j, k] = ti.Vector([0.0, 0.0, 0.0])
        for p in at:
            scaled = at[p] * cells
            base = (scaled - 0.5).cast(int)
            fx = scaled - base.cast(ti.f32)
            w = bspline(fx)
            u = ti.Vector([0.0, 0.0, 0.0])
            b = ti.Matrix.zero(ti.f32, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k]).cast(ti.f32) - fx
                weight = w[i][0] * w[j][1] * w[k][2]
                g = grid_v[base + ti.Vector([i, j, k])]
                u += weight * g
                b += (weight * 4.0 * cells) * g.outer_product(offset)
            velocity_new[p] = u
            affine_new[p] = b
            at_new[p] = at[p] + u * dt
            deformed_new[p] = (ti.Matrix.identity(ti.f32, 3) + b * dt) @ deformed[p]

    return step, at_new.to_numpy


def spreads(velocities, weights, dimensions):
    """What pulls and collides for these velocities, which are constants of the kernel."""
    moves = [ti.Vector([int(c) for c in v]) for v in velocities]
    parts = [float(w) for w in weights]
    count = len(moves)

    @ti.kernel
    def kernel(
        f: ti.types.ndarray(dtype=ti.f32, ndim=dimensions + 1), g: ti.types.ndarray(dtype=ti.f32, ndim=dimensions + 1)
    ):
        n = f.shape[1]
        for at in ti.grouped(ti.ndrange(*[n for _ in ti.static(range(dimensions))])):
            here = ti.Vector([0.0 for _ in ti.static(range(count))])
            u = ti.Vector([0.0 for _ in ti.static(range(dimensions))])
            density = 0.0
            for k in ti.static(range(count)):
                a = (at - moves[k] + n) % n
                if ti.static(dimensions == 2):
                    here[k] = f[k, a[0], a[1]]
                else:
                    here[k] = f[k, a[0], a[1], a[2]]
                density += here[k]
                u += here[k] * moves[k]
            u /= density
            for k in ti.static(range(count)):
                c = 3.0 * u.dot(moves[k])
                wanted = parts[k] * density * (1.0 + c + 0.5 * c * c - 1.5 * u.dot(u))
                value = here[k] + 1.2 * (wanted - here[k])
                if ti.static(dimensions == 2):
                    g[k, at[0], at[1]] = value
                else:
                    g[k, at[0], at[1], at[2]] = value

    return kernel


def lattice(f, velocities, weights):
    kernel = spreads(velocities, weights, velocities.shape[1])
    f, g = numbers(f), numbers(np.zeros_like(f))
    return lambda: kernel(f, g), g.to_numpy


d2q9 = d3q19 = lattice
