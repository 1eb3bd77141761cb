"""Launches beyond the core's: recorded commands, tiles, what is checked and logged around each launch."""

import math

from warp import _core, config, types
from warp.array_makers import convert_argument
from warp.devices import get_device
from warp.loggers import log_info, log_warning
from warp.modules import threads_of_block
from warp.values import scalar_class_of


class Launch:
    """A launch kept for later: `wp.launch(..., record_cmd=True)` or `Launch(kernel, device)` makes one."""

    def __init__(
        self,
        kernel,
        device=None,
        hooks=None,
        params=None,
        params_addr=None,
        bounds=None,
        max_blocks=0,
        block_dim=None,
        adjoint=False,
    ):
        self.kernel = kernel
        self.device = get_device(device)
        self.adjoint = adjoint
        self.max_blocks, self.block_dim = max_blocks, threads_of_block(block_dim, self.device)
        self._wanted_block_dim = block_dim
        self.dim = 1 if bounds is None else bounds
        self._names = [argument.label for argument in kernel.adj.args]
        self._types = [type for _, type, _ in kernel._signature()]
        self._arguments = [zero_of(t) for t in self._types] if params is None else list(params)
        self._gradients = [None] * len(self._arguments)
        self._prepared = None

    @property
    def params(self):
        """The bounds, the arguments, and for an adjoint the arguments' gradients."""
        if not self.adjoint:
            return [self.dim, *self._arguments]
        pairs = zip(self._gradients, self._types, strict=True)
        return [self.dim, *self._arguments, *(zero_of(t) if g is None else g for g, t in pairs)]

    def set_dim(self, dim):
        _core.check_dimensions(self.kernel, dim, self.device, self.block_dim, self.max_blocks)
        self.dim = dim
        self._prepared = None

    def set_param_at_index(self, index, value, adjoint=False):
        """Sets an argument; `adjoint`: its gradient."""
        if not 0 <= index < len(self._arguments):
            raise RuntimeError(f"kernel '{self.kernel.key}' has {len(self._arguments)} parameters, found index {index}")
        type = self._types[index]
        if type is not None and type.kind in ("vec", "mat", "quat", "transform") and scalar_class_of(value) is not None:
            raise RuntimeError(
                f"Error launching kernel '{self.kernel.key}', argument '{self._names[index]}' expects "
                f"{types.class_of(type).__name__} but got a single value of type {value.__class__.__name__}"
            )
        if not adjoint:
            _core.check_argument(self.kernel, index, value, self.device)
        (self._gradients if adjoint else self._arguments)[index] = value
        self._prepared = None

    def set_param_by_name(self, name, value, adjoint=False):
        if name not in self._names:
            raise RuntimeError(f"kernel '{self.kernel.key}' has no parameter '{name}'")
        self.set_param_at_index(self._names.index(name), value, adjoint)

    def set_param_at_index_from_ctype(self, index, value):
        """Sets an argument from what `__ctype__()` of an array or a struct gave, or from a plain value."""
        owner = getattr(value, "owner", None)
        self.set_param_at_index(index, value if owner is None else owner)

    def set_param_by_name_from_ctype(self, name, value):
        owner = getattr(value, "owner", None)
        self.set_param_by_name(name, value if owner is None else owner)

    def set_params(self, values):
        if len(values) > len(self._arguments):
            raise RuntimeError(f"kernel '{self.kernel.key}' has {len(self._arguments)} parameters, found {len(values)}")
        for index, value in enumerate(values):
            self.set_param_at_index(index, value)

    def set_params_from_ctypes(self, values):
        for index, value in enumerate(values):
            self.set_param_at_index_from_ctype(index, value)

    def launch(self, stream=None):
        """Runs the kernel on the arguments as they are now, on `stream` or the device's current one."""
        prepared = self._prepared
        if prepared is not None and (prepared.run() if stream is None else prepared.run_on(stream.cuda_stream or 0)):
            return
        self._prepared = None
        extra = {"adj_inputs": self._gradients, "adjoint": True} if self.adjoint else {}
        if stream is None:
            extra["device"] = self.device
        _core.launch(
            self.kernel,
            self.dim,
            self._arguments,
            stream=stream,
            max_blocks=self.max_blocks,
            block_dim=self._wanted_block_dim,
            _block_dim=self.block_dim,
            **extra,
        )
        if not self.adjoint:
            wanted = self._wanted_block_dim or 0
            self._prepared = _core.prepare_launch(
                self.kernel, self.dim, self._arguments, self.device, self.block_dim, wanted, self.max_blocks
            )

    @property
    def module_exec(self):
        """The code that is launched."""
        return self.kernel._module._load(self.device, self.block_dim)


