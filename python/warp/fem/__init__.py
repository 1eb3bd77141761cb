"""Finite elements: so far the declarations that kernels and integrands share. Spaces and integration are to come."""

from warp.errors import WarpUnsupportedError
from warp.structs import struct
from warp.types import float32, int32, vec2i, vec3f

ElementIndex = int32
Coords = vec3f
NULL_ELEMENT_INDEX = -1
NULL_NODE_INDEX = (1 << 31) - 1


@struct
class Sample:
    """A point of evaluation inside an element."""

    element_index: int32
    element_coords: vec3f
    qp_index: int32
    qp_weight: float32
    test_dof: vec2i
    trial_dof: vec2i


class Integrand:
    """A function to be integrated or interpolated."""

    def __init__(self, func, kernel_options=None):
        self.func, self.kernel_options = func, dict(kernel_options or {})
        self.name = self.__name__ = func.__name__
        self.__doc__ = func.__doc__

    def __call__(self, *args, **kwargs):
        raise WarpUnsupportedError(f"integrand '{self.name}': integration is not available yet")


def integrand(func=None, kernel_options=None):
    """Declares an integrand."""
    return (lambda f: Integrand(f, kernel_options)) if func is None else Integrand(func, kernel_options)


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(f"wp.fem.{name} is not available yet")
