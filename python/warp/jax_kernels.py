"""`wp.jax_kernel`: a kernel as a function of a JAX program."""

import threading

from warp import _core, types
from warp.errors import WarpLaunchError
from warp.jax_calls import JaxModulePreloadMode, call, devices_to_preload, varying
from warp.jax_signature import Signature, dims_of, names_of, of_kernel, value_key
from warp.kernels import Kernel

_DEFAULT_GPU_BLOCK = 256


def _checked_block_dim(block_dim):
    if block_dim is None:
        return None
    if isinstance(block_dim, bool) or not hasattr(block_dim, "__index__"):
        raise TypeError(f"block_dim must be an integer or None, found {block_dim!r}")
    if block_dim.__index__() <= 0:
        raise ValueError(f"block_dim must be positive, found {block_dim}")
    return block_dim.__index__()


def _fits(signature_types, kernel, num_inputs, arrays):
    """Whether arrays of JAX are of the types of these parameters."""
    given = iter(arrays)
    for p in of_kernel(kernel, signature_types)[:num_inputs]:
        if p.is_array:
            array = next(given, None)
            if array is None or p.batch_of(array.shape) != () or array.dtype != p.jax_dtype:
                return False
    return True


class FfiKernel:
    """What `wp.jax_kernel()` returns: call it in a JAX program with the kernel's inputs; it returns its outputs."""

    def __init__(
        self, kernel, num_outputs, vmap_method, launch_dims, output_dims, in_out_argnames, preload, effect, block
    ):
        self.kernel, self.num_outputs, self.vmap_method = kernel, num_outputs, vmap_method
        self.launch_dims, self.output_dims = launch_dims, output_dims
        self.in_out_argnames = in_out_argnames
        self.module_preload_mode, self.has_side_effect, self.block_dim = preload, effect, block
        self._calls = {}
        self._lock = threading.Lock()
        self._owner = f"kernel '{kernel.key}'"
        self._signatures = {}
        if not kernel.is_generic:
            self._signature_of([t for _, t, _ in kernel._signature()])
            for device in devices_to_preload(preload):
                kernel._load(block_dim=self._block_dims()[0] if device.is_cpu else self._block_dims()[1], device=device)

    def _block_dims(self):
        """Threads of a block on the CPU and on GPUs."""
        return _core.block_dim(self.block_dim), self.block_dim or _DEFAULT_GPU_BLOCK

    def _signature_of(self, parameter_types):
        key = tuple(map(str, parameter_types))
        found = self._signatures.get(key)
        if found is None:
            parameters = of_kernel(self.kernel, parameter_types)
            found = self._signatures[key] = Signature(self._owner, parameters, self.num_outputs, self.in_out_argnames)
        return found

    def signature(self, args):
        """The signature for these arguments, and the types of the parameters of a generic kernel."""
        if not self.kernel.is_generic:
            return next(iter(self._signatures.values())), []
        arrays = [a for a in args if hasattr(a, "shape") and hasattr(a, "dtype")]
        inputs = len(self.kernel.adj.args) - self.num_outputs + len(self.in_out_argnames)
        fitting = [t for t in self.kernel._instances() if _fits(t, self.kernel, inputs, arrays)]
        if len(fitting) != 1:
            found = ", ".join(f"{a.dtype}{tuple(a.shape)}" for a in arrays)
            raise TypeError(
                f"{self._owner} is generic, and {len(fitting)} of its instances fit the arguments ({found}): JAX needs "
                "exactly one, made by wp.overload()"
            )
        return self._signature_of(fitting[0]), list(fitting[0])

    def number(self, signature, parameter_types, values, dims, sources, gradients=None):
        """The number of the call with these values and dimensions."""
        blocks = self._block_dims()
        arguments = [sources[p.name] if p.is_array else values[p.name] for p in signature.parameters]
        keys = tuple(value_key(v) for v in values.values())
        key = (tuple(map(str, parameter_types)), keys, dims, blocks, gradients is not None)
        with self._lock:
            found = self._calls.get(key)
        if found is not None:
            return found
        try:
            made = _core.xla_kernel_call(
                self.kernel, parameter_types, arguments, gradients, dims, *blocks, self.block_dim or 0
            )
        except WarpLaunchError as error:
            too_long = next((d for d, n in enumerate(dims) if n > 2**31), None)
            if too_long is None:
                raise
            raise ValueError(
                f"Warp cannot launch a kernel using wp.tid() with extent {dims[too_long]} in dimension {too_long}: "
                f"{error}"
            ) from None
        if parameter_types or gradients is not None:
            for device in devices_to_preload(self.module_preload_mode):
                made.prepare(device)
        with self._lock:
            return self._calls.setdefault(key, _core.xla_register(made))

    def launch_dims_for(self, signature, arrays, launch_dims):
        """The extents of the launch."""
        given = launch_dims if launch_dims is not None else self.launch_dims
        dims = signature.first_dims(arrays) if given is None else dims_of(given, f"{self._owner}, launch_dims")
        if dims is None:
            raise ValueError(
                f"{self._owner} has no array argument that could give the launch its dimensions: pass launch_dims"
            )
        return dims

    def __call__(self, *args, output_dims=None, launch_dims=None, vmap_method=None):
        signature, parameter_types = self.signature(args)
        arrays, values = signature.split(args)
        dims = self.launch_dims_for(signature, arrays, launch_dims)
        output_dims = self.output_dims if output_dims is None else output_dims
        return self.run(signature, parameter_types, values, arrays, dims, output_dims, vmap_method)

    def run(self, signature, parameter_types, values, arrays, dims, output_dims, vmap_method):
        """The call, for what has been found out about its arguments."""
        shapes = signature.output_shapes(arrays, output_dims, dims)
        sources = sources_of(signature)
        number = self.number(signature, parameter_types, values, dims, sources)
        aliases = {i: o for i, o in sources.values() if i is not None and o is not None}
        return call(
            number,
            arrays,
            shapes,
            [p.jax_dtype for p in signature.outputs],
            aliases,
            vmap_method or self.vmap_method,
            self.has_side_effect,
        )

    def __repr__(self):
        return f"<jax_kernel {self.kernel.key}>"


