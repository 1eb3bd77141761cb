"""Names of the package that live in modules which few programs need: loaded when a name is asked for."""

import importlib

MODULES = {
    "ahead": ("compile_aot_module", "load_aot_module"),
    "build_experimental": None,  # the module itself
    "jax": None,
    "jax_experimental": None,
    "jax_arrays": ("device_from_jax", "device_to_jax", "dtype_from_jax", "dtype_to_jax", "from_jax", "to_jax"),
    "jax_callables": ("JaxCallableGraphMode", "clear_jax_callable_graph_cache", "jax_callable"),
    "jax_calls": ("JaxModulePreloadMode",),
    "jax_kernels": ("jax_kernel",),
    "kernel_properties": ("get_cuda_kernel_properties", "get_cuda_max_cluster_dim", "get_suggested_block_size"),
    "paddle_arrays": (
        "device_from_paddle",
        "device_to_paddle",
        "dtype_from_paddle",
        "dtype_to_paddle",
        "from_paddle",
        "stream_from_paddle",
        "to_paddle",
    ),
    "textures": ("Texture", "Texture1D", "Texture2D", "Texture3D", "TextureAddressMode", "TextureFilterMode"),
    "torch_arrays": (
        "device_from_torch",
        "device_to_torch",
        "dtype_from_torch",
        "dtype_to_torch",
        "from_torch",
        "stream_from_torch",
        "stream_to_torch",
        "to_torch",
    ),
}
HOMES = {name: module for module, names in MODULES.items() for name in names or ()}


def load(name):
    """The module or the object of this name; AttributeError when there is none."""
    if name in HOMES:
        return getattr(importlib.import_module(f"warp.{HOMES[name]}"), name)
    if name in MODULES:
        return importlib.import_module(f"warp.{name}")
    raise AttributeError(f"module 'warp' has no attribute '{name}'")
