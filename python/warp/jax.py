"""JAX interoperability under one name. The names are those of the package itself."""

from warp.jax_arrays import device_from_jax, device_to_jax, dtype_from_jax, dtype_to_jax, from_jax, to_jax
from warp.jax_callables import (
    JaxCallableGraphMode,
    clear_jax_callable_graph_cache,
    get_jax_callable_default_graph_cache_max,
    jax_callable,
    set_jax_callable_default_graph_cache_max,
)
from warp.jax_calls import JaxModulePreloadMode, current_jax_device, register_ffi_callback
from warp.jax_kernels import jax_kernel

get_jax_device = current_jax_device

__all__ = [
    "JaxCallableGraphMode",
    "JaxModulePreloadMode",
    "clear_jax_callable_graph_cache",
    "device_from_jax",
    "device_to_jax",
    "dtype_from_jax",
    "dtype_to_jax",
    "from_jax",
    "get_jax_callable_default_graph_cache_max",
    "get_jax_device",
    "jax_callable",
    "jax_kernel",
    "register_ffi_callback",
    "set_jax_callable_default_graph_cache_max",
    "to_jax",
]
