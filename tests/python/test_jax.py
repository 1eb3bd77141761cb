"""Kernels, and functions that launch them, in JAX programs on the CPU; references are JAX's own results or NumPy's."""

import os
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from support import fake_cuda

import warp as wp

jax = pytest.importorskip("jax")
jnp = jax.numpy
ON_GPU = jax.default_backend() == "gpu"


@wp.kernel
def scale_add(a: wp.array[float], b: wp.array[float], s: float, out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * s + b[i]


@wp.kernel
def product(a: wp.array[float], b: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * a[i] * b[i]


@wp.kernel
def add_to(a: wp.array[float], total: wp.array[float], twice: wp.array[float]):
    i = wp.tid()
    total[i] += a[i]
    twice[i] = 2.0 * a[i]


@wp.kernel
def row_sums(m: wp.array2d[float], sums: wp.array[float]):
    i, j = wp.tid()
    wp.atomic_add(sums, i, m[i, j])


@wp.kernel
def lookup(table: wp.array[float], index: wp.array[int], out: wp.array[float]):
    i = wp.tid()
    out[i] = table[index[i]] * float(table.shape[0])


@wp.kernel
def rotate(v: wp.array[wp.vec3], m: wp.array[wp.mat33], out: wp.array[wp.vec3]):
    i = wp.tid()
    out[i] = m[i] * v[i]


@wp.kernel
def to_matrices(out: wp.array[wp.mat22], diagonal: wp.array2d[wp.float64]):
    i = wp.tid()
    out[i] = wp.mat22(float(i), 1.0, 2.0, 3.0)
    diagonal[i, i] = wp.float64(i)


def scaled_twice(a: wp.array[float], v: wp.array[wp.vec2], s: float, b: wp.array[float], w: wp.array[wp.vec2]):
    wp.launch(scale_add, dim=a.shape, inputs=[a, a, s], outputs=[b])
    wp.copy(w, v)


def enable_x64():
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_kernel_in_a_jitted_program():
    kernel = wp.jax_kernel(scale_add)
    a, b = numbers(1000), numbers(1000, seed=1)

    @jax.jit
    def program(a, b):
        (out,) = kernel(a + 1.0, b, 3.0)
        return out * 2.0

    np.testing.assert_allclose(program(a, b), ((a + 1) * 3 + b) * 2, rtol=1e-6, atol=1e-6)
    # Without jit, and with another value, which is another call.
    np.testing.assert_allclose(kernel(jnp.asarray(a), jnp.asarray(b), 5.0)[0], a * 5 + b, rtol=1e-6, atol=1e-6)


def test_vectors_and_matrices_have_their_numbers_last():
    v, m = numbers(7, 3), numbers(7, 3, 3, seed=1)
    (out,) = jax.jit(wp.jax_kernel(rotate))(v, m)
    np.testing.assert_allclose(out, np.einsum("nij,nj->ni", m, v), rtol=1e-5)


def test_outputs_have_dimensions_by_name():
    made = wp.jax_kernel(to_matrices, num_outputs=2, launch_dims=3, output_dims={"out": 3, "diagonal": (3, 3)})
    with enable_x64():
        matrices, diagonal = jax.jit(made)()
    assert matrices.shape == (3, 2, 2) and diagonal.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(matrices)[:, 0, 0], [0, 1, 2])
    np.testing.assert_array_equal(np.diag(diagonal), [0, 1, 2])


def test_arguments_that_go_in_and_out_leave_the_given_arrays_alone():
    kernel = wp.jax_kernel(add_to, num_outputs=2, in_out_argnames=["total"])
    a, total = jnp.asarray(numbers(50)), jnp.asarray(numbers(50, seed=1))
    before = np.array(total)
    new, twice = jax.jit(kernel)(a, total)
    np.testing.assert_allclose(new, before + np.asarray(a), rtol=1e-6)
    np.testing.assert_allclose(twice, 2 * np.asarray(a))
    np.testing.assert_array_equal(total, before)


@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "sequential"])
def test_vmap_launches_for_each_item(method):
    # The kernel reads the extent of the table, which no joining of batches may change.
    kernel = wp.jax_kernel(lookup, vmap_method=method, launch_dims=4)
    table, index = numbers(9), np.random.default_rng(1).integers(0, 9, (2, 3, 4)).astype(np.int32)
    out = jax.jit(jax.vmap(jax.vmap(lambda i: kernel(table, i)[0])))(index)
    np.testing.assert_allclose(out, table[index] * 9, rtol=1e-6)
    tables = numbers(2, 9)
    out = jax.vmap(lambda t, i: jax.vmap(lambda i: kernel(t, i)[0])(i))(tables, index)
    np.testing.assert_allclose(out, np.stack([t[i] * 9 for t, i in zip(tables, index, strict=True)]), rtol=1e-6)


