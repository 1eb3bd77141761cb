"""What GPUs from sm_90 on have: clusters of blocks, code for one machine only. Runs with the stand-in for the driver
(test_cuda_failures.py begins it).
"""

from unittest.mock import patch

import pytest
from support.fake_cuda import Fake

import warp as wp

fake = Fake()


@wp.kernel(cluster_dim=4, enable_backward=False)
def in_fours(a: wp.array[float]):
    i = wp.tid()
    a[i] = 2.0 * a[i]


@wp.kernel
def plain(a: wp.array[float]):
    i = wp.tid()
    a[i] = 2.0 * a[i]


@pytest.fixture(autouse=True)
def device():
    wp.set_device("cuda:0")
    yield wp.get_device()
    wp.config.cuda_arch_suffix = None
    assert fake.wrong() == 0


@pytest.fixture
def a():
    return wp.zeros(8192, dtype=float)


def test_blocks_form_clusters_of_the_number_that_was_asked_for(a):
    # One item a thread: a thread that took four would leave fewer blocks than the user has counted.
    wp.launch(in_fours, 1024, [a], block_dim=32)
    assert fake.last_launch() == (32, 32, 4)
    wp.launch(plain, 1024, [a], block_dim=32)
    assert fake.last_launch() == (8, 32, 1)


def test_the_option_of_a_module(a):
    @wp.kernel(module="unique")
    def kernel(a: wp.array[float]):
        a[wp.tid()] = 1.0

    kernel.module.options["cluster_dim"] = 2
    wp.launch(kernel, 128, [a], block_dim=32)
    assert fake.last_launch() == (4, 32, 2)


def test_launches_that_are_no_whole_clusters_are_refused(a):
    before = fake.count("cuLaunchKernelEx")
    with pytest.raises(ValueError, match=r"'in_fours' has cluster_dim 4.* multiple of cluster_dim, found 5 blocks"):
        wp.launch(in_fours, 160, [a], block_dim=32)
    with pytest.raises(ValueError, match=r"max_blocks is 3.*max_blocks must be at least cluster_dim"):
        wp.launch(in_fours, 2048, [a], block_dim=256, max_blocks=3)
    with pytest.raises(ValueError, match="multiple of cluster_dim"):
        wp.launch(in_fours, 160, [a], block_dim=32, record_cmd=True)
    assert fake.count("cuLaunchKernelEx") == before


def test_a_bound_of_blocks_is_rounded_down(a):
    before = fake.count("cuLaunchKernelEx")
    wp.launch(in_fours, 2048, [a], block_dim=256, max_blocks=6)
    assert (fake.count("cuLaunchKernelEx") - before, fake.last_launch()) == (2, (4, 256, 4))


def test_recorded_launches_look_again(a):
    launch = wp.launch(in_fours, 128, [a], block_dim=32, record_cmd=True)
    launch.launch()
    with pytest.raises(ValueError, match="multiple of cluster_dim"):
        launch.set_dim(160)
    launch.set_dim(256)
    launch.launch()
    assert fake.last_launch() == (8, 32, 4)
    before = fake.count("cuLaunchKernelEx")
    launch.set_dim(0)
    launch.launch()
    assert fake.count("cuLaunchKernelEx") == before


def test_a_recorded_launch_keeps_its_bound_of_blocks(a):
    launch = wp.launch(plain, 8192, [a], block_dim=32, max_blocks=2, record_cmd=True)
    launch.launch()
    assert fake.last_launch() == (2, 32, 1)


def test_adjoints_run_in_clusters_too(a):
    @wp.kernel(cluster_dim=2)
    def kernel(a: wp.array[float], b: wp.array[float]):
        i = wp.tid()
        b[i] = a[i] * a[i]

    x, y = wp.ones(64, dtype=float, requires_grad=True), wp.zeros(64, dtype=float, requires_grad=True)
    before = fake.count("cuLaunchKernelEx")
    with wp.Tape() as tape:
        wp.launch(kernel, 64, [x], [y], block_dim=32)
    tape.backward(grads={y: wp.ones(64, dtype=float)})
    assert (fake.count("cuLaunchKernelEx") - before, fake.last_launch()) == (2, (2, 32, 2))