def sources_of(signature):
    """For each array the numbers of the input and of the output that it is, or None."""
    inputs = [p.name for p in signature.inputs if p.is_array]
    outputs = [p.name for p in signature.outputs]
    return {
        p.name: (
            inputs.index(p.name) if p.name in inputs else None,
            outputs.index(p.name) if p.name in outputs else None,
        )
        for p in signature.parameters
        if p.is_array
    }


class DifferentiableKernel:
    """What `wp.jax_kernel(..., enable_backward=True)` returns: JAX's derivatives run the kernel's adjoint."""

    def __init__(self, forward):
        self._forward = forward
        self.kernel, self.num_outputs, self.block_dim = forward.kernel, forward.num_outputs, forward.block_dim
        self.launch_dims, self.vmap_method = forward.launch_dims, forward.vmap_method

    def __call__(self, *args, **kwargs):
        for name in kwargs:
            if name in ("launch_dims", "vmap_method"):
                raise TypeError(
                    f"{name} cannot be overridden per-call where enable_backward=True: jax_kernel() takes it"
                )
            if name == "output_dims":
                raise TypeError("output_dims is not supported where enable_backward=True")
            raise TypeError(f"unexpected argument '{name}'")
        import jax

        signature, parameter_types = self._forward.signature(args)
        arrays, values = signature.split(args)
        arrays, _ = varying(arrays)

        @jax.custom_vjp
        def run(*arrays):
            return tuple(self._run(signature, parameter_types, values, arrays))

        def forward(*arrays):
            outputs = run(*arrays)
            return outputs, (arrays, outputs)

        def backward(saved, cotangents):
            return self._adjoint(signature, parameter_types, values, *saved, cotangents)

        run.defvjp(forward, backward)
        return list(run(*arrays))

    def _run(self, signature, parameter_types, values, arrays):
        """The outputs, which have the dimensions of the first array, or those of the launch."""
        first, dims = signature.first_dims(arrays), self._forward.launch_dims_for(signature, arrays, None)
        own = {p.name: first if first is not None and len(first) == p.ndim else dims for p in signature.outputs}
        return self._forward.run(signature, parameter_types, values, arrays, dims, own, None)

    def _adjoint(self, signature, parameter_types, values, arrays, outputs, cotangents):
        """The gradients of the inputs that are arrays, from those of the outputs."""
        import jax
        import numpy as np

        dims = self._forward.launch_dims_for(signature, arrays, None)
        given = [p for p in signature.inputs if p.is_array]
        wanted = [p for p in given if _is_differentiable(p)]
        known = [(p, c) for p, c in zip(signature.outputs, cotangents, strict=True) if _is_differentiable(p)]
        # Gradients are added to, so that they begin as zeros; those of outputs are used up. Both are XLA's to copy.
        used = [c for _, c in known]
        zeros = [jax.numpy.zeros_like(a) for p, a in zip(given, arrays, strict=True) if _is_differentiable(p)]
        operands = [*arrays, *outputs, *used, *zeros]
        first = len(arrays) + len(outputs)
        sources = {p.name: (i, None) for i, p in enumerate([*given, *signature.outputs])}
        gradients = dict.fromkeys(p.name for p in signature.parameters)
        for k, p in enumerate([p for p, _ in known] + wanted):
            gradients[p.name] = (first + k, k)
        number = self._forward.number(
            signature, parameter_types, values, dims, sources, [gradients[p.name] for p in signature.parameters]
        )
        results = call(
            number,
            operands,
            [o.shape for o in operands[first:]],
            [o.dtype for o in operands[first:]],
            {first + k: k for k in range(len(operands) - first)},
            self._forward.vmap_method,
            False,
        )
        found = dict(zip((p.name for p in wanted), results[len(used) :], strict=True))
        return tuple(
            found[p.name] if p.name in found else np.zeros(a.shape, dtype=jax.dtypes.float0)
            for p, a in zip(given, arrays, strict=True)
        )

    def __repr__(self):
        return f"<differentiable jax_kernel {self.kernel.key}>"


