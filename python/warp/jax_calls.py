"""Calls from JAX programs into Weft through XLA's foreign function interface: the handlers, and one way to make a call.
Not here: kernels (jax_kernels.py), functions of Python (jax_callables.py).
"""

import contextlib
import ctypes
import enum
import functools
import threading

from warp import _core, modules
from warp.devices import get_device
from warp.errors import WarpError
from warp.jax_arrays import device_from_jax


class JaxModulePreloadMode(enum.IntEnum):
    """For which devices kernels are compiled before the first call."""

    NONE = 0
    CURRENT_DEVICE = 1
    ALL_DEVICES = 2


_PLATFORMS = {"cpu": False, "CUDA": True}


@functools.cache
def _register_handlers():
    """Registers the handlers with JAX once: one that may be recorded in a graph of the device, and one that may not."""
    import jax

    if not hasattr(jax, "ffi"):
        raise RuntimeError(f"jax_kernel() and jax_callable() need JAX 0.5 or newer, found {jax.__version__}")
    for recordable, name in ((True, "weft_call"), (False, "weft_call_unrecorded")):
        for platform, cuda in _PLATFORMS.items():
            handler = _core.xla_handler(cuda, recordable)
            # Before the first execution, and outside any recording, XLA asks to initialize: code is loaded then.
            jax.ffi.register_ffi_target(name, {"initialize": handler, "execute": handler}, platform=platform)


def _axes_of(array):
    """The axes of jax.shard_map that an array varies over."""
    import jax

    kind = jax.typeof(array) if hasattr(jax, "typeof") else None
    kind = getattr(kind, "manual_axis_type", kind)  # its place since JAX 0.10
    return getattr(kind, "varying", None) or getattr(kind, "vma", None) or frozenset()


def varying(arrays):
    """The arrays, all varying over the axes of jax.shard_map over which one varies; and what says so of results."""
    import jax

    axes = [_axes_of(a) for a in arrays]
    everywhere = frozenset().union(*axes)
    if not everywhere:
        return list(arrays), {}
    out = []
    for array, own in zip(arrays, axes, strict=True):
        missing = tuple(everywhere - own)
        out.append(_made_varying(array, missing) if missing else array)
    kind = jax.typeof(out[0])
    if not hasattr(kind, "manual_axis_type"):
        return out, {"vma": everywhere}
    sharding = jax.sharding.NamedSharding(kind.sharding.mesh, jax.sharding.PartitionSpec())
    return out, {"manual_axis_type": kind.manual_axis_type, "sharding": sharding}


def _made_varying(array, axes):
    import jax

    return jax.lax.pcast(array, axes, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(array, axes)


def call(number, arrays, shapes, dtypes, aliases, vmap_method, has_side_effect, recordable=True):
    """Makes the call of this number part of the program that JAX traces; returns its results, in a list.

    `aliases`: input -> output that is the same buffer.
    """
    import jax

    _register_handlers()
    arrays, kind = varying(arrays)
    results = [jax.ShapeDtypeStruct(s, d, **kind) for s, d in zip(shapes, dtypes, strict=True)]
    target = jax.ffi.ffi_call(
        "weft_call" if recordable else "weft_call_unrecorded",
        results,
        has_side_effect=has_side_effect,
        vmap_method=vmap_method,
        input_output_aliases=aliases,
    )
    import numpy as np

    return list(target(*arrays, call=np.int64(number)))


def current_jax_device():
    """The device that JAX uses where a program names none."""
    import jax

    device = jax.config.jax_default_device
    if isinstance(device, str):
        return jax.local_devices(backend=device)[0]
    return device if device is not None else jax.local_devices()[0]


def devices_to_preload(mode):
    """The devices of Warp that code is compiled for ahead of calls; those of JAX that Warp lacks are left out."""
    import jax

    mode = JaxModulePreloadMode(mode)
    if mode == JaxModulePreloadMode.NONE:
        return []
    if mode == JaxModulePreloadMode.CURRENT_DEVICE:
        wanted = [current_jax_device()]
    else:
        wanted = []
        for backend in ("cpu", "cuda"):
            try:
                wanted += jax.local_devices(backend=backend)
            except RuntimeError:  # JAX has no such backend here
                continue
    found = []
    for device in wanted:
        try:
            found.append(device_from_jax(device))
        except (RuntimeError, IndexError, ValueError):
            continue
    return list(dict.fromkeys(found))


def preload_module(name, mode):
    """Compiles the kernels of a module of Python. One that cannot be compiled is told where it is launched."""
    for device in devices_to_preload(mode):
        for kernel in modules.get_module(name).live_kernels():
            with contextlib.suppress(WarpError):
                if not kernel.is_generic:
                    # On the CPU it goes on in the background; a GPU's recordings must find it loaded.
                    kernel._load(wait=not device.is_cpu, device=device)


class Buffer:
    """An array that XLA passes to a callback: its address and shape; kernels take it as an array."""

    def __init__(self, device, address, shape, dtype):
        import numpy as np

        self.data, self.shape = address, shape
        # NumPy has no bfloat16.
        self.dtype = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        interface = {"data": (address, False), "shape": shape, "typestr": self.dtype.str, "version": 3}
        setattr(self, "__array_interface__" if device.is_cpu else "__cuda_array_interface__", interface)


class CallContext:
    """What a callback knows of its call: the device, and the stream's handle (0 on the CPU)."""

    def __init__(self, device, stream):
        self.device, self.stream = device, stream


_callbacks = {}
_callbacks_lock = threading.Lock()


def register_ffi_callback(name, func, graph_compatible=True):
    """Makes `func(inputs, outputs, attributes, context)` what `jax.ffi.ffi_call(name, ...)` calls.

    `graph_compatible`: it begins the same work each time, so that JAX may record it in a graph of the GPU.
    """
    import jax

    _register_handlers()

    def run(device, stream, inputs, outputs, attributes):
        device = get_device(device)
        ins, outs = ([Buffer(device, *b) for b in buffers] for buffers in (inputs, outputs))
        func(ins, outs, attributes, CallContext(device, stream))

    made = []
    for platform, cuda in _PLATFORMS.items():
        # XLA does not tell a handler by which name it was called, so that each name has a handler of its own.
        handle = functools.partial(_handle, cuda=cuda, recordable=bool(graph_compatible), function=run)
        made.append(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handle))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.cast(made[-1], ctypes.c_void_p).value), platform)
    with _callbacks_lock:
        _callbacks.setdefault(name, []).extend(made)


def _handle(frame, cuda, recordable, function):
    return _core.xla_handle(frame, cuda, recordable, function) or None
