"""The old place of devices, modules, kernels and launches: forwards to where they are."""

from warp import _core
from warp.array_makers import clone, copy, empty, full, zeros
from warp.devices import (
    Device,
    DeviceLike,
    get_device,
    get_devices,
    is_cuda_available,
    synchronize,
    synchronize_device,
)
from warp.functions import Function
from warp.graphs import Graph
from warp.kernels import Kernel, kernel
from warp.launches import Launch
from warp.modules import Module, force_load, get_module, load_module
from warp.streams import Event, Stream

Devicelike = DeviceLike
launch = _core.launch
