"""`wp.jax_callable`: a Python function that launches kernels as a function of a JAX program."""

import contextlib
import enum
import functools
import inspect
import itertools
import threading
from collections import OrderedDict

from warp import _core
from warp.array_makers import clone, copy
from warp.arrays import array
from warp.devices import ScopedDevice, get_device
from warp.graphs import ScopedCapture, capture_launch
from warp.jax_calls import JaxModulePreloadMode, call, preload_module
from warp.jax_signature import Signature, names_of, of_function, value_key
from warp.streams import ScopedStream, Stream


class JaxCallableGraphMode(enum.IntEnum):
    """Who records the function in a graph of the GPU, and what the graph works on."""

    NONE = 0
    JAX = 1
    WARP = 2
    WARP_STAGED = 3
    WARP_STAGED_EX = 4


_STAGED = (JaxCallableGraphMode.WARP_STAGED, JaxCallableGraphMode.WARP_STAGED_EX)

DEFAULT_GRAPH_CACHE_MAX = 32
_default_graph_cache_max = DEFAULT_GRAPH_CACHE_MAX

# Streams and the current device belong to the process: one function at a time sets them.
_gpu_lock = threading.Lock()


def get_jax_callable_default_graph_cache_max():
    """How many graphs a function keeps where `graph_cache_max` is not given; None: all."""
    return _default_graph_cache_max


def set_jax_callable_default_graph_cache_max(cache_max):
    global _default_graph_cache_max
    _default_graph_cache_max = cache_max


class _Staged:
    """A graph, and the arrays that it works on, which belong to it."""

    def __init__(self, arrays):
        self.arrays = {name: clone(a) for name, a in arrays.items()}
        self.graph = None


class FfiCallable:
    """What `wp.jax_callable()` returns: call it in a JAX program with the function's inputs."""

    def __init__(self, func, signature, graph_mode, vmap_method, output_dims, stage_in, stage_out, cache_max, effect):
        self.func, self._signature = func, signature
        self.num_outputs = len(signature.outputs)
        self.graph_mode, self.vmap_method, self.output_dims = graph_mode, vmap_method, output_dims
        self.stage_in_argnames, self.stage_out_argnames = set(stage_in), set(stage_out)
        self.graph_cache_max, self.has_side_effect = cache_max, effect
        self._numbers = {}
        self._lock = threading.Lock()
        self._graphs = OrderedDict()

    @property
    def graph_cache_size(self):
        return len(self._graphs)

    def clear_graph_cache(self):
        with _gpu_lock:
            self._graphs.clear()

    def __call__(self, *args, output_dims=None, vmap_method=None):
        signature = self._signature
        arrays, values = signature.split(args)
        wanted = self.output_dims if output_dims is None else output_dims
        shapes = signature.output_shapes(arrays, wanted, signature.first_dims(arrays))
        inputs = [p.name for p in signature.inputs if p.is_array]
        aliases = {inputs.index(p.name): o for o, p in enumerate(signature.outputs) if p.in_out}
        return call(
            self._number(values),
            arrays,
            shapes,
            [p.jax_dtype for p in signature.outputs],
            aliases,
            vmap_method or self.vmap_method,
            self.has_side_effect,
            recordable=self.graph_mode == JaxCallableGraphMode.JAX,
        )

    def _number(self, values):
        key = tuple(value_key(v) for v in values.values())
        with self._lock:
            if key not in self._numbers:
                self._numbers[key] = _core.xla_register_function(functools.partial(self._run, key, values))
            return self._numbers[key]

    # ---- what XLA calls ----

    def _run(self, key, values, device, stream, inputs, outputs, attributes):
        device = get_device(device)
        if device.is_cpu:
            if self.graph_mode > JaxCallableGraphMode.JAX:
                raise RuntimeError(
                    f"function '{self.func.__name__}' has the graph mode {self.graph_mode.name}, which needs a "
                    "GPU, and JAX runs it on the CPU"
                )
            with contextlib.ExitStack() as scopes:
                if get_device() is not device:
                    scopes.enter_context(_gpu_lock)
                    scopes.enter_context(ScopedDevice(device))
                for arrays in self._batches(device, inputs, outputs):
                    self._call(arrays, values)
            return
        _gpu_lock.acquire()
        try:
            with ScopedStream(Stream(device, cuda_stream=stream), sync_enter=False):
                for arrays in self._batches(device, inputs, outputs):
                    self._run_on_gpu(key, arrays, values, device)
        finally:
            _gpu_lock.release()

    def _batches(self, device, inputs, outputs):
        """The arrays by name, for each item of what jax.vmap passes."""
        signature = self._signature
        given = dict(zip((p.name for p in signature.inputs if p.is_array), inputs, strict=True))
        given.update(zip((p.name for p in signature.outputs), outputs, strict=True))
        arrays = {p.name: (p, *given[p.name]) for p in signature.parameters if p.is_array}
        batches = {name: p.batch_of(shape) for name, (p, _, shape, _) in arrays.items()}
        whole = _common_batch(self.func.__name__, batches)
        for index in itertools.product(*map(range, whole)):
            yield {
                name: _item(device, p, address, shape, batches[name], index)
                for name, (p, address, shape, _) in arrays.items()
            }

    def _call(self, arrays, values):
        self.func(*(arrays[p.name] if p.is_array else values[p.name] for p in self._signature.parameters))

    def _run_on_gpu(self, key, arrays, values, device):
        if self.graph_mode <= JaxCallableGraphMode.JAX:
            self._call(arrays, values)
            return
        shapes = tuple((a.shape, None if self.graph_mode in _STAGED else a.ptr) for a in arrays.values())
        found = self._graphs.get((device, key, shapes))
        if found is None:
            found = self._graphs[device, key, shapes] = self._record(arrays, values, device)
            while self.graph_cache_max is not None and len(self._graphs) > self.graph_cache_max:
                self._graphs.popitem(last=False)
        else:
            self._graphs.move_to_end((device, key, shapes))
            if self.graph_mode in _STAGED:
                self._stage(found.arrays, arrays, self._signature.inputs, self.stage_in_argnames)
        capture_launch(found.graph)
        if self.graph_mode in _STAGED:
            self._stage(arrays, found.arrays, self._signature.outputs, self.stage_out_argnames)

    def _record(self, arrays, values, device):
        made = _Staged(arrays if self.graph_mode in _STAGED else {})
        with ScopedCapture(device=device, stream=device.stream) as capture:
            self._call(made.arrays or arrays, values)
        made.graph = capture.graph
        return made

    def _stage(self, to, source, parameters, names):
        for p in parameters:
            if p.is_array and source[p.name].size and (not names or p.name in names):
                copy(to[p.name], source[p.name])

    def __repr__(self):
        return f"<jax_callable {self.func.__name__}>"


