"""Textures: what sampling gives against the formulas in NumPy's float64, derivatives against differences of these,
copies, structs and arrays of textures, what is refused.
"""

import itertools
import shutil
import subprocess

import numpy as np
import pytest

import warp as wp
from warp.kernels import backend_name

CLOSEST, LINEAR = wp.TextureFilterMode.CLOSEST, wp.TextureFilterMode.LINEAR
MODES = list(wp.TextureAddressMode)
CLASSES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}
VECTORS = {1: float, 2: wp.vec2, 3: wp.vec3}
RESULTS = {1: float, 2: wp.vec2, 4: wp.vec4}


def make_kernel(ndim, channels):
    texture, place, result = CLASSES[ndim], VECTORS[ndim], RESULTS[channels]

    @wp.kernel(module="unique")
    def sample(tex: texture, at: wp.array[place], lod: wp.array[float], out: wp.array[result]):
        i = wp.tid()
        out[i] = wp.texture_sample(tex, at[i], dtype=result, lod=lod[i])

    return sample


KERNELS = {(n, c): make_kernel(n, c) for n in CLASSES for c in RESULTS}


# ---- the reference ----


def index_of(i, size, mode):
    """The texel that an index means; None: the border."""
    if mode == wp.TextureAddressMode.WRAP:
        return i % size
    if mode == wp.TextureAddressMode.MIRROR:
        return i % (2 * size) if i % (2 * size) < size else 2 * size - 1 - i % (2 * size)
    if mode == wp.TextureAddressMode.BORDER and not 0 <= i < size:
        return None
    return min(max(i, 0), size - 1)


def at_level(data, place, modes, linear, unit):
    """The channels at a place of one level, which is [..., y, x, channel]; `unit`: sizes that coordinates count by."""
    total = np.zeros(data.shape[-1])
    shape = data.shape[:-1][::-1]
    x = [p / u * s for p, u, s in zip(place, unit, shape, strict=True)]
    if not linear:
        texel = [index_of(int(np.floor(v)), s, m) for v, s, m in zip(x, shape, modes, strict=False)]
        return total if None in texel else data[tuple(texel[::-1])]
    cells = [int(np.floor(v - 0.5)) for v in x]
    for corner in itertools.product((0, 1), repeat=len(shape)):
        share = 1.0
        for c, v, cell in zip(corner, x, cells, strict=True):
            share *= (v - 0.5 - cell) if c else 1 - (v - 0.5 - cell)
        texel = [index_of(cell + c, s, m) for cell, c, s, m in zip(cells, corner, shape, modes, strict=False)]
        if None not in texel:
            total = total + share * data[tuple(texel[::-1])]
    return total


def halved(data):
    for axis in range(data.ndim - 1):
        n = data.shape[axis] // 2
        if n:
            rows = np.moveaxis(data, axis, 0)[: 2 * n]
            data = np.moveaxis((rows[::2] + rows[1::2]) / 2, 0, axis)
    return data


def reference(data, place, modes, linear, normalized, lod=0.0, levels=1, blends=True):
    unit = [1.0] * (data.ndim - 1) if normalized else data.shape[:-1][::-1]
    chain = [data]
    while len(chain) < levels:
        chain.append(halved(chain[-1]))
    lod = min(max(lod, 0.0), levels - 1.0)
    values = [at_level(level, place, modes, linear, unit) for level in chain]
    if not blends:
        return values[int(np.floor(lod + 0.5))]
    low = int(lod)
    return values[low] + (lod - low) * (values[min(low + 1, levels - 1)] - values[low])


def sampled(tex, places, lods=None, channels=None):
    n = tex.ndim
    channels = channels or tex.num_channels
    place = wp.array(np.asarray(places, dtype=np.float32).reshape((-1, n) if n > 1 else -1), dtype=VECTORS[n])
    lod = wp.array(np.full(len(place), -1.0) if lods is None else lods, dtype=float)
    out = wp.zeros(len(place), dtype=RESULTS[channels])
    wp.launch(KERNELS[n, channels], len(place), [tex, place, lod], [out])
    return out.numpy().reshape(len(place), channels)