def zero_of(type):
    """The zero of a parameter's type."""
    if type is None or type.kind == "array":
        return None
    if type.kind == "scalar":
        return 0.0 if type.user_name.startswith(("float", "bfloat")) else 0
    cls = types.class_of(type)
    return cls._of([0] * type.part_count) if issubclass(cls, types.value_base) else cls()


def _record(kernel, dim, arguments, device, gradients, adjoint, block_dim, wanted_block_dim, max_blocks):
    made = Launch(kernel, device, params=arguments, bounds=dim, max_blocks=max_blocks, adjoint=adjoint)
    made.block_dim, made._wanted_block_dim = block_dim, wanted_block_dim
    _core.check_dimensions(kernel, dim, made.device, block_dim, max_blocks)
    for index, argument in enumerate(arguments):
        _core.check_argument(kernel, index, argument, made.device)
    for index, gradient in enumerate(gradients):
        made._gradients[index] = gradient
    return made


def _convert_value(argument, type, parameter):
    """For launches: an argument as a value of a vector type or the like, or None."""
    cls = types.class_of(type)
    if type.kind == "struct":
        return argument if type.name.startswith("$") else None
    if isinstance(argument, types.value_base):
        kinds = {argument._weft_type_.kind, type.kind}
        fits = argument._weft_type_.part_count == type.part_count and kinds <= {"vec", "mat"}
        return cls._of(argument._numbers()) if fits else None
    scalar = scalar_class_of(argument)
    if scalar is not None:
        name = argument.__class__.__name__
        if argument.__class__.__module__ == "numpy" or isinstance(argument, bool) or scalar.__name__ == "bool":
            log_warning(
                f"Converting a value of type `{name}` to `{cls.__name__}` for kernel parameter '{parameter}' is "
                f"deprecated: construct it explicitly, as {cls.__name__}(...)",
                category=DeprecationWarning,
            )
            return cls._of([types.scalars.number(argument)] * type.part_count)
        return None
    if hasattr(argument, "__len__") and not isinstance(argument, str):
        try:
            return cls(argument)
        except (TypeError, ValueError):
            return None
    return None


_core.set_hooks(convert_argument, get_device, _record, _convert_value)


def launch_tiled(kernel, dim, inputs=(), outputs=(), *args, block_dim=None, device=None, **kwargs):
    """Launches a kernel with a block of `block_dim` threads for each item of `dim`.

    On the CPU a block has one thread, unless `warp.config.enable_cpu_blocks` is set.
    """
    if block_dim is None:
        raise RuntimeError("block_dim must be specified in launch_tiled(): the number of threads for each item")
    dim = tuple(dim) if hasattr(dim, "__iter__") else (dim,)
    if len(dim) > 3:
        raise RuntimeError(f"launch_tiled() takes at most 3 dimensions, found {len(dim)}")
    shape = (*dim, threads_of_block(block_dim, get_device(device)))
    try:
        return _core.launch(kernel, shape, inputs, outputs, *args, device=device, block_dim=shape[-1], **kwargs)
    finally:
        del kernel  # what is raised keeps this frame alive, which must not keep a kernel that has been replaced


# ---- around each launch ----


def _observe(kernel, dim, arguments, device, adjoint, after):
    if config.print_launches and not after:
        log_info(
            f"kernel: {kernel.key} module: {getattr(kernel, 'module', None)} dim: {dim} size: {math.prod(dim)} "
            f"adjoint: {adjoint} args: {arguments} device: {device}"
        )
    if config.verify_autograd_array_access and after and not adjoint:
        _mark_access(kernel, arguments)


def _mark_access(kernel, arguments):
    """Notes which arrays have been read; warns where one is written afterwards."""
    given = [] if not kernel.is_generic else [_core.type_of_argument(a) for a in arguments]
    for (read, written), argument, info in zip(kernel._access(given), arguments, kernel._signature(), strict=False):
        if not isinstance(argument, types_array()):
            continue
        if written:
            if argument._is_read and _core.get_tape() is not None:
                log_warning(
                    f"Array {argument!r} passed to argument {info[0]} in kernel {kernel.key} is being written to but "
                    "has already been read from in a previous launch. This may corrupt gradient computation in the "
                    "backward pass."
                )
            argument.mark_write()
        if read:
            argument.mark_read()


def types_array():
    from warp.arrays import array

    return array


def _update_observer(_):
    wanted = config.print_launches or config.verify_autograd_array_access
    _core.set_launch_observer(_observe if wanted else None)


for _name in ("print_launches", "verify_autograd_array_access"):
    config.EFFECTS[_name] = _update_observer
