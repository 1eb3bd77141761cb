"""Settings. `import warp as wp; wp.config.mode = "debug"`. The table says of each what it does here; settings without
effect are kept for programs that set them. Any other name may be set freely.
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


# The package's parts that act when a setting changes: name of the setting -> function of the value. They enter
# themselves here, so that settings can be read before the core is loaded.
EFFECTS = {}

# name: (default, what it does)
_NONE = "no effect: "
# What a program may miss: told when it is set.
_MISSING = "not available: "
_MEMPOOLS = os.environ.get("WARP_ENABLE_MEMPOOLS_AT_INIT", "1") not in ("0", "false", "no")

SETTINGS = {
    # of Weft
    "cpu_backend": (
        os.environ.get("WEFT_BACKEND", ""),
        'code generator of the CPU; "": the first of `warp info`',
    ),
    "cpu_threads": (0, "threads of a launch on the CPU; 0: one a core"),
    "cpu_lanes": (0, "items that run side by side as vectors; 1: none, 0: as the machine wants it"),
    "compile_ahead": (True, "a module's other kernels are compiled in the background from its first launch on"),
    "api_version": (os.environ.get("WEFT_API_VERSION", "1.19"), "whose meaning counts where they differ"),
    # of Warp
    "version": ("1.19.0", "the interface's version"),
    "launch_array_access_mode": (LaunchArrayAccessMode.RELAXED, _NONE + "launches always check the arrays' device"),
    "verify_fp": (False, "what kernels store must be finite"),
    "verify_cuda": (False, "launches on GPUs are waited for, so that the error of a kernel names it"),
    "print_launches": (False, "launches are logged"),
    "mode": ("release", '"debug": kernels check asserts; it and "safe": indices and divisors'),
    "optimization_level": (None, "0 to 2; None and 3: 2"),
    "verbose": (False, "log_level becomes LOG_DEBUG"),
    "verbose_warnings": (False, "warnings say where"),
    "quiet": (False, "log_level becomes LOG_WARNING"),
    "log_level": (20, "the lowest level that is shown"),
    "verify_autograd_array_access": (False, "warns when a recorded launch writes an array that was read before"),
    "enable_vector_component_overwrites": (False, _NONE + "components may always be overwritten"),
    "legacy_scalar_return_types": (False, "elements of vectors are plain numbers at Python scope"),
    "cache_kernels": (True, "compiled kernels are kept on disk"),
    "kernel_cache_dir": (None, "where they are kept"),
    "cuda_output": (None, _NONE + "of CUDA"),
    "ptx_target_arch": (None, _NONE + "of CUDA"),
    "cuda_arch_suffix": (None, '"a": code for GPUs uses what only machines of its very architecture have'),
    "lineinfo": (False, "line tables in compiled code"),
    "line_directives": (True, _NONE + "errors always speak of Python lines"),
    "compile_time_trace": (False, _MISSING + "see `python -m warp bench compile`"),
    "enable_backward": (True, "kernels have adjoints"),
    "default_grid_stride": (True, _NONE + "of CUDA"),
    "enable_mathdx_gemm": (True, _NONE + "of CUDA"),
    "enable_mathdx_solver": (True, _NONE + "of CUDA"),
    "enable_mathdx_fft": (True, _NONE + "of CUDA"),
    "cpu_compiler_flags": (None, _MISSING + "no C++ compiler is called, and code is for this processor"),
    "enable_cpu_blocks": (False, "launches on the CPU have blocks of block_dim threads, else of one"),
    "llvm_cuda": (False, _NONE + "LLVM makes all code"),
    "enable_graph_capture_module_load_by_default": (True, _NONE + "captures load kernels when they need them"),
    "enable_mempools_at_init": (_MEMPOOLS, _NONE + "of CUDA"),
    "track_memory": (False, "allocations are tracked from init() on: see wp.print_memory_report()"),
    "max_unroll": (16, "loops up to this number of turns are unrolled"),
    "enable_tiles_in_stack_memory": (True, _NONE + "tiles are not available yet"),
    "use_precompiled_headers": (True, _NONE + "there are no headers"),
    "legacy_cpu_linker": (False, _NONE + "there is one loader"),
    "load_module_max_workers": (0, _NONE + "kernels are always compiled in parallel"),
    "deterministic": (
        DeterministicMode.NOT_GUARANTEED,
        "RUN_TO_RUN, GPU_TO_GPU: launches leave the same bits whatever threads do",
    ),
    "deterministic_max_records": (0, _NONE + "nothing is recorded"),
    "deterministic_debug": (False, _NONE + "nothing is recorded"),
}

# Values that ask for what is done anyway.
_FULFILLED = {"cpu_compiler_flags": ("", "-march=native", "-march=native -O2", "-march=native -O3")}


def missing(name, value):
    """What to tell of a setting, or of a module's option of its name, that asks for what there is not; else None."""
    default, meaning = SETTINGS.get(name, (None, ""))
    if not meaning.startswith(_MISSING) or value is None or value == default or value in _FULFILLED.get(name, ()):
        return None
    return f"warp.config.{name} = {value!r} has no effect, {meaning}"


_ENUMS = {"launch_array_access_mode": LaunchArrayAccessMode, "deterministic": DeterministicMode}
_LEVELS = {"verbose": 10, "quiet": 30}


class _Config(_types.ModuleType):
    def __setattr__(self, name, value):
        wanted = _ENUMS.get(name)
        if wanted is not None and not isinstance(value, wanted):
            raise ValueError(f"warp.config.{name} takes a {wanted.__name__}, found {value!r}")
        super().__setattr__(name, value)
        if name in _LEVELS:
            self.log_level = _LEVELS[name] if value else 20
        apply = EFFECTS.get(name)
        if apply is not None:
            apply(value)
        told = missing(name, value)
        if told is not None and "tell" in EFFECTS:
            EFFECTS["tell"](told)


config = sys.modules[__name__]
globals().update({name: default for name, (default, _) in SETTINGS.items()})
config.__class__ = _Config
