"""Textures of GPUs: what the driver is asked to make, copies, errors of each call. Runs with the stand-in for the
driver (test_cuda_failures.py begins it), which keeps texels and samples nothing.
"""

import ctypes
import gc

import numpy as np
import pytest
from support.fake_cuda import Fake

import warp as wp

fake = Fake()
CLOSEST, LINEAR = wp.TextureFilterMode.CLOSEST, wp.TextureFilterMode.LINEAR
WRAP, CLAMP, MIRROR, BORDER = wp.TextureAddressMode
INTEGERS, NORMALIZED, EXACT_LEVELS = 1, 2, 0x20
CLASSES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}


@pytest.fixture(autouse=True)
def device():
    wp.set_device("cuda:0")
    wp.zeros(1)  # what the device itself needs is there
    yield wp.get_device()
    assert fake.pending() == 0 and fake.wrong() == 0


def settled():
    gc.collect()
    wp.synchronize()
    return fake.alive()


def numbers(shape, dtype="float32"):
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("ndim, channels", [(1, 1), (2, 2), (3, 4)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "uint32", "float32"])
def test_texels_come_and_go(ndim, channels, dtype):
    before = settled()
    data = numbers((*(2, 3, 5)[3 - ndim :], *((channels,) if channels > 1 else ())), dtype)
    tex = CLASSES[ndim](data)
    back = np.zeros_like(data)
    tex.copy_to(back)
    np.testing.assert_array_equal(back, data)
    # One array; the object that kernels sample, and the one that gives single texels.
    alive = settled()
    assert (alive["array"] - before["array"], alive["texture"] - before["texture"]) == (1, 2)
    other = CLASSES[ndim](np.zeros_like(data))
    other.copy_from(tex)
    wrapped = CLASSES[ndim](cuda_array=other.cuda_array)
    assert (wrapped.dtype, wrapped.num_channels) == (tex.dtype, channels)
    assert (wrapped.width, wrapped.height, wrapped.depth) == (tex.width, tex.height, tex.depth)
    back = wp.zeros(data.size, dtype=tex.dtype).reshape(data.shape)
    wrapped.copy_to(back)
    np.testing.assert_array_equal(back.numpy(), data)
    del tex, other, wrapped, back
    assert settled() == before


def test_what_is_asked_for():
    data = numbers((4, 4))
    tex = wp.Texture2D(data, address_mode=(WRAP, BORDER))
    assert fake.texture(tex.cuda_texture) == (WRAP, BORDER, CLAMP, LINEAR, NORMALIZED, 0, 0)
    assert tex.id == tex.cuda_texture and tex.cuda_array > 0
    tex = wp.Texture2D(data, filter_mode=CLOSEST, normalized_coords=False, address_mode=MIRROR)
    assert fake.texture(tex.cuda_texture) == (MIRROR, MIRROR, CLAMP, CLOSEST, 0, 0, 0)
    tex = wp.Texture2D(data, num_mip_levels=0)
    assert fake.texture(tex.cuda_texture) == (CLAMP, CLAMP, CLAMP, LINEAR, NORMALIZED | EXACT_LEVELS, 1, 2)
    tex = wp.Texture2D(data.astype(np.int32), num_mip_levels=2)
    assert fake.texture(tex.cuda_texture) == (CLAMP, CLAMP, CLAMP, CLOSEST, NORMALIZED | INTEGERS, 0, 1)
    with pytest.raises(RuntimeError, match="currently limited to non-mipmapped CUDA textures"):
        _ = tex.cuda_array
    with pytest.raises(ValueError, match="with levels needs normalized_coords=True"):
        wp.Texture2D(data, num_mip_levels=2, normalized_coords=False)


def test_arrays_of_other_dimensions_are_refused():
    tex = wp.Texture2D(numbers((4, 4)))
    with pytest.raises(ValueError, match="cuda_array has 2 dimensions, a Texture3D has 3"):
        wp.Texture3D(cuda_array=tex.cuda_array)