def _common_batch(name, batches):
    """The dimensions that all arrays are repeated over: an array may have extents of 1 there, or none at all."""
    longest = max(map(len, batches.values()))
    whole = tuple(max(b[d] for b in batches.values() if len(b) == longest) for d in range(longest))
    for argument, batch in batches.items():
        fits = not batch or (len(batch) == longest and all(n in (1, w) for n, w in zip(batch, whole, strict=True)))
        if not fits:
            raise RuntimeError(f"function '{name}': jax.vmap gave argument '{argument}' the batch {batch} in {whole}")
    return whole


def _item(device, parameter, address, shape, batch, index):
    """One item of the batch, as an array."""
    own = shape[len(batch) : len(batch) + parameter.ndim]
    position = 0
    for extent, at in zip(batch, index, strict=False):
        position = position * extent + (at if extent != 1 else 0)
    size = parameter.element.size
    for extent in own:
        size *= extent
    return array(ptr=address + position * size, dtype=parameter.dtype, shape=own, device=device)


_registry = {}
_registry_lock = threading.Lock()


def _key_of_dims(dims):
    if isinstance(dims, dict):
        return tuple((name, _key_of_dims(d)) for name, d in dims.items())
    return tuple(dims) if hasattr(dims, "__iter__") else dims


def jax_callable(
    func,
    num_outputs=1,
    graph_mode=JaxCallableGraphMode.JAX,
    vmap_method="broadcast_all",
    output_dims=None,
    in_out_argnames=None,
    stage_in_argnames=None,
    stage_out_argnames=None,
    graph_cache_max=DEFAULT_GRAPH_CACHE_MAX,
    module_preload_mode=JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect=False,
):
    """A function, annotated as kernels are, for JAX programs: it gets arrays over JAX's memory and launches kernels.

    Inputs and outputs are as for `jax_kernel()`; without `output_dims` the outputs have the dimensions of the first
    array. `graph_mode`: who records it in a graph of the GPU; the modes of WARP need one. Under `jax.vmap` the function
    is called for each item of the batch.
    """
    if not inspect.isroutine(func) and not callable(func):
        raise TypeError(f"jax_callable() takes a function, found {type(func).__name__}")
    graph_mode, preload = JaxCallableGraphMode(graph_mode), JaxModulePreloadMode(module_preload_mode)
    in_out = names_of(in_out_argnames, "in_out_argnames")
    stage_in = names_of(stage_in_argnames, "stage_in_argnames")
    stage_out = names_of(stage_out_argnames, "stage_out_argnames")
    key = (
        *(func, num_outputs, graph_mode, vmap_method, _key_of_dims(output_dims), in_out, stage_in, stage_out),
        *(graph_cache_max, preload, bool(has_side_effect)),
    )
    with _registry_lock:
        found = _registry.get(key)
    if found is not None:
        return found
    signature = Signature(f"function '{func.__name__}'", of_function(func), num_outputs, in_out)
    for names, parameters, what in (
        (stage_in, signature.inputs, "stage_in_argnames"),
        (stage_out, signature.outputs, "stage_out_argnames"),
    ):
        unknown = set(names) - {p.name for p in parameters if p.is_array}
        if unknown:
            raise ValueError(f"function '{func.__name__}': {what} names '{min(unknown)}', which is no such array")
    made = FfiCallable(
        func, signature, graph_mode, vmap_method, output_dims, stage_in, stage_out, graph_cache_max, has_side_effect
    )
    preload_module(func.__module__, preload)
    with _registry_lock:
        return _registry.setdefault(key, made)


def clear_jax_callable_graph_cache(callable=None):
    """Lets go of the graphs that a function keeps; None: that all keep."""
    with _registry_lock:
        chosen = list(_registry.values()) if callable is None else [callable]
    for one in chosen:
        one.clear_graph_cache()
