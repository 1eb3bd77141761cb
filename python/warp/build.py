"""The old place of the kernel cache: forwards to where it is."""

from warp.modules import clear_kernel_cache, clear_lto_cache
