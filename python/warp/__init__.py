"""Weft: the Warp kernel framework on a compiler of its own."""

import atexit as _atexit

from warp import _core, builtin_functions, config, constants, types
from warp import cuda_devices as _cuda_devices  # gives GPUs their attributes
from warp import later as _later
from warp import memory as _memory
from warp import modules as _modules
from warp import operators as _operators  # gives arrays their operators
from warp.annotations import ARRAY_MAX_DIMS
from warp.array_makers import (
    clone,
    copy,
    empty,
    empty_like,
    from_numpy,
    from_ptr,
    full,
    full_like,
    ones,
    ones_like,
    to_numpy,
    zeros,
    zeros_like,
)
from warp.arrays import array, array1d, array2d, array3d, array4d
from warp.checkpoint import checkpoint
from warp.config import DeterministicMode, LaunchArrayAccessMode
from warp.cuda_memory import CudaManagedAllocator
from warp.devices import (
    ContextGuard,
    Device,
    DeviceLike,
    ScopedDevice,
    can_access,
    device_synchronize,
    get_cpu_kernel_cache_key,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_cuda_driver_version,
    get_cuda_supported_archs,
    get_cuda_toolkit_version,
    get_current_device,
    get_device,
    get_devices,
    get_preferred_device,
    is_cpu_available,
    is_cuda_available,
    is_cuda_driver_initialized,
    is_device_available,
    map_cuda_device,
    set_device,
    synchronize,
    synchronize_device,
    unmap_cuda_device,
)
from warp.diagnostics import print_diagnostics
from warp.dlpack import from_dlpack, to_dlpack
from warp.dtypes import Float, Int, Scalar
from warp.errors import (
    WarpCodegenAttributeError,
    WarpCodegenError,
    WarpCodegenIndexError,
    WarpCodegenKeyError,
    WarpCodegenTypeError,
    WarpCodegenValueError,
    WarpCompileError,
    WarpDeterminismError,
    WarpError,
    WarpGradientError,
    WarpHardwareError,
    WarpInternalError,
    WarpLaunchError,
    WarpNameError,
    WarpRuntimeError,
    WarpSyntaxError,
    WarpUnsupportedError,
)
from warp.fabric import fabricarray, fabricarrayarray, indexedfabricarray, indexedfabricarrayarray
from warp.functions import Function, constant, func, func_grad, func_native, func_replay, static
from warp.graphs import (
    CaptureMode,
    Graph,
    ScopedCapture,
    capture_begin,
    capture_debug_dot_print,
    capture_end,
    capture_if,
    capture_launch,
    capture_load,
    capture_load_from_bytes,
    capture_save,
    capture_while,
    is_conditional_graph_supported,
)
from warp.indexed_arrays import (
    fixedarray,
    indexedarray,
    indexedarray1d,
    indexedarray2d,
    indexedarray3d,
    indexedarray4d,
)
from warp.kernels import Kernel, kernel, overload
from warp.launches import Launch, launch_tiled
from warp.loggers import (
    LOG_DEBUG,
    LOG_ERROR,
    LOG_INFO,
    LOG_WARNING,
    Logger,
    ScopedLogger,
    ScopedLogLevel,
    get_logger,
    set_logger,
)
from warp.mapping import map
from warp.memory import (
    Allocator,
    MemoryKind,
    ScopedAllocator,
    ScopedMemoryTracker,
    get_device_allocator,
    print_memory_report,
    set_cuda_allocator,
    set_device_allocator,
)
from warp.memory_pools import (
    ScopedMempool,
    ScopedMempoolAccess,
    ScopedPeerAccess,
    get_mempool_release_threshold,
    get_mempool_used_mem_current,
    get_mempool_used_mem_high,
    is_mempool_access_enabled,
    is_mempool_access_supported,
    is_mempool_enabled,
    is_mempool_supported,
    is_peer_access_enabled,
    is_peer_access_supported,
    set_mempool_access_enabled,
    set_mempool_enabled,
    set_mempool_release_threshold,
    set_peer_access_enabled,
)
from warp.modules import (
    Module,
    ModuleBuildOptions,
    clear_kernel_cache,
    clear_lto_cache,
    force_load,
    get_module,
    get_module_options,
    load_module,
    set_module_options,
)
from warp.scalars import dtype_from_numpy, dtype_to_numpy
from warp.streams import (
    Event,
    ScopedCudaProfiler,
    ScopedStream,
    Stream,
    cuda_profiler_start,
    cuda_profiler_stop,
    event_from_ipc_handle,
    from_ipc_handle,
    get_event_elapsed_time,
    get_stream,
    record_event,
    set_stream,
    synchronize_event,
    synchronize_stream,
    wait_event,
    wait_stream,
)
from warp.structs import aligned, packed, struct
from warp.tape import Tape
from warp.timing import (
    TIMING_ALL,
    TIMING_GRAPH,
    TIMING_KERNEL,
    TIMING_KERNEL_BUILTIN,
    TIMING_MEMCPY,
    TIMING_MEMSET,
    ScopedTimer,
    TimingResult,
    timing_begin,
    timing_end,
    timing_print,
)
from warp.transforms import grad, hvp, jvp, vjp
from warp.types import ref, tile
from warp.vectors import transform_expand

from warp import utils  # isort: skip

# Names made from tables. Where a function of the package has the name of a builtin (`static`), kernels mean the latter.
for _name, _builtin in builtin_functions.make().items():
    if _name in globals():
        globals()[_name]._weft_builtin_ = _name
    else:
        globals()[_name] = _builtin
globals().update(constants.CONSTANTS)
globals().update(types.PREDECLARED)

Array = array
launch = _core.launch
_atexit.register(_core.end_compiles)

__version__ = config.version
_initialized = False


def __getattr__(name):
    """What few programs need is loaded when it is asked for (later.py)."""
    value = globals()[name] = _later.load(name)
    return value


def __dir__():
    return sorted({*globals(), *_later.MODULES, *_later.HOMES})


def init():
    """Nothing needs it: kept for programs that call it. Tracking of memory begins here, where config asks for it."""
    global _initialized
    if not _initialized:
        _initialized = True
        _modules.start()
    _memory.start_tracking()


def is_cubql_available():
    """Whether the library cuBQL is part of the build."""
    return False
