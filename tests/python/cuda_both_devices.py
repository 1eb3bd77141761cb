"""What the CPU and a GPU do side by side: moves between them, loading for either, settings that only one has. Runs with
the stand-in for the driver (test_cuda_failures.py begins it).
"""

import numpy as np
import pytest
from support.fake_cuda import Fake

import warp as wp
from warp.autograd import jacobian

fake = Fake()


@wp.struct
class Holder:
    values: wp.indexedarray[float]


@wp.kernel
def double(a: wp.array[float]):
    i = wp.tid()
    a[i] = 2.0 * a[i]


def test_structs_move_with_indexed_arrays():
    holder = Holder()
    data = wp.array(np.arange(10.0), dtype=float, device="cpu")
    holder.values = wp.indexedarray(data, [wp.array([1, 3, 5], dtype=int, device="cpu")])
    moved = holder.to("cuda:0")
    assert isinstance(moved.values, wp.indexedarray) and moved.values.device.is_cuda
    assert all(i is None for i in moved.values.indices)
    np.testing.assert_array_equal(moved.values.data.numpy(), [1, 3, 5])
    assert holder.to("cpu").values is holder.values


def test_a_block_size_that_is_not_positive_is_the_default():
    a = wp.zeros(1 << 16, dtype=float, device="cuda:0")
    for wanted in (0, -5, None):
        wp.launch(double, 1 << 16, [a], block_dim=wanted, device="cuda:0")
        assert fake.last_launch()[1] == 256
    wp.launch(double, 1 << 16, [a], block_dim=64, device="cuda:0")
    assert fake.last_launch()[1] == 64


def test_modules_are_loaded_for_each_device_and_size():
    @wp.kernel(module="unique")
    def kernel(a: wp.array[float]):
        a[wp.tid()] = float(wp.block_dim())

    device, module = wp.get_device("cuda:0"), kernel.module
    assert module.load(device, 64).block_dim == 64
    assert module.load(device).block_dim == 64  # what is in use
    assert (device.context, 64) in module.execs
    module.unload()
    assert module.load(device).block_dim == module.options["block_dim"] == 256
    assert module.load("cpu", 64).block_dim == 1
    module.unload()
    wp.launch(kernel, 1, [wp.zeros(1, dtype=float, device="cuda:0")], device="cuda:0")
    assert list(module.execs) == [(device.context, 256)]
    wp.get_cuda_kernel_properties(kernel, device, block_dim=32)
    assert (device.context, 32) in module.execs


def test_peers():
    for set_access in (wp.set_peer_access_enabled, wp.set_mempool_access_enabled):
        for pair in (("cpu", "cuda:0"), ("cuda:0", "cpu")):
            with pytest.raises(ValueError, match="only supported between CUDA devices"):
                set_access(*pair, True)
            set_access(*pair, False)  # there is nothing to take away
        with pytest.raises(ValueError, match="only supported between CUDA devices"):
            set_access("cpu", "cpu", False)


def test_run_lengths_on_one_device():
    values = wp.zeros(8, dtype=int, device="cpu")
    with pytest.raises(RuntimeError, match="run_count storage device does not match other arrays"):
        wp.utils.runlength_encode(
            values, wp.empty_like(values), wp.empty_like(values), run_count=wp.empty(1, dtype=int, device="cuda:0")
        )


def test_what_may_spill_is_said_by_a_bool():
    for wrong in (0, 1, 1.0, "true"):
        with pytest.raises(TypeError, match="enable_cuda_smem_spilling is a bool"):
            wp.kernel(enable_cuda_smem_spilling=wrong)(double.func)


def test_gradients_of_copies_come_back_to_their_device():
    for there, back in (("cpu", "cuda:0"), ("cuda:0", "cpu")):
        src = wp.zeros(4, dtype=float, requires_grad=True, device=there)
        dest = wp.zeros(4, dtype=float, requires_grad=True, device=back)
        with wp.Tape() as tape:
            wp.copy(dest, src)
        tape.backward(grads={dest: wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, device=back)})
        assert not dest.grad.numpy().any()
        if there == "cpu":  # the stand-in adds nothing on the GPU
            np.testing.assert_array_equal(src.grad.numpy(), [1, 2, 3, 4])


def test_derivatives_are_taken_where_the_arrays_are():
    wp.set_device("cuda:0")
    a = wp.array([1.0, 2.0], dtype=float, requires_grad=True, device="cpu")
    b = wp.zeros(2, dtype=float, requires_grad=True, device="cpu")

    @wp.kernel
    def square(a: wp.array[float], b: wp.array[float]):
        i = wp.tid()
        b[i] = a[i] * a[i]

    found = jacobian(square, dim=2, inputs=[a], outputs=[b])
    np.testing.assert_allclose(next(iter(found.values())).numpy(), [[2, 0], [0, 4]])
