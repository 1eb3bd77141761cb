"""Settings. `import warp as wp; wp.config.mode = "debug"`. Those that take effect are in EFFECTS below; the others are
kept for programs that set them, and do nothing yet. Any other name may be set freely.
"""

import enum
import os
import sys
import types as _types


class LaunchArrayAccessMode(enum.IntEnum):
    RELAXED = 0
    CHECKED = 1
    STRICT = 2


class DeterministicMode(enum.IntEnum):
    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


def _settings_changed(_):
    from warp import _core

    _core.settings_changed()


def _set_cache(_):
    from warp import _core

    _core.set_cache(config.kernel_cache_dir or "", bool(config.cache_kernels))


def _set_threads(count):
    from warp import _core

    _core.set_cpu_threads(int(count))


# Each is applied at once, by a function.
EFFECTS = {
    "mode": _settings_changed,  # "debug" compiles asserts; it and "safe" check indices and divisors
    "verify_fp": _settings_changed,  # what kernels store must be finite
    "optimization_level": _settings_changed,
    "max_unroll": _settings_changed,
    "enable_backward": _settings_changed,
    "lineinfo": _settings_changed,
    "cpu_backend": _settings_changed,  # which code generator: "" is the default, see `python -m warp info`
    "cpu_lanes": _settings_changed,  # items that run side by side as vectors; 1: none, 0: as the machine wants it
    "kernel_cache_dir": _set_cache,
    "cache_kernels": _set_cache,
    "cpu_threads": _set_threads,  # 0: one a core
}

SETTINGS = {
    # of Weft
    "cpu_backend": os.environ.get("WEFT_BACKEND", ""),
    "cpu_threads": 0,
    "cpu_lanes": 0,
    "api_version": os.environ.get("WEFT_API_VERSION", "1.19"),
    # of Warp
    "version": "1.19.0",
    "launch_array_access_mode": LaunchArrayAccessMode.RELAXED,
    "verify_fp": False,
    "verify_cuda": False,
    "print_launches": False,
    "mode": "release",
    "optimization_level": None,
    "verbose": False,
    "verbose_warnings": False,
    "quiet": False,
    "log_level": 20,
    "verify_autograd_array_access": False,
    "enable_vector_component_overwrites": False,
    "legacy_scalar_return_types": False,
    "cache_kernels": True,
    "kernel_cache_dir": None,
    "cuda_output": None,
    "ptx_target_arch": None,
    "cuda_arch_suffix": None,
    "lineinfo": False,
    "line_directives": True,
    "compile_time_trace": False,
    "enable_backward": True,
    "default_grid_stride": True,
    "enable_mathdx_gemm": True,
    "enable_mathdx_solver": True,
    "enable_mathdx_fft": True,
    "cpu_compiler_flags": None,
    "llvm_cuda": False,
    "enable_graph_capture_module_load_by_default": True,
    "enable_mempools_at_init": True,
    "track_memory": False,
    "max_unroll": 16,
    "enable_tiles_in_stack_memory": True,
    "use_precompiled_headers": True,
    "legacy_cpu_linker": False,
    "load_module_max_workers": 0,
    "deterministic": DeterministicMode.NOT_GUARANTEED,
    "deterministic_max_records": 0,
    "deterministic_debug": False,
    "enable_cpu_blocks": False,
}

_ENUMS = {"launch_array_access_mode": LaunchArrayAccessMode, "deterministic": DeterministicMode}


class _Config(_types.ModuleType):
    def __setattr__(self, name, value):
        wanted = _ENUMS.get(name)
        if wanted is not None and not isinstance(value, wanted):
            raise ValueError(f"warp.config.{name} takes a {wanted.__name__}, found {value!r}")
        super().__setattr__(name, value)
        if name in EFFECTS:
            EFFECTS[name](value)


config = sys.modules[__name__]
globals().update(SETTINGS)
config.__class__ = _Config