def test_vmap_over_what_goes_in_and_out():
    sums = wp.jax_kernel(row_sums, in_out_argnames=["sums"])
    m = numbers(2, 3, 4)
    out = jax.vmap(lambda m: sums(m, jnp.zeros(m.shape[0]))[0], in_axes=1)(m)
    np.testing.assert_allclose(out, m.sum(axis=2).T, rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
def test_derivatives_are_those_of_the_formula(jit):
    kernel = wp.jax_kernel(product, enable_backward=True)
    a, b = numbers(30), numbers(30, seed=1)

    def loss(call, a, b):
        return jnp.sum(jnp.sin(call(a, b)))

    ours = jax.grad(lambda a, b: loss(lambda *x: kernel(*x)[0], a, b), argnums=(0, 1))
    theirs = jax.grad(lambda a, b: loss(lambda a, b: a * a * b, a, b), argnums=(0, 1))
    for got, wanted in zip((jax.jit(ours) if jit else ours)(a, b), theirs(a, b), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_derivatives_under_vmap_sum_over_what_is_shared():
    kernel = wp.jax_kernel(product, enable_backward=True)
    a, b = numbers(5, 8), numbers(8, seed=1)
    got = jax.grad(lambda b: jnp.sum(jax.vmap(lambda a: kernel(a, b)[0])(a)))(b)
    np.testing.assert_allclose(got, (a * a).sum(axis=0), rtol=1e-5)


def test_integers_have_no_derivative():
    kernel = wp.jax_kernel(lookup, enable_backward=True)
    table, index = numbers(6), np.array([1, 1, 5, 0, 2, 2], dtype=np.int32)
    got = jax.grad(lambda t: jnp.sum(kernel(t, index)[0]))(table)
    np.testing.assert_allclose(got, 6.0 * np.bincount(index, minlength=6))


def test_generic_kernels_take_the_instance_that_fits():
    @wp.kernel
    def triple(a: wp.array[wp.Float], out: wp.array[wp.Float]):
        i = wp.tid()
        out[i] = a.dtype(3) * a[i]

    made = wp.jax_kernel(triple)
    a = numbers(6)
    with pytest.raises(TypeError, match="0 of its instances fit"):
        made(jnp.asarray(a))
    wp.overload(triple, [wp.array[wp.float32], wp.array[wp.float32]])
    wp.overload(triple, [wp.array[wp.float16], wp.array[wp.float16]])
    np.testing.assert_allclose(made(jnp.asarray(a))[0], 3 * a, rtol=1e-6)
    assert made(jnp.asarray(a, dtype=jnp.float16))[0].dtype == jnp.float16


def test_functions_that_launch_kernels():
    function = wp.jax_callable(scaled_twice, num_outputs=2)
    a, v = numbers(20), numbers(10, 2, seed=1)

    @jax.jit
    def program(a, v):
        return function(a, v, 2.0, output_dims={"b": a.shape, "w": v.shape})

    b, w = program(a, v)
    np.testing.assert_allclose(b, 3 * a, rtol=1e-6)
    np.testing.assert_array_equal(w, v)
    b, _ = jax.vmap(lambda a: function(a, v, 2.0, output_dims={"b": 5, "w": 10}))(a.reshape(4, 5))
    np.testing.assert_allclose(b, 3 * a.reshape(4, 5), rtol=1e-6)


@wp.kernel
def fails(a: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    assert a[i] < 2.0, "too large"
    out[i] = a[i]


def test_failures_are_told_by_jax_and_later_calls_work():
    def broken(a: wp.array[float], out: wp.array[float]):
        raise KeyError("no such thing")

    a = jnp.arange(4.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"(?s)test_jax\.py.*KeyError: 'no such thing'"):
        jax.block_until_ready(wp.jax_callable(broken)(a))
    wp.set_module_options({"mode": "debug"})
    try:
        kernel = wp.jax_kernel(fails)
        # A GPU tells of a failed assertion when Warp next waits for it, which JAX knows nothing of.
        error = wp.WarpRuntimeError if ON_GPU else jax.errors.JaxRuntimeError
        with pytest.raises(error, match=r"(?s)in thread \(2\): too large.*test_jax\.py"):
            jax.block_until_ready(kernel(a))
            wp.synchronize()
    finally:
        wp.set_module_options({"mode": "release"})
    np.testing.assert_array_equal(kernel(a[:2])[0], [0, 1])


def test_graphs_of_the_gpu_are_refused_on_the_cpu():
    function = wp.jax_callable(scaled_twice, num_outputs=2, graph_mode=wp.JaxCallableGraphMode.WARP)
    with (
        jax.default_device(jax.devices("cpu")[0]),
        pytest.raises(jax.errors.JaxRuntimeError, match="graph mode WARP, which needs a GPU"),
    ):
        jax.block_until_ready(function(jnp.ones(2), jnp.ones((2, 2)), 1.0))


def test_callbacks_by_name():
    from warp.jax_experimental.ffi import register_ffi_callback

    seen = {}

    def run(inputs, outputs, attributes, context):
        seen.update(attributes, shape=inputs[0].shape, has_stream=context.stream != 0)
        where = {"device": "cpu"}
        if ON_GPU:
            where = {"stream": wp.Stream("cuda:0", cuda_stream=context.stream)}
        wp.launch(scale_add, dim=8, inputs=[inputs[0], inputs[0], attributes["scale"]], outputs=outputs, **where)

    register_ffi_callback("weft_test_callback", run)
    a = jnp.arange(8.0)
    call = jax.ffi.ffi_call("weft_test_callback", jax.ShapeDtypeStruct(a.shape, jnp.float32))
    np.testing.assert_array_equal(call(a, scale=np.float32(4), label="x"), 5 * np.arange(8))
    assert seen == {"scale": 4.0, "label": "x", "shape": (8,), "has_stream": ON_GPU}


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"num_outputs": 0}, ValueError, "num_outputs must be at least 1"),
        ({"num_outputs": 5}, ValueError, "num_outputs must be at least 1"),
        ({"num_outputs": 4}, TypeError, "output 's' must be an array"),
        ({"in_out_argnames": ["out", "out"]}, ValueError, "must not contain duplicate names"),
        ({"in_out_argnames": ["missing"]}, ValueError, "did not match any function argument names"),
        ({"num_outputs": 2, "in_out_argnames": ["out"]}, ValueError, "should be placed before output-only arguments"),
        ({"block_dim": 0}, ValueError, "block_dim must be positive"),
        ({"block_dim": True}, TypeError, "block_dim must be an integer or None"),
        ({"enable_backward": True, "output_dims": 4}, NotImplementedError, "output_dims"),
        ({"enable_backward": True, "in_out_argnames": ["b"]}, NotImplementedError, "in_out_argnames"),
    ],
)
def test_refused_when_made(arguments, error, text):
    with pytest.raises(error, match=text):
        wp.jax_kernel(scale_add, **arguments)


