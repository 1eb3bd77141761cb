"""Items side by side on the CPU: what of an element is read in a run of memory, and which places offsets reach."""

import mmap

import numpy as np
import pytest

import warp as wp

pytestmark = pytest.mark.host("lanes of the CPU")


vec7 = wp.types.vector(7, float)


@wp.struct
class Mixed:
    a: float
    b: int
    c: wp.vec2
    d: wp.float64


@wp.kernel
def member_of_vector(x: wp.array(dtype=vec7), y: wp.array(dtype=float), least: float):
    i = wp.tid()
    y[i] = x[i][2]
    if x[i][5] > least:
        y[i] = x[i][6] - x[i][0]


@wp.kernel
def members_of_struct(x: wp.array(dtype=Mixed), y: wp.array(dtype=float), least: float):
    i = wp.tid()
    y[i] = x[i].c[1] + float(x[i].b)
    if x[i].a > least:
        y[i] = x[i].c[0] + float(x[i].d)


@pytest.mark.parametrize("n", [1, 7, 16, 33, 100])
def test_members_of_elements_in_a_row(n):
    data = np.random.default_rng(n).random((n, 7), dtype=np.float32)
    y = wp.zeros(n, dtype=float)
    wp.launch(member_of_vector, n, [wp.array(data, dtype=vec7), y, 0.4])
    np.testing.assert_array_equal(
        y.numpy(), np.where(data[:, 5] > np.float32(0.4), data[:, 6] - data[:, 0], data[:, 2])
    )


@pytest.mark.parametrize("n", [1, 7, 16, 33, 100])
def test_members_of_structs_in_a_row(n):
    random = np.random.default_rng(n)
    x = wp.zeros(n, dtype=Mixed)
    data = np.zeros(n, dtype=x.numpy().dtype)
    data["a"], data["b"] = random.random(n), random.integers(-9, 9, n)
    data["c"], data["d"] = random.random((n, 2)), random.integers(0, 9, n)
    x.assign(data)
    y = wp.zeros(n, dtype=float)
    wp.launch(members_of_struct, n, [x, y, 0.4])
    c = data["c"]
    want = np.where(data["a"] > np.float32(0.4), c[:, 0] + data["d"].astype(np.float32), c[:, 1] + data["b"])
    np.testing.assert_array_equal(y.numpy(), want.astype(np.float32))


@wp.kernel
def gather(x: wp.array(dtype=float), places: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[places[i]]


@wp.kernel
def gather_rows(x: wp.array2d(dtype=wp.vec3), places: wp.array(dtype=int), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = x[places[i], 1]


@wp.kernel
def scatter(x: wp.array(dtype=float), places: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    x[places[i]] = y[i]


# Below, at and above 2 GiB, to and fro.
@pytest.mark.parametrize("stride", [2**29, 2**30, 2**30 + 4, 3 * 2**29, -(2**29), -(2**30)])
def test_places_far_apart(stride):
    extent = 3
    room = mmap.mmap(-1, 2 * abs(stride) + 4096)
    start = np.frombuffer(room, dtype=np.uint8).ctypes.data + (0 if stride > 0 else 2 * -stride)
    places = np.random.default_rng(3).integers(-extent, extent, 50).astype(np.int32)
    x = wp.array(ptr=start, shape=(extent,), strides=(stride,), dtype=float)
    y = wp.zeros(50, dtype=float)
    wp.launch(scatter, 3, [x, wp.array([0, 1, 2], dtype=int), wp.array([5.0, 6.0, 7.0], dtype=float)])
    wp.launch(gather, 50, [x, wp.array(places), y])
    np.testing.assert_array_equal(y.numpy(), np.array([5.0, 6.0, 7.0], np.float32)[places])
    rows = wp.array(ptr=start, shape=(extent, 2), strides=(stride, 12), dtype=wp.vec3)
    z = wp.zeros(50, dtype=wp.vec3)
    memory = np.frombuffer(room, dtype=np.uint8)
    first = start - memory.ctypes.data
    for k in range(extent):
        memory[first + k * stride + 12 : first + k * stride + 24].view(np.float32)[:] = [k, 10 * k, 100 * k]
    wp.launch(gather_rows, 50, [rows, wp.array(places), z])
    np.testing.assert_array_equal(z.numpy(), np.outer(places % extent, [1, 10, 100]))
