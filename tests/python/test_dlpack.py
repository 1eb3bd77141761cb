"""DLPack: arrays handed to NumPy and taken from it without a copy."""

import gc

import numpy as np
import pytest

import warp as wp


@pytest.mark.parametrize("dtype", [wp.bool, wp.int8, wp.uint16, wp.int32, wp.uint64, wp.float16, wp.float64])
def test_a_capsule_carries_memory_type_and_shape(dtype):
    a = wp.zeros((3, 4), dtype=dtype, device="cpu")
    b = wp.from_dlpack(wp.to_dlpack(a))
    assert (b.ptr, b.dtype, b.shape, b.strides) == (a.ptr, a.dtype, a.shape, a.strides)
    view = np.from_dlpack(a)
    assert view.ctypes.data == a.ptr and view.shape == (3, 4)


def test_vectors_are_numbers_to_others_and_back():
    a = wp.zeros(5, dtype=wp.vec3, device="cpu")
    numbers = wp.from_dlpack(wp.to_dlpack(a), dtype=wp.float32)
    assert numbers.shape == (5, 3) and numbers.strides == (12, 4)
    again = wp.from_dlpack(numbers, dtype=wp.vec3)
    assert again.shape == (5,) and again.ptr == a.ptr


def test_strided_views_keep_their_strides():
    source = np.arange(24.0, dtype=np.float32).reshape(4, 6)[::2, 1::2]
    a = wp.from_dlpack(source)
    assert a.strides == source.strides
    np.testing.assert_array_equal(a.numpy(), source)


def test_memory_lives_as_long_as_its_last_user():
    view = np.from_dlpack(wp.full(1000, 3.0, device="cpu"))
    gc.collect()
    wp.full(1000, 9.0, device="cpu")
    assert (view == 3.0).all()


def test_what_is_refused():
    a = wp.zeros(4, dtype=wp.bool, device="cpu")
    with pytest.raises(RuntimeError, match="Incompatible data types: DLPack bool8 and Warp float32"):
        wp.from_dlpack(wp.to_dlpack(a), dtype=wp.float32)
    with pytest.raises(RuntimeError, match="the inner dimensions must be"):
        wp.from_dlpack(wp.zeros((4, 2), device="cpu"), dtype=wp.vec3)
    with pytest.raises(TypeError, match="stream must be None or -1 for CPU device"):
        a.__dlpack__(stream=1)
    capsule = wp.to_dlpack(a)
    wp.from_dlpack(capsule)
    with pytest.raises(TypeError, match="taken already"):
        wp.from_dlpack(capsule)
    with pytest.raises(TypeError, match="Expected a valid DLPack capsule, got object"):
        wp.from_dlpack(object())


def test_bfloat16_is_rounded_from_floats():
    x = np.array([1.0, 1.00390625, 1.01171875, -3.3, np.inf, np.nan], dtype=np.float32)
    a = wp.array(x, dtype=wp.bfloat16, device="cpu")
    got = np.array(a.list())
    np.testing.assert_array_equal(got[:3], [1.0, 1.0, 1.015625])  # the ties go to even
    assert abs(got[3] + 3.3) < 3.3 / 256
    assert np.isinf(got[4]) and np.isnan(got[5])
    assert wp.array([1.0, 2.5], dtype=wp.bfloat16, device="cpu").list() == [1.0, 2.5]
