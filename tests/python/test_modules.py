"""Modules as programs see them: identity, loading ahead, options, what replaced kernels leave behind."""

import subprocess
import sys
import weakref
from importlib import util
from typing import Any

import numpy as np
import pytest

import warp as wp

CODE = """
import warp as wp

@wp.struct
class Data:
    x: wp.array(dtype=float)

@wp.func
def twice(x: float):
    return 2.0 * x

@wp.kernel
def first(d: Data):
    d.x[0] = twice(d.x[0])

@wp.kernel
def second(d: Data):
    d.x[0] = {second}
"""


def load(path, name, second="1.0"):
    path.write_text(CODE.format(second=second))
    spec = util.spec_from_file_location(name, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module, kernel, start=3.0):
    data = module.Data(x=wp.array([start], dtype=float))
    wp.launch(kernel, dim=1, inputs=[data])
    return data.x.list()[0]


def test_contents(tmp_path):
    module = load(tmp_path / "a.py", "weft_contents")
    found = wp.get_module("weft_contents")
    assert module.first.module is found is module.Data.module
    assert (sorted(found.kernels), list(found.functions), list(found.structs)) == (
        ["first", "second"],
        ["twice"],
        ["Data"],
    )
    wp.set_module_options({"max_unroll": 3}, module=module)
    assert wp.get_module_options("weft_contents")["max_unroll"] == found.options["max_unroll"] == 3


def test_a_module_without_a_name_is_the_main_one(tmp_path):
    module = load(tmp_path / "a.py", "")
    module = load(tmp_path / "a.py", "")
    assert module.first.module is module.Data.module is wp.get_module("__main__")
    assert run(module, module.first) == 6


def test_loading_anew_takes_the_new_text(tmp_path):
    for text, value in (("4.0", 4), ("twice(5.0)", 10)):
        module = load(tmp_path / "a.py", "weft_anew", text)
        wp.load_module("weft_anew")
        assert run(module, module.second) == value


def test_a_broken_kernel_leaves_its_siblings_alone_and_can_be_mended(tmp_path):
    module = load(tmp_path / "a.py", "weft_broken", "undefined_name")
    with pytest.raises(wp.WarpCodegenError, match="undefined_name"):
        wp.load_module(module)
    with pytest.raises(wp.WarpCodegenError, match="undefined_name"):
        wp.force_load(modules=[module])
    assert run(module, module.first) == 6
    module = load(tmp_path / "a.py", "weft_broken", "9.0")
    wp.load_module(module)
    assert run(module, module.second) == 9


@pytest.mark.parametrize("how", ["launch", "launch_tiled", "load_module", "force_load"])
def test_an_error_that_is_kept_does_not_keep_the_kernel(tmp_path, how):
    module = load(tmp_path / "a.py", f"weft_kept_{how}", "undefined_name")
    failed = weakref.ref(module.second)
    frames = []
    data = module.Data(x=wp.zeros(1))
    try:
        if how == "launch":
            wp.launch(module.second, dim=1, inputs=[data])
        elif how == "launch_tiled":
            wp.launch_tiled(module.second, dim=1, inputs=[data], block_dim=1)
        else:
            wp.load_module(module) if how == "load_module" else wp.force_load(modules=[module])
    except wp.WarpError as error:
        trace = error.__traceback__
        while trace is not None:
            frames.append((error, dict(trace.tb_frame.f_locals)))
            trace = trace.tb_next
    assert frames
    module.second = None
    wp.get_module(f"weft_kept_{how}").kernels.clear()
    assert failed() is None


def test_hashes():
    def make(value):
        @wp.kernel(module="unique")
        def kernel(x: wp.array[float]):
            x[0] = wp.static(value)

        return kernel

    one, same, other = make(1.0), make(1.0), make(2.0)
    assert one is same and one is not other
    module = one.module
    before = module.hash_module()
    assert before == module.hash_module() != other.module.hash_module()
    module.options["fast_math"] = True
    assert module.hash_module() != before
    module.options["fast_math"] = False
    assert module.hash_module() == before
    made = module.load("cpu")
    assert module.load("cpu") is made
    assert made.get_kernel_hooks(one) is made.get_kernel_hooks(same)
    assert made.get_kernel_hooks(one).backward == made.get_kernel_hooks(one).forward + "_adjoint"


def test_unload_compiles_again():
    @wp.kernel(module="unique")
    def kernel(x: wp.array[float]):
        x[0] = 7.0

    x = wp.zeros(1)
    wp.launch(kernel, dim=1, inputs=[x])
    block_dim = 1 if wp.get_device().is_cpu else 256
    assert kernel.is_loaded and kernel.module.execs and list(kernel.module.hashers) == [block_dim]
    kernel.module.unload()
    assert not kernel.is_loaded and not kernel.module.execs and not kernel.module.hashers
    x.zero_()
    wp.launch(kernel, dim=1, inputs=[x])
    assert x.list() == [7]


