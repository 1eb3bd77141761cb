"""Arrays beyond what int32 counts: indexed right, or refused. They repeat one element, so that they need no memory."""

import numpy as np
import pytest

import warp as wp

pytestmark = pytest.mark.host("memory that is reserved and not there")

MOST = 2**31 - 1


def repeated(values, shape, strides):
    """An array of any shape over a few numbers."""
    data = np.array(values, dtype=np.uint8)
    made = wp.array(ptr=data.ctypes.data, shape=shape, strides=strides, dtype=wp.uint8)
    made.keep = data
    return made


@wp.kernel
def at(a: wp.array[wp.uint8], i: wp.int64, out: wp.array[int]):
    out[0] = int(a[i])


@wp.kernel
def extent(a: wp.array[wp.uint8], out: wp.array[int]):
    out[0] = a.shape[0]


@wp.kernel
def part(a: wp.array[wp.uint8], out: wp.array[int]):
    out[0] = int(a[3:][0])


@wp.kernel
def count(a: wp.array2d[wp.uint8], out: wp.array[int]):
    out[0] = a.size


@wp.kernel
def step(a: wp.array2d[wp.uint8], out: wp.array[int]):
    out[0] = a.strides[0]


def run(kernel, *inputs):
    out = wp.zeros(1, dtype=int)
    wp.launch(kernel, dim=1, inputs=[*inputs, out])
    return out.list()[0]


@pytest.mark.parametrize("i", [0, MOST, MOST + 1, 2**40, 2**40 + 7])
def test_indices_of_64_bits(i):
    assert run(at, repeated([9], (2**40 + 8,), (0,)), i) == 9


@pytest.mark.parametrize("kernel", [extent, part])
def test_extents_that_int32_cannot_hold_are_refused_where_they_are_read(kernel):
    assert run(kernel, repeated([5], (MOST,), (0,))) in (MOST, 5)
    with pytest.raises(wp.WarpLaunchError, match="reads its shape, or slices it, and int32 cannot hold its extents"):
        run(kernel, repeated([5], (MOST + 1,), (0,)))


def test_counts_that_int32_cannot_hold_are_refused():
    assert run(count, repeated([1], (46340, 46340), (0, 0))) == 46340**2
    with pytest.raises(
        wp.WarpRuntimeError, match=f"the array has {46341**2} elements, which int32 cannot hold"
    ) as raised:
        run(count, repeated([1], (46341, 46341), (0, 0)))
    assert raised.value.args[0].splitlines()[2].strip() == "out[0] = a.size"


def test_strides_that_int32_cannot_hold_are_refused_where_they_are_read():
    assert run(step, repeated([1], (1, 1), (MOST, 1))) == MOST
    with pytest.raises(wp.WarpLaunchError, match="reads its strides, and int32 cannot hold them"):
        run(step, repeated([1], (1, 1), (MOST + 1, 1)))
    assert run(count, repeated([1], (1, 1), (MOST + 1, 1))) == 1