def tolerance(linear):
    """GPUs weight in steps of 1/256, along each axis."""
    return 3e-2 if linear and wp.get_device().is_cuda else 2e-6


def allowed(mode, normalized):
    """On GPUs coordinates are repeated where they are normalised only."""
    return normalized or mode in (wp.TextureAddressMode.CLAMP, wp.TextureAddressMode.BORDER) or wp.get_device().is_cpu


@pytest.fixture(params=["", "cxx"])
def backend(request):
    if request.param and wp.get_device().is_cuda:
        pytest.skip("one backend makes code for GPUs")
    wp.config.cpu_backend = backend_name(request.param)
    yield
    wp.config.cpu_backend = ""


@pytest.mark.parametrize("ndim, channels", [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1), (3, 4)])
def test_values(ndim, channels, backend):
    random = np.random.default_rng(10 * ndim + channels)
    shape = (4, 5, 7)[3 - ndim :]
    data = random.uniform(-1, 1, (*shape, channels)).astype(np.float32)
    for linear, normalized in itertools.product((False, True), repeat=2):
        for modes in [[m] * 3 for m in MODES] + [[MODES[0], MODES[3], MODES[1]], [MODES[2], MODES[1], MODES[0]]]:
            if not all(allowed(m, normalized) for m in modes[:ndim]):
                continue
            tex = CLASSES[ndim](
                data if channels > 1 else data[..., 0],
                filter_mode=LINEAR if linear else CLOSEST,
                address_mode=tuple(modes),
                normalized_coords=normalized,
            )
            places = (random.uniform(-2.3, 3.3, (40, ndim)) * (1 if normalized else shape[::-1])).astype(np.float32)
            expected = [reference(data.astype(float), p.astype(float), modes, linear, normalized) for p in places]
            np.testing.assert_allclose(sampled(tex, places), expected, atol=tolerance(linear))


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("blends", [False, True])
def test_levels(ndim, blends):
    random = np.random.default_rng(ndim)
    shape = (4, 6, 16)[3 - ndim :]
    data = random.uniform(-1, 1, (*shape, 2)).astype(np.float32)
    tex = CLASSES[ndim](data, num_mip_levels=0, mip_filter_mode=LINEAR if blends else CLOSEST)
    assert tex.num_mip_levels == 5 and tex.is_mipmapped
    places = random.uniform(0, 1, (30, ndim)).astype(np.float32)
    lods = np.concatenate([[-1.0, 0.0, 1.0, 2.0, 4.0, 9.0], random.uniform(-0.5, 4.4, 24)]).astype(np.float32)
    modes = [wp.TextureAddressMode.CLAMP] * 3
    data = data.astype(float)
    expected = [
        reference(data, p.astype(float), modes, True, True, float(lod), 5, blends)
        for p, lod in zip(places, lods, strict=True)
    ]
    np.testing.assert_allclose(sampled(tex, places, lods), expected, atol=tolerance(True))


def test_numbers_of_all_types():
    at = [(i + 0.5) / 4 for i in range(4)]
    for dtype, data, expected in (
        ("uint8", [0, 1, 128, 255], [0, 1 / 255, 128 / 255, 1]),
        ("uint16", [0, 1, 32768, 65535], [0, 1 / 65535, 32768 / 65535, 1]),
        ("int8", [-128, -127, 1, 127], [-1, -1, 1 / 127, 1]),
        ("int16", [-32768, -32767, 1, 32767], [-1, -1, 1 / 32767, 1]),
        ("uint32", [0, 1, 16777217, 4294967295], [0, 1, 16777216, 4294967296]),
        ("int32", [-2147483648, -1, 1000, 2147483647], [-2147483648, -1, 1000, 2147483648]),
        ("float16", [-0.5, 6.1e-5, 5.96e-8, 65504], np.float16([-0.5, 6.1e-5, 5.96e-8, 65504])),
        ("float32", [-0.5, 1e-30, 3e38, 7], np.float32([-0.5, 1e-30, 3e38, 7])),
    ):
        tex = wp.Texture1D(np.array(data, dtype=dtype), filter_mode=CLOSEST)
        assert tex.dtype is getattr(wp, dtype)
        np.testing.assert_allclose(sampled(tex, at)[:, 0], np.float32(expected), rtol=1e-6)