def test_refused_when_called():
    kernel = wp.jax_kernel(scale_add)
    a = jnp.ones(4)
    for args, error, text in [
        ((a, a), TypeError, "expects 3 input"),
        ((a, a.astype(jnp.int32), 1.0), TypeError, "argument 'b' expects 1 dimension.* of float32, found .* int32"),
        ((a.reshape(2, 2), a, 1.0), TypeError, r"argument 'a' expects 1 dimension.* shape \(2, 2\)"),
        ((a, a, "x"), wp.WarpLaunchError, "argument 's' expects float"),
    ]:
        with pytest.raises(error, match=text):
            kernel(*args)
    with pytest.raises(TypeError, match=r"must be static for jax\.jit"):
        jax.jit(kernel)(a, a, 1.0)
    long = jax.ShapeDtypeStruct((2**31 + 1,), jnp.float32)
    with pytest.raises(ValueError, match=r"extent 2147483649 in dimension 0"):
        jax.jit(lambda x: wp.jax_kernel(product, output_dims=1)(x, x)).lower(long)


def test_one_object_for_one_configuration():
    assert wp.jax_kernel(product) is wp.jax_kernel(product, in_out_argnames=[])
    assert wp.jax_kernel(product) is not wp.jax_kernel(product, block_dim=64)
    assert wp.jax_callable(scaled_twice, 2) is not wp.jax_callable(scaled_twice, 2, stage_in_argnames=["a"])


