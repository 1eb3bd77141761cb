import os

import numba
import numpy as np
from numba import njit, prange

numba.set_num_threads(min(len(os.sched_getaffinity(0)), numba.config.NUMBA_NUM_THREADS))

parallel = njit(parallel=True)
# The divisions of one neighbour's distances may become multiplications, as with fast maths elsewhere.
fast = njit(parallel=True, fastmath=True)

f32 = np.float32


@parallel
def saxpy_loop(a, x, y):
    for i in prange(len(x)):
        y[i] = a * x[i] + y[i]


def saxpy(x, y):
    return lambda: saxpy_loop(f32(1e-3), x, y), lambda: y


@parallel
def normalise_loop(x, y):
    for i in prange(len(x)):
        length = np.sqrt(x[i, 0] * x[i, 0] + x[i, 1] * x[i, 1] + x[i, 2] * x[i, 2])
        for k in range(3):
            y[i, k] = x[i, k] / length


def normalise(x):
    y = np.empty_like(x)
    return lambda: normalise_loop(x, y), lambda: y


@parallel
def copy_loop(x, y):
    for i in prange(len(x)):
        y[i] = x[i]


def copy(x):
    y = np.empty_like(x)
    return lambda: copy_loop(x, y), lambda: y


@parallel
def fields_loop(f, g):
    for i in prange(f.shape[1]):
        for k in range(f.shape[0]):
            g[k, i] = f32(0.5) * f[k, i] + f32(1.0)


def fields(f):
    g = np.empty_like(f)
    return lambda: fields_loop(f, g), lambda: g


@parallel
def transpose_loop(x, y):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]


def transpose(x):
    y = np.empty_like(x)
    return lambda: transpose_loop(x, y), lambda: y


@parallel
def products_loop(a, b, c):
    for i in prange(len(a)):
        for j in range(4):
            for k in range(4):
                total = f32(0.0)
                for m in range(4):
                    total += a[i, j, m] * b[i, m, k]
                c[i, j, k] = total


def products(a, b):
    c = np.empty_like(a)
    return lambda: products_loop(a, b, c), lambda: c


@parallel
def transcendental_loop(x, y):
    for i in prange(len(x)):
        y[i] = np.sin(x[i]) + np.exp(-x[i]) + x[i] ** f32(1.7)


def transcendental(x):
    y = np.empty_like(x)
    return lambda: transcendental_loop(x, y), lambda: y


@parallel
def divergent_loop(x, y):
    for i in prange(len(x)):
        v = x[i]
        k = f32(0.0)
        while v < f32(100.0):
            if v < f32(10.0):
                v = v * f32(1.5) + f32(0.25)
            else:
                v = v * f32(1.25) + f32(2.0)
            k += f32(1.0)
        y[i] = v + k


def divergent(x):
    y = np.empty_like(x)
    return lambda: divergent_loop(x, y), lambda: y


