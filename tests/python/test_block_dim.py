"""`wp.block_dim()` and how launches choose their block size; the expected figures are worked out by hand."""

import numpy as np
import pytest

import warp as wp
from warp.autograd import jacobian

pytestmark = pytest.mark.host("blocks of CPUs")


@pytest.fixture
def blocks():
    wp.config.enable_cpu_blocks = True
    yield
    wp.config.enable_cpu_blocks = False


@wp.func
def threads():
    return wp.block_dim()


@wp.kernel
def scale(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = x[i] * float(threads())


@wp.kernel
def count(n: wp.array[int]):
    wp.atomic_add(n, 0, 1)


def run(**kwargs):
    y = wp.zeros(3)
    wp.launch(scale, dim=3, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float)], outputs=[y], **kwargs)
    return (y.numpy() / [1, 2, 3]).tolist()


@pytest.mark.parametrize("asked, got", [(None, 1), (-7, 1), (0, 1), (4, 4), (1024, 1024)])
def test_sizes(blocks, asked, got):
    assert run() == [1] * 3
    assert run(block_dim=asked) == [got] * 3


def test_without_blocks_every_block_has_one_thread(blocks):
    assert run(block_dim=8) == [8] * 3
    wp.config.enable_cpu_blocks = False
    assert run(block_dim=8) == [1] * 3
    wp.config.enable_cpu_blocks = True
    assert run(block_dim=8) == [8] * 3


def test_what_is_too_large():
    for launch in (
        lambda: run(block_dim=1025),
        lambda: wp.Launch(count, block_dim=1025),
        lambda: wp.launch_tiled(count, dim=[0], inputs=[wp.zeros(1, dtype=int)], block_dim=2**40),
        lambda: wp.load_module(scale.module, block_dim=1025),
    ):
        with pytest.raises(ValueError, match="at most 1024 on CPU"):
            launch()


def test_tiled_launches_have_as_many_items(blocks):
    for enabled, items in ((True, 8), (False, 2)):
        wp.config.enable_cpu_blocks = enabled
        n = wp.zeros(1, dtype=int)
        wp.launch_tiled(count, dim=[2], inputs=[n], block_dim=4)
        assert n.list() == [items]


def test_what_is_recorded_keeps_its_size(blocks):
    x, y = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, requires_grad=True)
    arguments = {"dim": 2, "inputs": [x], "outputs": [y], "block_dim": 4}
    command = wp.launch(scale, record_cmd=True, **arguments)
    with wp.Tape() as tape:
        wp.launch(scale, **arguments)
    with wp.ScopedCapture() as capture:
        wp.launch(scale, **arguments)
    wp.config.enable_cpu_blocks = False

    assert command.block_dim == command.module_exec.block_dim == 4
    for replay in (command.launch, lambda: wp.capture_launch(capture.graph)):
        y.zero_()
        replay()
        assert y.list() == [4, 8]
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.list() == [4, 4]
    assert tape.launches[0].block_dim == 4


def test_map_and_jacobian(blocks):
    x, y = wp.ones(2, requires_grad=True), wp.zeros(2, requires_grad=True)
    assert wp.map(lambda v: v * float(wp.block_dim()), x, block_dim=2).list() == [2, 2]
    for size, slope in ((None, 1), (2, 2)):
        made = jacobian(scale, dim=2, inputs=[x], outputs=[y], block_dim=size)
        assert np.array_equal(made[0, 0].numpy(), slope * np.eye(2))


def test_modules_know_their_sizes(blocks):
    @wp.kernel(module="unique")
    def own(n: wp.array[int]):
        n[0] = 1

    loaded = own.module.execs
    assert loaded == {}
    own.module.load("cpu", block_dim=4)
    assert [size for _, size in own.module.execs] == [4]
    wp.force_load(modules=[own.module])
    assert [size for _, size in own.module.execs] == [4]
    wp.launch(own, dim=1, inputs=[wp.zeros(1, dtype=int)])
    assert sorted(size for _, size in own.module.execs) == [1, 4]


def test_sizes_stay_known_when_blocks_are_switched_off():
    @wp.kernel(module="unique")
    def own(n: wp.array[int]):
        n[0] = wp.block_dim()

    n = wp.zeros(1, dtype=int)
    for enabled, size in ((False, 1), (True, 4), (False, 1)):
        wp.config.enable_cpu_blocks = enabled
        wp.launch(own, dim=1, inputs=[n], block_dim=4)
        assert n.numpy()[0] == size
    assert sorted(size for _, size in own.module.execs) == [1, 4]
