"""`warp.jax_experimental.ffi`, by its earlier names."""

import functools

from warp import jax_callables
from warp.jax_callables import (
    JaxCallableGraphMode,
    clear_jax_callable_graph_cache,
    get_jax_callable_default_graph_cache_max,
    set_jax_callable_default_graph_cache_max,
)
from warp.jax_calls import JaxModulePreloadMode, register_ffi_callback
from warp.jax_kernels import jax_kernel

GraphMode = JaxCallableGraphMode
ModulePreloadMode = JaxModulePreloadMode


@functools.wraps(jax_callables.jax_callable)
def jax_callable(*args, graph_cache_max=None, **kwargs):
    if graph_cache_max is None:
        graph_cache_max = get_jax_callable_default_graph_cache_max()
    return jax_callables.jax_callable(*args, graph_cache_max=graph_cache_max, **kwargs)


__all__ = [
    "GraphMode",
    "JaxCallableGraphMode",
    "JaxModulePreloadMode",
    "ModulePreloadMode",
    "clear_jax_callable_graph_cache",
    "get_jax_callable_default_graph_cache_max",
    "jax_callable",
    "jax_kernel",
    "register_ffi_callback",
    "set_jax_callable_default_graph_cache_max",
]