def bodies_body(x, f):
    for i in prange(len(x)):
        ax = f32(0.0)
        ay = f32(0.0)
        az = f32(0.0)
        for j in range(len(x)):
            dx = x[j, 0] - x[i, 0]
            dy = x[j, 1] - x[i, 1]
            dz = x[j, 2] - x[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + f32(0.01)
            scale = f32(1.0) / (r2 * np.sqrt(r2))
            ax += dx * scale
            ay += dy * scale
            az += dz * scale
        f[i, 0] = ax
        f[i, 1] = ay
        f[i, 2] = az


bodies_loop, fast_bodies_loop = parallel(bodies_body), fast(bodies_body)


def bodies(x):
    f = np.empty_like(x)
    return lambda: bodies_loop(x, f), lambda: f


def fast_bodies(x):
    f = np.empty_like(x)
    return lambda: fast_bodies_loop(x, f), lambda: f


@fast
def sum_loop(x):
    total = f32(0.0)
    for i in prange(x.shape[0]):
        total += x[i].sum()
    return total


def one_address(x):
    out = np.empty(1, dtype=f32)

    def run():
        out[0] = sum_loop(x)

    return run, lambda: out


@parallel
def stencil_loop(u, v):
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f32(4.0) * u[i, j]
            v[i, j] = u[i, j] + f32(0.1) * around


def stencil(u):
    v = np.zeros_like(u)
    return lambda: stencil_loop(u, v), lambda: v


@njit
def springs_loop(x, v, ends, rest, f, stiffness, damping):
    # One thread: Numba has no atomics on the CPU.
    for s in range(len(ends)):
        i, j = ends[s, 0], ends[s, 1]
        dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        dx, dy, dz = dx / length, dy / length, dz / length
        apart = dx * (v[i, 0] - v[j, 0]) + dy * (v[i, 1] - v[j, 1]) + dz * (v[i, 2] - v[j, 2])
        pull = stiffness * (length - rest[s]) + damping * apart
        f[i, 0] -= dx * pull
        f[i, 1] -= dy * pull
        f[i, 2] -= dz * pull
        f[j, 0] += dx * pull
        f[j, 1] += dy * pull
        f[j, 2] += dz * pull


@parallel
def integrate_loop(x, v, f, mass, dt, x_new, v_new):
    for i in prange(len(x)):
        for k in range(3):
            a = f[i, k] / mass
            if k == 1:
                a += f32(-9.81)
            w = v[i, k] + a * dt
            v_new[i, k] = w
            x_new[i, k] = x[i, k] + w * dt


def cloth(x, v, rest, ends, substeps):
    xs, vs = [x, np.empty_like(x), np.empty_like(x)], [v, np.empty_like(v), np.empty_like(v)]
    f = np.empty_like(x)

    def run():
        now = 0
        for k in range(int(substeps)):
            then = 1 + k % 2
            f.fill(0.0)
            springs_loop(xs[now], vs[now], ends, rest, f, f32(500.0), f32(2.0))
            integrate_loop(xs[now], vs[now], f, f32(0.1), f32(0.001), xs[then], vs[then])
            now = then

    return run, lambda: xs[1 + (int(substeps) - 1) % 2]


OMEGA = f32(1.2)


@parallel
def d2q9_loop(f, g, velocities, weights):
    n, m = f.shape[1:]
    for i in prange(n):
        here = np.empty(9, dtype=f32)
        for j in range(m):
            density, ux, uy = f32(0.0), f32(0.0), f32(0.0)
            for k in range(9):
                vx, vy = velocities[k]
                here[k] = f[k, (i - vx + n) % n, (j - vy + m) % m]
                density += here[k]
                ux += here[k] * f32(vx)
                uy += here[k] * f32(vy)
            ux, uy = ux / density, uy / density
            square = f32(1.5) * (ux * ux + uy * uy)
            for k in range(9):
                c = f32(3.0) * (ux * f32(velocities[k, 0]) + uy * f32(velocities[k, 1]))
                wanted = weights[k] * density * (f32(1.0) + c + f32(0.5) * c * c - square)
                g[k, i, j] = here[k] + OMEGA * (wanted - here[k])


def d2q9(f, velocities, weights):
    g = np.empty_like(f)
    return lambda: d2q9_loop(f, g, velocities, weights), lambda: g


@parallel
def d3q19_loop(f, g, velocities, weights):
    n = f.shape[1]
    for x in prange(n):
        here = np.empty(19, dtype=f32)
        for y in range(n):
            for z in range(n):
                density, ux, uy, uz = f32(0.0), f32(0.0), f32(0.0), f32(0.0)
                for k in range(19):
                    vx, vy, vz = velocities[k]
                    here[k] = f[k, (x - vx + n) % n, (y - vy + n) % n, (z - vz + n) % n]
                    density += here[k]
                    ux += here[k] * f32(vx)
                    uy += here[k] * f32(vy)
                    uz += here[k] * f32(vz)
                ux, uy, uz = ux / density, uy / density, uz / density
                square = f32(1.5) * (ux * ux + uy * uy + uz * uz)
                for k in range(19):
                    vx, vy, vz = velocities[k]
                    c = f32(3.0) * (ux * f32(vx) + uy * f32(vy) + uz * f32(vz))
                    wanted = weights[k] * density * (f32(1.0) + c + f32(0.5) * c * c - square)
                    g[k, x, y, z] = here[k] + OMEGA * (wanted - here[k])


def d3q19(f, velocities, weights):
    g = np.empty_like(f)
    return lambda: d3q19_loop(f, g, velocities, weights), lambda: g


@parallel
def densities_loop(x, mass, radius, density):
    for i in prange(len(x)):
        total = f32(0.0)
        for j in range(len(x)):
            dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            inside = radius * radius - (dx * dx + dy * dy + dz * dz)
            if inside > f32(0.0):
                total += inside * inside * inside
        density[i] = total * (mass * f32(1.566681471060845) / radius ** f32(9.0))


@parallel
def forces_loop(x, v, density, parameters, f):
    mass, radius, rest, stiffness, viscosity = parameters
    for i in prange(len(x)):
        pressure = stiffness * (density[i] - rest)
        fx, fy, fz = f32(0.0), f32(0.0), f32(0.0)
        for j in range(len(x)):
            dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            r2 = dx * dx + dy * dy + dz * dz
            if r2 < radius * radius and r2 > f32(0.0):
                r = np.sqrt(r2)
                left = radius - r
                pull = (pressure + stiffness * (density[j] - rest)) / (f32(2.0) * density[j]) * left * left / r
                drag = viscosity * left / density[j]
                fx += (v[j, 0] - v[i, 0]) * drag - dx * pull
                fy += (v[j, 1] - v[i, 1]) * drag - dy * pull
                fz += (v[j, 2] - v[i, 2]) * drag - dz * pull
        scale = mass * f32(14.323944878270581) / radius ** f32(6.0)
        f[i, 0], f[i, 1], f[i, 2] = fx * scale, fy * scale, fz * scale


def sph(x, v, parameters):
    density, f = np.empty(len(x), dtype=f32), np.empty_like(x)
    parameters = tuple(f32(p) for p in parameters)

    def run():
        densities_loop(x, parameters[0], parameters[1], density)
        forces_loop(x, v, density, parameters, f)

    return run, lambda: f