def test_earlier_names():
    import warp.jax
    import warp.jax_experimental as experimental
    from warp.jax_experimental.custom_call import jax_kernel
    from warp.jax_experimental.ffi import GraphMode, get_jax_callable_default_graph_cache_max

    assert GraphMode.WARP is wp.JaxCallableGraphMode.WARP and warp.jax.jax_kernel is wp.jax_kernel
    assert jax_kernel(product) is experimental.jax_kernel(product)
    made = experimental.jax_callable(scaled_twice, 2)
    assert made.graph_cache_max == get_jax_callable_default_graph_cache_max() == 32
    assert wp.jax_callable(scaled_twice, 2, graph_cache_max=None).graph_cache_max is None


# Programs over several devices, in a process that has two.
SEVERAL_DEVICES = """
import jax, jax.numpy as jnp, numpy as np, warp as wp
from jax.sharding import NamedSharding, PartitionSpec as P

@wp.kernel
def product(a: wp.array[float], b: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * a[i] * b[i]

def function(a: wp.array[float], b: wp.array[float], out: wp.array[float]):
    wp.launch(product, dim=a.shape, inputs=[a, b], outputs=[out])

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
assert mesh.size == 2
x, w = np.arange(16, dtype=np.float32), np.arange(8, dtype=np.float32) + 1
plain, backward = wp.jax_kernel(product), wp.jax_kernel(product, enable_backward=True)
for call in (plain, backward, wp.jax_callable(function)):
    got = jax.pmap(lambda a: call(a, w)[0])(x.reshape(2, 8))
    np.testing.assert_allclose(got, x.reshape(2, 8) ** 2 * w, rtol=1e-6)
    if not hasattr(jax, "shard_map"):
        continue
    @jax.shard_map(mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"), check_vma=True)
    def twice(x, w):
        return jax.lax.scan(lambda c, _: (call(c, w)[0], None), x, None, length=2)[0]
    want = (x * x * np.tile(w, 2)) ** 2 * np.tile(w, 2)
    np.testing.assert_allclose(twice(x, w), want, rtol=1e-6)

if hasattr(jax, "shard_map"):
    @jax.shard_map(mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"), check_vma=True)
    def once(x, w):
        return backward(x, w)[0]
    got = jax.grad(lambda w: jnp.sum(once(x, w)))(jnp.asarray(w))
    np.testing.assert_allclose(got, (x.reshape(2, 8) ** 2).sum(0), rtol=1e-6)
sharded = jax.device_put(x, NamedSharding(mesh, P("d")))
np.testing.assert_allclose(jax.jit(lambda a: plain(a, a)[0])(sharded), x**3, rtol=1e-6)
"""


def test_several_devices(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(SEVERAL_DEVICES))
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_declared_interface_is_that_of_the_installed_jaxlib(tmp_path):
    """Our declaration of XLA's structs against jaxlib's header, where a compiler is at hand."""
    header = os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    ours = os.path.join(os.path.dirname(__file__), "..", "..", "src", "runtime", "xla", "ffi_abi.h")
    compiler = next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    if compiler is None or not os.path.exists(header):
        pytest.skip("no compiler or no header")
    pairs = {
        "XLA_FFI_Buffer": ("Buffer", ["dtype dtype", "data data", "rank rank", "dims dims"]),
        "XLA_FFI_Args": ("Operands", ["size size", "types kinds", "args values"]),
        "XLA_FFI_Attrs": ("Attributes", ["size size", "types kinds", "names names", "attrs values"]),
        "XLA_FFI_CallFrame": (
            "CallFrame",
            ["api api", "ctx context", "stage stage", "args arguments", "rets results", "attrs attributes"],
        ),
        "XLA_FFI_Api": (
            "Api",
            [
                "XLA_FFI_Error_Create error_create",
                "XLA_FFI_Stream_Get stream_get",
                "XLA_FFI_DeviceOrdinal_Get device_ordinal_get",
            ],
        ),
        "XLA_FFI_Metadata": ("Metadata", ["api_version version", "traits traits"]),
        "XLA_FFI_Error_Create_Args": ("ErrorCreate", ["message message", "errc code"]),
        "XLA_FFI_Stream_Get_Args": ("StreamGet", ["ctx context", "stream stream"]),
        "XLA_FFI_DeviceOrdinal_Get_Args": ("DeviceOrdinalGet", ["ctx context", "device_ordinal ordinal"]),
    }
    lines = [f'#include "{header}"', f'#include "{ours}"', "namespace x = weft::runtime::xla;"]
    with open(header) as file:
        known = file.read()
    for theirs, (name, members) in pairs.items():
        for their, our in (m.split() for m in members):
            if theirs not in known or their not in known:
                continue  # of a later version
            lines.append(
                f'static_assert(offsetof({theirs}, {their}) == offsetof(x::{name}, {our}), "{theirs} {their}");'
            )
    source = tmp_path / "check.cpp"
    source.write_text("\n".join(lines))
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bfloat16_is_a_number_for_numpy_where_its_dtype_is_known():
    a = wp.array([1.0, 2.5, -3.0], dtype=wp.bfloat16)
    assert wp.to_jax(a).dtype == jnp.bfloat16
    back = wp.from_jax(jnp.asarray([1.0, 2.5, -3.0], dtype=jnp.bfloat16), dtype=wp.bfloat16)
    for given in (a, back):
        np.testing.assert_array_equal(given.numpy().astype(np.float32), [1.0, 2.5, -3.0])