def test_kernels_get_the_objects():
    tex = wp.Texture3D(numbers((2, 4, 8)), num_mip_levels=0, surface_access=True)
    got = tex.__ctype__()
    assert (got.tex, got.width, got.height, got.depth) == (tex.cuda_texture, 8, 4, 2)
    assert (got.num_mip_levels, got.num_channels, got.use_normalized_coords) == (4, 1, 1)
    # The stand-in's memory is the host's: one object for each level.
    singles = (ctypes.c_uint64 * 4).from_address(getattr(got, "$texels"))
    assert len({*singles, got.tex}) == 5
    for handle in singles:
        assert fake.texture(handle) == (CLAMP, CLAMP, CLAMP, CLOSEST, 0, 0, 0)


def test_surfaces_are_made_once():
    tex = wp.Texture2D(numbers((4, 4)), surface_access=True)
    before = fake.count("cuSurfObjectCreate")
    assert tex.cuda_surface == tex.cuda_surface > 0
    assert fake.count("cuSurfObjectCreate") == before + 1
    with pytest.raises(RuntimeError, match="surface_access=True"):
        _ = wp.Texture2D(numbers((4, 4))).cuda_surface


@pytest.mark.parametrize(
    "function, calls, text",
    [
        ("cuArray3DCreate", 0, "making an array for a texture"),
        ("cuTexObjectCreate", 0, "making a texture object"),
        ("cuTexObjectCreate", 1, "making a texture object"),
        ("cuMemAlloc", 0, "allocating memory of the device"),
        ("cuMemcpy3DAsync", 0, "copy to a texture"),
        ("cuMipmappedArrayCreate", 0, "making an array for a texture"),
        ("cuMipmappedArrayGetLevel", 1, "asking for a level of a texture"),
    ],
)
def test_failures_leave_nothing(function, calls, text):
    levels = 2 if "Mipmapped" in function else 1
    data = numbers((4, 4))
    wp.Texture2D(data, num_mip_levels=levels)
    before = settled()
    fake.fail(function, 999, calls)
    with pytest.raises(RuntimeError, match=f"Warp CUDA error 999: {text}") as raised:
        wp.Texture2D(data, num_mip_levels=levels)
    del raised
    assert settled() == before
    wp.Texture2D(data, num_mip_levels=levels)
    assert settled() == before


def test_memory_of_textures_that_are_gone_is_used_again():
    data = numbers((4, 4))
    before = settled()
    wp.Texture2D(data)
    fake.fail("cuArray3DCreate", 2)
    made = wp.Texture2D(data)
    assert fake.alive()["array"] == before["array"] + 1
    del made
    assert settled() == before


def test_captures_outlive_textures(device):
    data = wp.array(numbers((4, 4)))
    textures = [wp.Texture2D(numbers((4, 4)), surface_access=True), wp.Texture2D(numbers((4, 4)), num_mip_levels=2)]
    assert textures[0].cuda_surface
    before = settled()
    with wp.ScopedCapture() as capture:
        textures[0].copy_from(data)
        textures.clear()
    gc.collect()
    assert fake.alive()["array"] == before["array"]
    wp.capture_launch(capture.graph)
    del capture
    alive = settled()
    assert (alive["array"], alive["texture"]) == (before["array"] - 2, before["texture"] - 6)


def test_launches_on_another_device_are_refused():
    @wp.kernel
    def sample(t: wp.Texture1D, out: wp.array[float]):
        out[0] = wp.texture_sample(t, 0.5, dtype=float)

    tex = wp.Texture1D(numbers(4))
    wp.launch(sample, 1, [tex, wp.zeros(1, dtype=float)])
    with pytest.raises(RuntimeError, match="the texture is on device 'cuda:0', the launch on 'cpu'"):
        wp.launch(sample, 1, [tex, wp.zeros(1, dtype=float, device="cpu")], device="cpu")