def _is_differentiable(parameter):
    return types.scalar_of(parameter.dtype).__name__.startswith(("float", "bfloat"))


_registry = {}
_registry_lock = threading.Lock()


def _frozen(dims):
    """Dimensions as part of a key."""
    if dims is None:
        return None
    if isinstance(dims, dict):
        return tuple(sorted((k, dims_of(v, "output_dims")) for k, v in dims.items()))
    return dims_of(dims, "dimensions")


def jax_kernel(
    kernel,
    num_outputs=1,
    vmap_method="broadcast_all",
    launch_dims=None,
    output_dims=None,
    in_out_argnames=None,
    module_preload_mode=JaxModulePreloadMode.CURRENT_DEVICE,
    enable_backward=False,
    has_side_effect=False,
    block_dim=None,
):
    """A kernel as a function for JAX programs, on CPUs and GPUs: it takes the kernel's inputs, the arrays as JAX's and
    the others static, and returns a list of the outputs, which are the last `num_outputs` arguments.

    `launch_dims`: of the launch, else those of the first array; `output_dims`: of the outputs, else those of the
    launch, a dict by name where they differ; `in_out_argnames`: inputs that the kernel changes, which count as outputs;
    `enable_backward`: with derivatives; outputs then have the dimensions of the first array. Under `jax.vmap` the
    kernel is launched for each item of the batch.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"jax_kernel() takes a kernel, found {type(kernel).__name__}")
    names = names_of(in_out_argnames, "in_out_argnames")
    block_dim = _checked_block_dim(block_dim)
    preload = JaxModulePreloadMode(module_preload_mode)
    if enable_backward:
        if output_dims is not None:
            raise NotImplementedError("jax_kernel() takes no output_dims where enable_backward=True")
        if names:
            raise NotImplementedError("jax_kernel() takes no in_out_argnames where enable_backward=True")
    key = (
        *(kernel, num_outputs, vmap_method, _frozen(launch_dims), _frozen(output_dims), names, preload),
        *(bool(enable_backward), bool(has_side_effect), block_dim),
    )
    with _registry_lock:
        found = _registry.get(key)
    if found is not None:
        return found
    made = FfiKernel(
        kernel, num_outputs, vmap_method, launch_dims, output_dims, names, preload, has_side_effect, block_dim
    )
    if enable_backward:
        if not kernel.enable_backward:
            raise TypeError(f"kernel '{kernel.key}' was made with enable_backward=False: it has no adjoint")
        made = DifferentiableKernel(made)
    with _registry_lock:
        return _registry.setdefault(key, made)
