"""Weft: the Warp kernel framework on a compiler of its own."""

import atexit as _atexit

from warp import _core, builtin_functions, config, constants, types, utils
from warp.arrays import (
    ARRAY_MAX_DIMS,
    array,
    array1d,
    array2d,
    array3d,
    array4d,
    clone,
    copy,
    empty,
    empty_like,
    from_dlpack,
    from_numpy,
    from_ptr,
    full,
    full_like,
    ones,
    ones_like,
    to_dlpack,
    to_numpy,
    zeros,
    zeros_like,
)
from warp.config import DeterministicMode
from warp.devices import (
    Device,
    ScopedDevice,
    device_synchronize,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_current_device,
    get_device,
    get_devices,
    get_preferred_device,
    is_cpu_available,
    is_cuda_available,
    is_device_available,
    set_device,
    synchronize,
    synchronize_device,
    synchronize_event,
    synchronize_stream,
)
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
from warp.functions import Function, constant, func, func_grad, func_native, func_replay, static
from warp.kernels import (
    Kernel,
    Module,
    clear_kernel_cache,
    force_load,
    get_module,
    get_module_options,
    kernel,
    load_module,
    overload,
    set_module_options,
)
from warp.launches import Launch, launch_tiled
from warp.operators import add_operators
from warp.structs import struct
from warp.tape import Tape
from warp.types import Float, Int, Scalar, dtype_from_numpy, dtype_to_numpy, ref
from warp.utils import ScopedTimer

# Names made from tables. Where a function of the package has the name of a builtin (`static`), kernels mean the latter.
for _name, _builtin in builtin_functions.make().items():
    if _name in globals():
        globals()[_name]._weft_builtin_ = _name
    else:
        globals()[_name] = _builtin
globals().update(constants.CONSTANTS)
globals().update(types.PREDECLARED)
handle = types.uint64

launch = _core.launch
_atexit.register(_core.end_compiles)
add_operators(array)

LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40

__version__ = config.version


def init():
    """Nothing needs it: kept for programs that call it."""
