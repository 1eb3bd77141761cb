"""Settings: all of Warp's exist, and those with an effect have it."""

import enum
import inspect
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import warp as wp

# Warp's settings and options with their defaults.
WARP = json.loads((Path(__file__).parent / "support" / "settings.json").read_text())


@pytest.fixture
def restored():
    saved = {name: getattr(wp.config, name) for name in wp.config.SETTINGS}
    yield
    for name, value in saved.items():
        if getattr(wp.config, name) != value:
            setattr(wp.config, name, value)


def same(value, default):
    return (value.name if isinstance(value, enum.Enum) else value) == default


@pytest.mark.parametrize("name", WARP["settings"])
def test_settings_exist_and_say_what_they_do(name):
    default, meaning = wp.config.SETTINGS[name]
    assert hasattr(wp.config, name) and meaning
    assert default == getattr(wp.config, name) or name == "kernel_cache_dir"
    assert same(default, WARP["settings"][name])
    # What has no effect says why.
    assert not meaning.startswith("no effect") or len(meaning) > len("no effect: ") + 5


@pytest.mark.parametrize("name", WARP["module_options"])
def test_options_of_modules_exist(name):
    default = WARP["module_options"][name]
    found = wp.Module("options").options[name]
    inherited = isinstance(default, str) and default.startswith("config.")
    assert found == getattr(wp.config, name) if inherited else same(found, default)
    wp.kernel(lambda_free_kernel, module="unique", module_options={name: found})
    with pytest.raises(ValueError, match="unknown module options: nothing"):
        wp.kernel(lambda_free_kernel, module="unique", module_options={"nothing": 1})


def lambda_free_kernel(x: wp.array[float]):
    x[0] = 1.0


@pytest.mark.parametrize("decorator", ["kernel", "func"])
def test_options_of_kernels_and_functions_exist(decorator):
    parameters = inspect.signature(getattr(wp, decorator)).parameters
    for name, default in WARP[f"{decorator}_options"].items():
        assert parameters[name].default == default
        getattr(wp, decorator)(**{name: default})


@pytest.mark.parametrize("name", ["launch_array_access_mode", "deterministic"])
def test_settings_that_are_enums(name, restored):
    with pytest.raises(ValueError, match=f"{name} takes a .*Mode, found 'x'"):
        setattr(wp.config, name, "x")
    setattr(wp.config, name, type(getattr(wp.config, name))(1))


def make():
    @wp.kernel(module="unique")
    def kernel(x: wp.array[float], n: int):
        for _i in range(6):
            x[0] += 1.0 / float(n)
        assert n != 7, "seven"

    return kernel


def run(kernel, n):
    x = wp.zeros(1)
    wp.launch(kernel, dim=1, inputs=[x, n])
    return x.list()[0]


def test_modes(restored):
    kernel = make()
    assert run(kernel, 7) == pytest.approx(6 / 7)
    wp.config.mode = "debug"
    with pytest.raises(wp.WarpRuntimeError, match="seven"):
        run(kernel, 7)
    wp.config.mode = "release"
    assert run(kernel, 7) == pytest.approx(6 / 7)
    assert np.isinf(run(kernel, 0))
    wp.config.verify_fp = True
    with pytest.raises(wp.WarpRuntimeError, match="not finite"):
        run(kernel, 0)


def test_unrolling_and_levels_change_code_not_results(restored):
    loops = {}
    for unroll in (0, 16):
        wp.config.max_unroll = unroll  # modules take it when they are made
        kernel = make()
        loops[unroll] = kernel._dump("source-ir").count("for(")
        for level in (None, 0, 2, 3):
            wp.config.optimization_level = level
            assert run(kernel, 2) == 3
    assert loops[0] > loops[16]


@pytest.mark.parametrize("lanes, threads", [(1, 1), (4, 2), (0, 0)])
def test_lanes_and_threads(lanes, threads, restored):
    wp.config.cpu_lanes, wp.config.cpu_threads = lanes, threads

    @wp.kernel(module="unique")
    def square(x: wp.array[float]):
        i = wp.tid()
        x[i] = x[i] * x[i]

    x = wp.array(np.arange(10_001, dtype=np.float32))
    wp.launch(square, dim=10_001, inputs=[x])
    assert np.array_equal(x.numpy(), np.arange(10_001, dtype=np.float32) ** 2)
    with pytest.raises(wp.WarpError, match="cpu_lanes must be 0, 1, 2, 4, 8 or 16, found 3"):
        wp.config.cpu_lanes = 3
        wp.launch(square, dim=1, inputs=[x])


def test_an_unknown_backend(restored):
    wp.config.cpu_backend = "fortran"
    with pytest.raises(ValueError, match="no backend 'fortran'"):
        run(make(), 1)


def test_backward_off_by_default(restored):
    wp.config.enable_backward = False
    kernel = make()
    assert kernel.module.options["enable_backward"] is False
    assert not kernel.enable_backward


def test_plain_results(restored):
    v = wp.vec3d(1.0, 2.0, 3.0)
    assert type(wp.dot(v, v)) is wp.float64
    wp.config.legacy_scalar_return_types = True
    assert type(wp.dot(v, v)) is float


@pytest.mark.parametrize("kept", [True, False])
def test_the_cache_is_where_it_is_told(kept, tmp_path):
    code = f"""
import warp as wp
wp.config.kernel_cache_dir = {str(tmp_path)!r}
wp.config.cache_kernels = {kept}
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[0] = 1.0
wp.launch(k, dim=1, inputs=[wp.zeros(1)])
"""
    program = tmp_path / "program.py"
    program.write_text(code)
    environment = {k: v for k, v in os.environ.items() if k not in ("WARP_CACHE_PATH", "WP_CACHE_DIR")}
    subprocess.run([sys.executable, program], check=True, env=environment)
    found = [p for p in tmp_path.rglob("*") if p.is_file() and p != program]
    assert bool(found) == kept


def test_memory_is_tracked_when_asked(restored):
    with wp.ScopedMemoryTracker("scope", print=False) as tracker:
        a = wp.zeros(1000)
    assert a.size == 1000 and tracker is not None


@pytest.mark.parametrize("name, value", [("cpu_compiler_flags", "-O1 -ffast-math"), ("compile_time_trace", True)])
def test_what_is_not_available_is_told_once(name, value, restored):
    with pytest.warns(UserWarning, match=f"{name} .* not available: "):
        setattr(wp.config, name, value)
    with pytest.warns(UserWarning, match=f"{name} .* not available: "):
        wp.kernel(lambda_free_kernel, module="unique", module_options={name: value})


@pytest.mark.parametrize("value", [None, "", "-march=native", "-march=native -O2"])
def test_flags_that_say_which_processor_are_no_news(value, restored):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.config.cpu_compiler_flags = value
