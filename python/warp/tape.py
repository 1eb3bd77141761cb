"""`wp.Tape`: records launches and copies, and runs their adjoints in reverse order."""

import warnings

from warp import _core
from warp.arrays import array


class _LaunchRecord:
    """A recorded launch. `saved` keeps the values that its derivative needs when they are overwritten."""

    __slots__ = ("arguments", "block_dim", "device", "dim", "kernel", "saved")

    def __init__(self, kernel, dim, arguments, device, saved, block_dim):
        self.kernel, self.dim, self.arguments, self.device, self.saved = kernel, dim, arguments, device, saved
        self.block_dim = block_dim

    def __getitem__(self, index):
        """As Warp's tapes hold a launch: kernel, dim, max_blocks, inputs, outputs, device, block_dim, metadata."""
        return (self.kernel, self.dim, 0, self.arguments, (), self.device, self.block_dim, {})[index]

    def backward(self):
        kernel = self.kernel
        if not kernel._enable_backward:
            warnings.warn(
                f"kernel '{kernel.key}' was made with enable_backward=False: no gradients flow through it", stacklevel=4
            )
            return
        if not any(_has_gradient(a) for a in self.arguments):
            return
        _core.launch_adjoint(kernel, self.dim, self.arguments, self.device, self.saved)

    def arrays(self):
        for argument in self.arguments:
            yield from _arrays_of(argument)


class _CopyRecord:
    def __init__(self, dest, src):
        self.dest, self.src = dest, src

    def backward(self):
        dest, src = self.dest.grad, self.src.grad
        if dest is None:
            return
        if src is not None:
            src += dest
        dest.zero_()

    def arrays(self):
        return (self.dest, self.src)


class _FillRecord:
    """What an array held before it was filled has no gradient through it."""

    def __init__(self, filled):
        self.filled = filled

    def backward(self):
        if self.filled.grad is not None:
            self.filled.grad.zero_()

    def arrays(self):
        return (self.filled,)


class _FunctionRecord:
    def __init__(self, function, arrays):
        self.function, self.given = function, arrays

    def backward(self):
        self.function()

    def arrays(self):
        return self.given


def _arrays_of(argument):
    if isinstance(argument, array):
        yield argument
    elif hasattr(argument, "_weft_arrays"):
        yield from argument._weft_arrays()


def _has_gradient(argument):
    return any(a.grad is not None for a in _arrays_of(argument))


class Tape:
    """Records what happens inside `with tape:`; `backward()` then computes gradients.

    Gradients add up in the `grad` arrays of everything that `requires_grad`. Where a derivative needs values that are
    overwritten, by the kernel itself or later, they are saved just before; where that cannot be done, `backward` raises
    WarpGradientError.
    """

    def __init__(self):
        self.launches = []
        self.gradients = {}
        self.const_gradients = set()
        self.scopes = []
        self.loss = None

    def __enter__(self):
        if _core.get_tape() is not None:
            raise RuntimeError("another tape is recording: tapes cannot be nested")
        _core.set_tape(self)
        return self

    def __exit__(self, *exception):
        if _core.get_tape() is not self:
            raise RuntimeError("this tape is not recording")
        _core.set_tape(None)

    # ---- recording ----

    def _record_launch(self, kernel, dim, arguments, device, saved, block_dim):
        self.launches.append(_LaunchRecord(kernel, dim, arguments, device, saved, block_dim))

    def _record_copy(self, dest, src):
        self.launches.append(_CopyRecord(dest, src))

    def _record_fill(self, filled):
        if filled.grad is not None:
            self.launches.append(_FillRecord(filled))

    def record_func(self, backward, arrays):
        """Records a function that `backward` calls in its turn; `arrays` are those whose gradients it uses."""
        self.launches.append(_FunctionRecord(backward, list(arrays)))

    def record_scope_begin(self, scope_name, metadata=None):
        self.scopes.append((len(self.launches), scope_name, metadata or {}))

    def record_scope_end(self, remove_scope_if_empty=True):
        if remove_scope_if_empty and self.scopes[-1][0] == len(self.launches):
            self.scopes.pop()
        else:
            self.scopes.append((len(self.launches), None, None))

    # ---- running backwards ----

    def backward(self, loss=None, grads=None):
        """Computes gradients of `loss` (one element), or of the arrays in `grads` with the seeds given there."""
        if loss is not None:
            if loss.size > 1 or getattr(loss, "_element", None) is None:
                raise RuntimeError("the loss must have one element: give seeds in grads= for other arrays")
            if not loss.requires_grad:
                raise RuntimeError("the loss must have requires_grad=True")
            loss.grad.fill_(1)
            self.loss = loss
        seeded = []
        for target, seed in (grads or {}).items():
            if target.grad is None:
                raise RuntimeError(f"{target!r} is given a seed, but has no requires_grad=True")
            if not isinstance(seed, array):
                seed = array(seed, dtype=target.dtype, device=target.device)
            if seed.shape != target.shape:
                raise RuntimeError(f"the seed of {target!r} has shape {seed.shape}")
            target.grad._copy_from(seed)
            seeded.append(target)
        for record in self.launches:
            for a in record.arrays():
                if a.grad is not None:
                    self.gradients.setdefault(a, a.grad)
        active = _core.get_tape()
        _core.set_tape(None)
        try:
            for record in reversed(self.launches):
                record.backward()
        finally:
            _core.set_tape(active)
        for target in seeded:
            target.grad.zero_()

    def zero(self):
        """Sets all gradients to zero."""
        for record in self.launches:
            for a in record.arrays():
                if a.grad is not None:
                    a.grad.zero_()
        if self.loss is not None and self.loss.grad is not None:
            self.loss.grad.zero_()

    def reset(self):
        """Sets all gradients to zero and forgets what was recorded."""
        self.zero()
        self.launches = []
        self.scopes = []
        self.gradients = {}
        self.loss = None