def test_the_largest_cluster(device):
    @wp.kernel(module="unique")
    def kernel(a: wp.array[float]):
        a[wp.tid()] = 1.0

    assert wp.get_cuda_max_cluster_dim(kernel, device) == 16
    assert wp.get_cuda_max_cluster_dim(kernel, device, block_dim=512) == 16
    assert kernel.module.options["block_dim"] == 256
    assert wp.get_cuda_max_cluster_dim(kernel, "cpu") == 1


def test_what_was_loaded(device):
    loaded = in_fours.module.load(device, 32)
    assert loaded.compile_arch == 90 and loaded.get_kernel_hooks(in_fours).cluster_dim == 4


# ---- code for one machine only ----


def test_suffixes(device):
    assert device.get_cuda_compile_arch() == 90 and device._get_cuda_arch_suffix(90) == ""
    wp.config.cuda_arch_suffix = "a"
    assert device._get_cuda_arch_suffix(90) == "a"
    for arch in (80, 100):
        with pytest.raises(RuntimeError, match=f"code for sm_{arch}a does not run on cuda:0"):
            device._get_cuda_arch_suffix(arch)
    with patch.object(device, "arch", 89), pytest.raises(RuntimeError, match="begins with sm_90"):
        device._get_cuda_arch_suffix(89)
    wp.config.cuda_arch_suffix = "f"
    with pytest.raises(RuntimeError, match="begins with sm_100"):
        device._get_cuda_arch_suffix(90)
    with patch.object(device, "arch", 100), patch.object(device.runtime, "toolkit_version", (12, 9)):
        assert device._get_cuda_arch_suffix(103) == "f"
        device.runtime.toolkit_version = (12, 8)
        with pytest.raises(RuntimeError, match=r"needs CUDA \(12, 9\)"):
            device._get_cuda_arch_suffix(100)
    assert device.arch == 90
    wp.config.cuda_arch_suffix = "A"
    with pytest.raises(RuntimeError, match="'a', 'f' or None, found 'A'"):
        device._get_cuda_arch_suffix(90)


def test_the_code_has_the_suffix(a):
    plain_name = plain.module._get_compile_output_name(a.device)
    assert plain_name.endswith(".sm90.ptx")
    ptx = plain._dump("ptx", backend="llvm-nvptx", gpu="sm_90a")
    assert ".target sm_90a" in ptx and ".version 8.0" in ptx
    wp.config.cuda_arch_suffix = "a"
    assert plain.module._get_compile_output_name(a.device).endswith(".sm90a.ptx")
    linked = fake.count("cuLinkAddData")
    wp.launch(plain, 64, [a])
    assert fake.count("cuLinkAddData") > linked  # not the code of before
    wp.config.cuda_arch_suffix = "f"
    with pytest.raises(RuntimeError, match=r"asks for code of sm_90f: of such code there is that of sm_90a"):
        wp.launch(plain, 64, [a])


# ---- ahead of time ----


def test_modules_for_gpus_are_compiled_ahead(tmp_path):
    @wp.kernel(cluster_dim=2, module="unique")
    def kernel(a: wp.array[float]):
        i = wp.tid()
        a[i] = a[i] * 2.0

    with pytest.raises(RuntimeError, match="kernel' has cluster_dim=2, and sm_80 has no clusters"):
        wp.compile_aot_module(kernel.module, arch=80, module_dir=tmp_path)
    (index,) = wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path)
    assert index.name.endswith(".sm90.ptx.json")
    assert len(list(tmp_path.iterdir())) == 1 + 4  # forward and adjoint, for dense arrays and for all
    wp.load_aot_module(kernel.module, device="cuda:0", module_dir=tmp_path)
    linked = fake.count("cuLinkAddData")
    wp.launch(kernel, 64, [wp.zeros(64, dtype=float)], block_dim=32)
    assert (fake.count("cuLinkAddData"), fake.last_launch()) == (linked, (2, 32, 2))
