"""Launches beyond the core's: recorded commands, tiles, hooks."""

from warp import _core
from warp.arrays import _convert_argument
from warp.devices import get_device
from warp.errors import WarpUnsupportedError


class Launch:
    """A launch kept for later: `wp.launch(..., record_cmd=True)` makes one."""

    def __init__(self, kernel, dim, params, device=None):
        self.kernel = kernel
        self.dim = dim
        self.params = list(params)
        self.device = get_device(device)

    def set_dim(self, dim):
        self.dim = dim

    def set_param_at_index(self, index, value, adjoint=False):
        if not 0 <= index < len(self.params):
            raise RuntimeError(f"kernel '{self.kernel.key}' has {len(self.params)} parameters, found index {index}")
        self.params[index] = value

    def set_param_by_name(self, name, value, adjoint=False):
        names = [parameter for parameter, _, _ in self.kernel._signature()]
        if name not in names:
            raise RuntimeError(f"kernel '{self.kernel.key}' has no parameter '{name}'")
        self.set_param_at_index(names.index(name), value)

    # No conversion is saved by the variants that take raw values.
    set_param_at_index_from_ctype = set_param_at_index
    set_param_by_name_from_ctype = set_param_by_name

    def set_params(self, values):
        if len(values) > len(self.params):
            raise RuntimeError(f"kernel '{self.kernel.key}' has {len(self.params)} parameters, found {len(values)}")
        self.params[: len(values)] = values

    def launch(self, stream=None):
        _core.launch(self.kernel, self.dim, self.params, device=self.device)


def launch_tiled(*args, **kwargs):
    raise WarpUnsupportedError("tiles are not available yet")


_core.set_hooks(_convert_argument, get_device, Launch)