# The modes of graphs, as XLA calls the function on a GPU: with the stand-in for the driver.
GRAPH_MODES = """
import numpy as np, warp as wp
from support.fake_cuda import Fake

fake, device = Fake(), wp.get_device("cuda:0")
FUNCTIONS = ("cuGraphLaunch", "cuLaunchKernel", "cuStreamBeginCapture", "cuMemcpyDtoDAsync")

@wp.kernel
def double(a: wp.array[float], b: wp.array[float]):
    i = wp.tid()
    b[i] = 2.0 * a[i]

def function(a: wp.array[float], b: wp.array[float]):
    wp.launch(double, a.shape, [a], [b])

def calls(mode, **options):
    made = wp.jax_callable(function, graph_mode=mode, **options)
    stream, counts = wp.Stream(device), []
    arrays = [wp.zeros(4, device=device) for _ in range(6)]
    for a, b in ((0, 1), (0, 1), (2, 3), (4, 5), (0, 1)):
        before = [fake.count(f) for f in FUNCTIONS]
        buffers = [[(arrays[k].ptr, (4,), "float32")] for k in (a, b)]
        made._run((), {}, device, stream.cuda_stream, *buffers, {})
        counts.append(tuple(fake.count(f) - n for f, n in zip(FUNCTIONS, before)))
    assert device.stream.cuda_stream != stream.cuda_stream
    return made, counts

modes = wp.JaxCallableGraphMode
for mode in (modes.NONE, modes.JAX):
    made, counts = calls(mode)
    assert counts == [(0, 1, 0, 0)] * 5, counts
# A graph for each set of addresses, of which two are kept.
made, counts = calls(modes.WARP, graph_cache_max=2)
new, known = (1, 1, 1, 0), (1, 0, 0, 0)
assert counts == [new, known, new, new, new] and made.graph_cache_size == 2, counts
# One graph, and copies to and from its arrays.
for mode in (modes.WARP_STAGED, modes.WARP_STAGED_EX):
    made, counts = calls(mode)
    assert counts[1:] == [(1, 0, 0, 2)] * 4 and made.graph_cache_size == 1, counts
    wp.clear_jax_callable_graph_cache(made)
    assert made.graph_cache_size == 0
# What was recorded when a capture failed is not kept.
fake.fail("cuStreamEndCapture", 901)
try:
    calls(modes.WARP)
except RuntimeError as error:
    assert "CUDA graph capture failed" in str(error)
else:
    raise AssertionError("no error")
assert wp.jax_callable(function, graph_mode=modes.WARP).graph_cache_size == 0
wp.clear_jax_callable_graph_cache()
assert fake.wrong() == 0
"""


def test_graph_modes(tmp_path):
    library = fake_cuda.build(tmp_path)
    if library is None:
        pytest.skip("no C++ compiler to build the stand-in for the driver with")
    script = tmp_path / "program.py"
    script.write_text(GRAPH_MODES)
    places = {"WEFT_CUDA_DRIVER": str(library), "WARP_CACHE_PATH": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    environment = {**os.environ, **places, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
