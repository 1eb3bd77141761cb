"""`warp.jax_experimental.custom_call`, by its earlier name."""

from warp import jax_kernels


def jax_kernel(kernel, launch_dims=None, quiet=False):
    """A kernel as a function for JAX programs (`wp.jax_kernel`), with one output."""
    return jax_kernels.jax_kernel(kernel, launch_dims=launch_dims)
