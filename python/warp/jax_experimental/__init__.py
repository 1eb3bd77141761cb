"""Where Warp had the functions for JAX before they moved to the package itself; kept for programs that name it."""

from warp.jax_arrays import device_from_jax, device_to_jax, dtype_from_jax, dtype_to_jax, from_jax, to_jax
from warp.jax_experimental.ffi import (
    GraphMode,
    JaxCallableGraphMode,
    JaxModulePreloadMode,
    ModulePreloadMode,
    clear_jax_callable_graph_cache,
    get_jax_callable_default_graph_cache_max,
    jax_callable,
    jax_kernel,
    register_ffi_callback,
    set_jax_callable_default_graph_cache_max,
)

__all__ = [
    "GraphMode",
    "JaxCallableGraphMode",
    "JaxModulePreloadMode",
    "ModulePreloadMode",
    "clear_jax_callable_graph_cache",
    "device_from_jax",
    "device_to_jax",
    "dtype_from_jax",
    "dtype_to_jax",
    "from_jax",
    "get_jax_callable_default_graph_cache_max",
    "jax_callable",
    "jax_kernel",
    "register_ffi_callback",
    "set_jax_callable_default_graph_cache_max",
    "to_jax",
]