def test_channels_that_a_texture_has_not_are_zero():
    assert sampled(wp.Texture1D(np.full(2, 7, np.float32)), [0.5], channels=4).tolist() == [[7, 0, 0, 0]]
    assert sampled(wp.Texture1D(np.full((2, 4), 7, np.float32)), [0.5], channels=2).tolist() == [[7, 7]]


@pytest.mark.host("GPUs take it for a place of their own")
def test_places_that_are_no_numbers_are_safe():
    for mode, linear in itertools.product(MODES, (CLOSEST, LINEAR)):
        tex = wp.Texture2D(np.ones((3, 4), np.float32), address_mode=mode, filter_mode=linear, num_mip_levels=0)
        bad = [np.nan, np.inf, -np.inf, 3e38, -3e38, -1e-30]
        places = list(itertools.product(bad, bad))
        known = ~np.isnan(places).any(axis=1)
        values = sampled(tex, places)[:, 0]
        assert np.isnan(values[~known]).all() and np.isin(values[known], (0, 0.25, 0.5, 1)).all()
        np.testing.assert_array_equal(sampled(tex, places, [np.nan] * len(places))[:, 0], values)


# ---- derivatives ----


@pytest.mark.parametrize("ndim, channels", [(1, 1), (1, 2), (2, 1), (2, 4), (3, 2)])
def test_slopes(ndim, channels, backend):
    random = np.random.default_rng(ndim + 7 * channels)
    shape = (4, 6, 8)[3 - ndim :]
    data = random.uniform(-1, 1, (*shape, channels)).astype(np.float32)
    seeds = random.uniform(-1, 1, (12, channels)).astype(np.float32)
    for mode, levels in itertools.product(MODES, (1, 3)):
        tex = CLASSES[ndim](data if channels > 1 else data[..., 0], address_mode=mode, num_mip_levels=levels)
        places = random.uniform(-0.9, 1.9, (12, ndim)).astype(np.float32)
        lods = (random.uniform(0.1, 0.9, 12) + random.integers(0, 2, 12)).astype(np.float32)
        at = wp.array(places if ndim > 1 else places[:, 0], dtype=VECTORS[ndim], requires_grad=True)
        lod = wp.array(lods, dtype=float, requires_grad=True)
        out = wp.zeros(12, dtype=RESULTS[channels], requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(KERNELS[ndim, channels], 12, [tex, at, lod], [out])
        tape.backward(grads={out: wp.array(seeds if channels > 1 else seeds[:, 0], dtype=out.dtype)})

        def value(i, place, lod, mode=mode, levels=levels):
            got = reference(data.astype(float), place, [mode] * 3, True, True, lod, levels)
            return float(seeds[i].astype(float) @ got)

        h = 1e-7
        for i in range(12):
            place, level = places[i].astype(float), float(lods[i])
            # Where a kink lies between, the two sides differ.
            for axis in range(ndim):
                step = h * np.eye(ndim)[axis]
                left = (value(i, place, level) - value(i, place - step, level)) / h
                right = (value(i, place + step, level) - value(i, place, level)) / h
                if abs(left - right) < 1e-5:
                    got = at.grad.numpy().reshape(12, ndim)[i, axis]
                    np.testing.assert_allclose(got, (left + right) / 2, rtol=1e-4, atol=1e-4)
            expected = (value(i, place, level + h) - value(i, place, level - h)) / (2 * h)
            np.testing.assert_allclose(lod.grad.numpy()[i], expected, rtol=1e-4, atol=1e-4)


def test_slopes_of_what_is_closest_are_zero():
    tex = wp.Texture1D(np.arange(8, dtype=np.float32), filter_mode=CLOSEST)
    at, lod = wp.array([0.3], dtype=float, requires_grad=True), wp.array([-1.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(KERNELS[1, 1], 1, [tex, at, lod], [out])
    tape.backward(loss=out)
    assert (at.grad.numpy()[0], lod.grad.numpy()[0]) == (0, 0)


# ---- textures as arguments ----


@wp.struct
class Pair:
    first: wp.Texture2D
    scale: float
    second: wp.Texture3D


@wp.kernel
def of_struct(p: Pair, table: wp.array[Pair], out: wp.array[float]):
    i = wp.tid()
    inner = table[i]
    out[i] = (
        wp.texture_sample(p.first, 0.5, 0.5, dtype=float) * p.scale
        + wp.texture_sample(inner.second, wp.vec3(0.5), dtype=float) * inner.scale
        + float(inner.first.width + 10 * p.second.depth)
    )


@wp.kernel
def of_array(textures: wp.array[wp.Texture2D], out: wp.array[float]):
    i = wp.tid()
    out[i] = wp.texture_sample(textures[i], uv=wp.vec2(0.5), dtype=float)


def constant(ndim, value, size=3):
    return CLASSES[ndim](np.full((size,) * ndim, value, dtype=np.float32))


def test_members_and_elements():
    def pair(a, scale, b):
        made = Pair()
        made.first, made.scale, made.second = constant(2, a), scale, constant(3, b, 4)
        return made

    p, out = pair(2.0, 10.0, 0.0), wp.zeros(3, dtype=float)
    # The arrays keep what they were made of.
    table = wp.array([pair(0.0, 1.0, float(i)) for i in range(3)], dtype=Pair)
    wp.launch(of_struct, 3, [p, table], [out])
    assert out.numpy().tolist() == [20 + i + 3 + 40 for i in range(3)]
    textures = wp.array([constant(2, float(i)) for i in range(3)], dtype=wp.Texture2D)
    wp.launch(of_array, 3, [textures], [out])
    assert out.numpy().tolist() == [0, 1, 2]


def test_captured_launches_keep_their_textures():
    tex, at, lod = constant(1, 5.0), wp.array([0.5], dtype=float), wp.array([-1.0], dtype=float)
    out = wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(KERNELS[1, 1], 1, [tex, at, lod], [out])
    del tex
    wp.capture_launch(capture.graph)
    assert out.numpy().tolist() == [5]


@pytest.mark.host("graphs of GPUs cannot be saved")
def test_graphs_with_textures_are_not_saved(tmp_path):
    out = wp.zeros(1, dtype=float)
    with wp.ScopedCapture(apic=True) as capture:
        wp.launch(of_array, 1, [wp.array([constant(2, 1.0)], dtype=wp.Texture2D)], [out])
    with pytest.raises(Exception, match="texture"):
        wp.capture_save(capture.graph, str(tmp_path / "graph"), outputs={"out": out})


# ---- copies ----


def test_copies():
    data = np.random.default_rng(3).random((3, 4, 2), dtype=np.float32)
    tex = wp.Texture2D(width=4, height=3, num_channels=2, dtype=float)
    back = np.ones_like(data)
    tex.copy_to(back)
    assert not back.any()
    tex.copy_from(data)
    dst = wp.zeros((3, 4), dtype=wp.vec2)
    tex.copy_to(dst)
    np.testing.assert_array_equal(dst.numpy(), data)
    other = wp.Texture2D(np.zeros_like(data))
    other.copy_from(tex)
    tex.copy_from(wp.array(2 * data, dtype=wp.vec2))
    other.copy_to(back)
    np.testing.assert_array_equal(back, data)
    other.copy_to(tex)
    tex.copy_to(dst)
    np.testing.assert_array_equal(dst.numpy(), data)
    whole = wp.Texture2D(wp.array(data, dtype=float), filter_mode=CLOSEST)
    assert (whole.num_channels, whole.width, whole.height, whole.depth) == (2, 4, 3, 1)
    np.testing.assert_array_equal(sampled(whole, [[0.625, 0.5]])[0], data[1, 2])


def test_copies_that_do_not_fit():
    tex = wp.Texture2D(np.zeros((2, 3), np.float32))
    for src, text in (
        (np.zeros((2, 4), np.float32), r"texture shape=\(2, 3\), source shape=\(2, 4\)"),
        (np.zeros((2, 3), np.int32), "texture dtype=float32, source dtype=int32"),
        (wp.zeros((2, 3), dtype=wp.vec2), "texture channels=1, source channels=2"),
        (wp.zeros(6, dtype=float), r"source shape=\(6,\)"),
        (wp.Texture2D(np.zeros((3, 2), np.float32)), r"destination shape=\(2, 3\), source shape=\(3, 2\)"),
        ([1.0], "Expected contiguous array or Texture, found list"),
        (np.zeros((3, 2), np.float32).T, "Expected contiguous array"),
    ):
        with pytest.raises(ValueError, match=text):
            tex.copy_from(src)
    levels = wp.Texture2D(np.zeros((2, 2), np.float32), num_mip_levels=2)
    for call in (levels.copy_from, levels.copy_to, wp.Texture2D(np.zeros((2, 2), np.float32)).copy_from):
        with pytest.raises(RuntimeError, match="textures of one level"):
            call(levels if call.__self__ is not levels else np.zeros((2, 2), np.float32))


# ---- what is refused ----


@pytest.mark.parametrize(
    "ndim, arguments, text",
    [
        (2, {}, "width must be a positive integer, found 0"),
        (2, {"width": 4, "height": 4}, "num_channels must be 1, 2, or 4, found 0"),
        (2, {"width": 4, "height": 4, "num_channels": 1}, "Unsupported texture dtype: None"),
        (1, {"data": np.zeros((4, 3), np.float32)}, "num_channels must be 1, 2, or 4, found 3"),
        (1, {"data": np.zeros((4, 2, 2), np.float32)}, "1D texture data must be 1D or 2D"),
        (2, {"data": np.zeros(4, np.float32)}, "2D texture data must be 2D or 3D"),
        (2, {"data": np.zeros((4, 4))}, "Unsupported texture dtype"),
        (2, {"data": np.zeros((4, 4), np.float32), "width": 7}, "width does not match data width: 7 and 4"),
        (2, {"data": np.zeros((4, 4), np.float32), "num_channels": 2}, "num_channels is 2, but the data has 1"),
        (2, {"data": np.zeros((4, 4), np.float32), "dtype": int}, "dtype is int32, but the data has float32"),
        (2, {"data": np.zeros((4, 0), np.float32)}, "width must be a positive integer"),
        (2, {"data": np.zeros((4, 4), np.float32), "filter_mode": "x"}, "Invalid texture filter mode: 'x'"),
        (2, {"data": np.zeros((4, 4), np.float32), "mip_filter_mode": 2}, "Invalid texture mip filter mode: 2"),
        (2, {"data": np.zeros((4, 4), np.float32), "address_mode": 7}, "Invalid texture address mode for axis 0: 7"),
        (2, {"data": np.zeros((4, 4), np.float32), "address_mode": (1,)}, "address_mode has 1 modes for 2 axes"),
        (2, {"data": np.zeros((4, 4), np.int32), "filter_mode": 1}, "need filter_mode=TextureFilterMode.CLOSEST"),
        (2, {"data": np.zeros((4, 4), np.int32), "num_mip_levels": 2, "mip_filter_mode": 1}, "mip_filter_mode="),
        (2, {"data": np.zeros((4, 4), np.float32), "num_mip_levels": 9}, r"exceeds the 3 levels that sizes \(4, 4\)"),
        (2, {"data": np.zeros((4, 4), np.float32), "num_mip_levels": -1}, "num_mip_levels must be >= 0, found -1"),
    ],
)
def test_textures_that_cannot_be_made(ndim, arguments, text):
    with pytest.raises(ValueError, match=text):
        CLASSES[ndim](**arguments)


@pytest.mark.host("these are refusals of the CPU")
def test_what_only_gpus_have():
    tex = wp.Texture2D(np.zeros((4, 4), np.float32), surface_access=True)
    assert tex.id > 0
    for name in ("cuda_texture", "cuda_array", "cuda_surface"):
        with pytest.raises(RuntimeError, match=f"{name} is only supported for CUDA textures"):
            getattr(tex, name)
    with pytest.raises(ValueError, match="cuda_array was given, but cpu is not a CUDA device"):
        wp.Texture2D(cuda_array=5)


def refused(kernel, *arguments):
    with pytest.raises(Exception) as raised:
        wp.launch(kernel, 1, [*arguments, wp.zeros(1, dtype=float)])
    return str(raised.value)


def test_calls_that_are_refused():
    tex = constant(2, 1.0)

    @wp.kernel
    def one_number(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(t, 0.5, dtype=float)

    @wp.kernel
    def wrong_type(t: wp.Texture2D, o: wp.array[float]):
        o[0] = float(wp.texture_sample(t, wp.vec2(0.5), dtype=int))

    @wp.kernel
    def no_type(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(t, wp.vec2(0.5))

    @wp.kernel
    def wide(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(t, wp.vec2d(wp.float64(0.5)), dtype=float)

    @wp.kernel
    def level(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(t, wp.vec2(0.5), dtype=float, lod=1)

    @wp.kernel
    def unknown(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(t, wp.vec2(0.5), dtype=float, bias=1.0)

    @wp.kernel
    def no_texture(t: wp.Texture2D, o: wp.array[float]):
        o[0] = wp.texture_sample(o, wp.vec2(0.5), dtype=float)

    @wp.kernel
    def no_depth(t: wp.Texture2D, o: wp.array[float]):
        o[0] = float(t.depth)

    @wp.kernel
    def changed(t: wp.Texture2D, o: wp.array[float]):
        t.width = 1000
        o[0] = wp.texture_sample(t, wp.vec2(0.5), dtype=float)

    for kernel, text in (
        (one_number, "of a Texture2D needs a value for 'v'"),
        (wrong_type, "unsupported texture type `int32`"),
        (no_type, "needs a value for 'dtype'"),
        (wide, "takes a vec2 for 'uv', found"),
        (level, "the level of detail of wp.texture_sample() is a float32"),
        (unknown, "has no parameter for 'bias'"),
        (no_texture, "takes a texture (Texture1D, Texture2D or Texture3D) first"),
        (no_depth, "depth"),
        (changed, "a texture cannot be changed"),
    ):
        assert text in refused(kernel, tex), kernel.key


def test_launches_that_are_refused():
    at, lod, out = wp.array([0.5], dtype=float), wp.array([0.0], dtype=float), wp.zeros(1, dtype=float)
    for wrong in (None, constant(2, 1.0), at, 5):
        with pytest.raises(Exception, match="argument 'tex' expects Texture1D"):
            wp.launch(KERNELS[1, 1], 1, [wrong, at, lod], [out])
    with pytest.raises(Exception, match="a member that is a texture has not been set"):
        wp.launch(of_struct, 1, [Pair(), wp.zeros(1, dtype=Pair)], [out])
    with pytest.raises(TypeError, match="'first' expects Texture2D, got Texture3D"):
        Pair().first = constant(3, 1.0)


# ---- code for GPUs, without one ----


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no ptxas")
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_the_code_for_gpus_assembles(ndim, tmp_path):
    for adjoint in (False, True):
        ptx = KERNELS[ndim, 4]._dump("ptx", adjoint=adjoint, backend="llvm-nvptx", gpu="sm_80")
        assert f"tex.{ndim}d.v4.f32.f32" in ptx
        assert adjoint or f"tex.level.{ndim}d.v4.f32.f32" in ptx
        (tmp_path / "kernel.ptx").write_text(ptx)
        command = ["ptxas", "-arch=sm_80", "-o", tmp_path / "kernel.cubin", tmp_path / "kernel.ptx"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