def test_init_takes_hashes_anew():
    code = """
import warp as wp
m = wp.get_module("__main__")
m.get_module_hash()
print(len(m.hashers), len(m.resolved_options))
wp.init()
print(len(m.hashers), len(m.resolved_options))
m.get_module_hash()
wp.init()
print(len(m.hashers), len(m.resolved_options))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "0", "0", "1", "1"]


def test_a_tuple_of_another_length_than_annotated():
    @wp.func
    def three(x: int) -> tuple[int, int, int]:
        return (x, x)

    @wp.kernel
    def kernel(out: wp.array[int]):
        a, b, c = three(1)
        out[0] = a + b + c

    for _ in range(2):
        with pytest.raises(wp.WarpCodegenTypeError, match="a tuple of 3 elements but the code returns 2 values"):
            wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=int)])


def test_options_of_kernels_are_part_of_what_they_are():
    def make(**options):
        @wp.kernel(module="unique", **options)
        def kernel(x: wp.array[float]):
            x[0] = 1.0

        return kernel

    plain = make()
    assert make(enable_cuda_smem_spilling=False) is plain
    assert len({plain, make(enable_backward=False), make(launch_bounds=64), make(launch_bounds=128)}) == 4
    x = wp.array([5.0], dtype=float, requires_grad=True)
    wp.launch(make(enable_backward=False), dim=1, inputs=[x])
    assert np.array_equal(x.numpy(), [1])


@wp.struct
class EntryPoint:
    value: wp.uint32


def test_kernels_that_other_programs_enter_are_no_launches():
    def enter(params: EntryPoint):
        value = params.value  # noqa: F841

    def enter_by_number(value: wp.uint32):
        pass

    made = {"entry_point_abi": "external_constant_params", "module": "unique"}
    kernel = wp.kernel(enter, enable_backward=False, **made)
    assert not kernel.uses_warp_entry_point_abi and wp.kernel(enter, module="unique").uses_warp_entry_point_abi
    with pytest.raises(NotImplementedError, match=r"'.*enter' .*cannot be launched with wp.launch\(\)"):
        wp.launch(kernel, dim=1, inputs=[EntryPoint()])
    with pytest.raises(TypeError, match="exactly one Warp struct argument, found 1: value"):
        wp.launch(wp.kernel(enter_by_number, enable_backward=False, **made), dim=1, inputs=[1])
    with pytest.raises(ValueError, match="requires enable_backward=False"):
        wp.kernel(enter, **made)
    with pytest.raises(ValueError, match="must be 'warp' or 'external_constant_params', found 'x'"):
        wp.kernel(enter, module="unique", entry_point_abi="x")


def test_kernels_of_a_module_take_its_options_as_they_are_at_their_first_launch():
    """Kernels share what the settings came to, until one changes: the module's, the program's, or their own."""
    made = {}
    for number in range(6):

        @wp.kernel(module="shared_settings")
        def divide(a: wp.array(dtype=float), number: int):
            a[0] = a[0] / 3.0

        made[number] = divide
    options = wp.get_module_options("shared_settings")

    def checks(kernel):
        wp.launch(kernel, dim=1, inputs=[wp.ones(1, dtype=float), 0])
        settings = kernel._settings
        return settings.fast_math, settings.checks

    assert checks(made[0]) == checks(made[1]) == (False, False)
    options["fast_math"] = True
    assert checks(made[2]) == (True, False)
    mode = wp.config.mode
    wp.config.mode = "debug"
    try:
        assert checks(made[3]) == (True, True)
    finally:
        wp.config.mode = mode
    made[4].options["mode"] = "debug"
    assert checks(made[4]) == (True, True)
    assert checks(made[5]) == (True, False)


def test_a_module_shows_its_kernels_as_text():
    """C++ of each kernel by its key; of a generic one what it was launched with."""

    @wp.kernel(module="shown")
    def seven(a: wp.array(dtype=int)):
        a[0] = 7

    @wp.kernel(module="shown")
    def any_seven(a: wp.array(dtype=Any)):
        a[0] = a.dtype(7)

    module = wp.get_module("shown")
    assert module.dump("cxx")[any_seven.key] == ""
    wp.launch(any_seven, 1, inputs=[wp.zeros(1, dtype=wp.float64)])
    host, cuda = module.dump(), module.dump("cuda")
    assert set(host) == set(cuda) == {seven.key, any_seven.key}
    assert "*weft::at(a, 0) = 7;" in host[seven.key] and "array<double, 1>" in host[any_seven.key]
    assert "__global__" in cuda[seven.key] and "__global__" not in host[seven.key]
