"""`wp.Tape`: records launches, copies and fills, and runs their adjoints in reverse order.

Not here: what is saved of a launch (src/runtime/launch_record.h), derivatives of functions (transforms.py), pictures of
tapes (tape_graph.py).
"""

import warnings

from warp import _core, config
from warp.array_makers import zeros
from warp.arrays import array
from warp.loggers import log_warning
from warp.structs import snapshot, struct_base
from warp.tape_graph import graph_of

# Until then, backward() left the gradients of what launches had computed in place, as if all arrays had retain_grad.
_CLEARS_SINCE = (1, 5)


class _LaunchRecord:
    """A recorded launch. `saved` keeps the values that its derivative needs when they are overwritten."""

    __slots__ = ("_arrays", "arguments", "block_dim", "device", "dim", "given", "kernel", "metadata", "saved")

    def __init__(self, kernel, dim, arguments, device, saved, block_dim):
        self.kernel, self.dim, self.device, self.saved, self.block_dim = kernel, dim, device, saved, block_dim
        self.given = arguments
        self.metadata = {}
        # Structs may get other arrays later.
        self.arguments = tuple(map(snapshot, arguments)) if saved.has_members else arguments
        self._arrays = None

    def __getitem__(self, index):
        """As Warp's tapes hold a launch: kernel, dim, max_blocks, inputs, outputs, device, block_dim, metadata."""
        return (self.kernel, self.dim, 0, self.arguments, (), self.device, self.block_dim, self.metadata)[index]

    def backward(self):
        kernel = self.kernel
        if not kernel._enable_backward:
            warnings.warn(
                f"kernel '{kernel.key}' was made with enable_backward=False: no gradients flow through it", stacklevel=4
            )
            return
        if all(a.grad is None for a in self.arrays()):
            return
        _core.launch_adjoint(kernel, self.dim, self.arguments, self.device, self.saved)

    def arrays(self):
        if self._arrays is None:
            self._arrays = [a for argument in self.arguments for a in _arrays_of(argument)]
        return self._arrays

    def structs(self):
        return [a for a in self.given if isinstance(a, struct_base)]

    def written(self):
        kernel = self.kernel
        types = [_core.type_of_argument(a) for a in self.arguments] if kernel.is_generic else []
        for argument, (_, written) in zip(self.arguments, kernel._access(types), strict=True):
            if written:
                yield from _arrays_of(argument)


class _CopyRecord:
    def __init__(self, dest, src):
        self.dest, self.src = dest, src

    def backward(self):
        dest, src = self.dest.grad, self.src.grad
        if dest is None:
            return
        taken = dest
        if src is not None and src._storage == dest._storage:  # what both share is cleared, then added to
            taken = zeros(dest.shape, dtype=dest.dtype, device=dest.device)
            taken._copy_from(dest)
            dest._zero()
        if src is not None:
            src += taken if src.device is taken.device else taken.to(src.device)
        if taken is dest:
            dest._zero()

    def arrays(self):
        return (self.dest, self.src)

    def written(self):
        return (self.dest,)


class _FillRecord:
    """What an array held before it was filled has no gradient through it."""

    def __init__(self, filled):
        self.filled = filled

    def backward(self):
        if self.filled.grad is not None:
            self.filled.grad._zero()

    def arrays(self):
        return (self.filled,)

    written = arrays


class _FunctionRecord:
    def __init__(self, function, arrays):
        self.function, self.given = function, arrays

    def backward(self):
        self.function()

    def arrays(self):
        return self.given

    def written(self):
        return ()


def _arrays_of(argument):
    if isinstance(argument, array):
        return (argument,)
    if hasattr(argument, "_weft_arrays"):
        return [a for a in argument._weft_arrays() if isinstance(a, array)]
    return ()


class _Retained:
    """The gradients of arrays with `retain_grad`: what flows on is used up, a copy is put back at the end.

    So an array that is written several times keeps the gradient of what it held last; what it held before gets none.
    """

    def __init__(self):
        self.kept = {}

    def forget_unchanged(self):
        """What an earlier run has put back is no seed."""
        for a, kept in self.kept.values():
            if a.grad is not None and a.grad._content_hash() == kept._content_hash():
                a.grad._zero()
        self.kept = {}

    def before(self, record, everything):
        """Copies what the adjoint of a record is about to use up, unless later writes were seen before."""
        for a in record.written():
            if a.grad is None or not (everything or a._retain_grad) or id(a) in self.kept:
                continue
            kept = zeros(a.shape, dtype=a.dtype, device=a.device)
            kept._copy_from(a.grad)
            self.kept[id(a)] = a, kept

    def put_back(self):
        for a, kept in self.kept.values():
            a.grad._copy_from(kept)


class Tape:
    """Records what happens inside `with tape:`; `backward()` then computes gradients.

    Gradients add up in the `grad` arrays of everything that `requires_grad`. Where a derivative needs values that are
    overwritten, by the kernel itself or later, they are saved just before; where that cannot be done, `backward` raises
    WarpGradientError. A tape may be entered several times: it goes on where it ended.
    """

    def __init__(self):
        self.launches = []
        self.gradients = {}
        self.const_gradients = set()
        self.scopes = []
        self.loss = None
        self._open_scopes = []
        self._retained = _Retained()

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
        if config.verify_autograd_array_access:
            _check_copy(dest, src)
        self.launches.append(_CopyRecord(dest, src))

    def _record_fill(self, filled):
        if filled.grad is not None:
            self.launches.append(_FillRecord(filled))

    def record_func(self, backward, arrays):
        """Records a function that `backward` calls in its turn; `arrays` are those whose gradients it uses."""
        self.launches.append(_FunctionRecord(backward, list(arrays)))

    def record_scope_begin(self, scope_name, metadata=None):
        """Begins a part of the tape that has a name, for visualize()."""
        self._open_scopes.append(len(self.scopes))
        self.scopes.append((len(self.launches), scope_name, metadata or {}))

    def record_scope_end(self, remove_scope_if_empty=True):
        if not self._open_scopes:
            raise RuntimeError("ended tape scope, but scope not present: record_scope_begin() comes first")
        begin = self._open_scopes.pop()
        if remove_scope_if_empty and self.scopes[begin][0] == len(self.launches):
            del self.scopes[begin:]
        else:
            self.scopes.append((len(self.launches), None, None))

    # ---- running backwards ----

    def backward(self, loss=None, grads=None):
        """Computes gradients of `loss` (one element), or of the arrays in `grads` with the seeds given there.

        What a launch, a copy or a fill has written uses its gradient up, but for arrays with `retain_grad`. With
        `warp.config.api_version` below 1.5 all gradients stay.
        """
        if loss is not None:
            if loss.size > 1 or getattr(loss, "_element", None) is None:
                raise RuntimeError("the loss must have one element: give seeds in grads= for other arrays")
            if not loss.requires_grad:
                raise RuntimeError("the loss must have requires_grad=True")
        seeds = {target: _seed_of(target, seed) for target, seed in (grads or {}).items()}
        self._retained.forget_unchanged()
        if loss is not None:
            loss.grad.fill_(1)
            self.loss = loss
        lent = [target for target in seeds if target.grad is None]
        try:
            for target, seed in seeds.items():
                if target.grad is None:
                    target._grad = array(shape=target.shape, dtype=target.dtype, device=target.device)
                target.grad._copy_from(seed)
            arrays = self._arrays()
            self._note_gradients(arrays)
            self._run_backwards(any(a._retain_grad for a in arrays))
        finally:
            for target in lent:
                target._grad = None

    def _arrays(self):
        """Those of all records, each once: a step of an optimiser has most of them in several launches."""
        return {a: None for record in self.launches for a in record.arrays()}

    def _note_gradients(self, arrays):
        for a in arrays:
            if a.grad is not None:
                self.gradients.setdefault(a, a.grad)
        for record in self.launches:
            if isinstance(record, _LaunchRecord) and record.arguments is not record.given:
                for s in record.structs():
                    self.gradients.setdefault(s, s._gradient())

    def _run_backwards(self, some_are_retained):
        everything = _version(config.api_version) < _CLEARS_SINCE
        active = _core.get_tape()
        if hasattr(active, "_records_all"):
            active.refuse_pullback()
        _core.set_tape(None)
        try:
            for record in reversed(self.launches):
                if everything or some_are_retained:
                    self._retained.before(record, everything)
                record.backward()
                if config.verify_autograd_array_access:
                    _mark_unread(record)
        finally:
            self._retained.put_back()
            _core.set_tape(active)

    def get_adjoint(self, a):
        """The gradient of an array, or of the arrays in a struct; None where there is none."""
        if isinstance(a, array):
            return a.grad
        return a._gradient() if hasattr(a, "_gradient") else None

    def zero(self):
        """Sets all gradients to zero."""
        for a in self._arrays():
            if a.grad is not None:
                a.grad._zero()
        if self.loss is not None and self.loss.grad is not None:
            self.loss.grad._zero()

    def reset(self):
        """Sets all gradients to zero and forgets what was recorded."""
        self.zero()
        if config.verify_autograd_array_access:
            for record in self.launches:
                _mark_unread(record)
        gradients = self.gradients
        self.__init__()
        self.gradients = gradients

    def visualize(self, filename=None, simplify_graph=True, hide_readonly_arrays=False, array_labels=None, **options):
        """The tape as a picture in the language of GraphViz, written to `filename` if that is given.

        `simplify_graph` draws launches that repeat once. `array_labels` gives arrays names.
        """
        text = graph_of(self, simplify_graph, hide_readonly_arrays, array_labels or {}, **options)
        if filename is not None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _seed_of(target, seed):
    if not isinstance(seed, array):
        seed = array(seed, dtype=target.dtype, device=target.device)
    if seed.shape != target.shape:
        raise RuntimeError(f"the seed of {target!r} has shape {seed.shape}")
    return seed


def _version(text):
    return tuple(int(part) for part in str(text).split(".")[:2])


def _check_copy(dest, src):
    if dest._is_read:
        log_warning(
            f"Array {dest!r} is being written to by an array copy at {_core.user_place()} but has already been read "
            "from in a previous launch. This may corrupt gradient computation in the backward pass."
        )
    src.mark_read()
    dest.mark_write()


def _mark_unread(record):
    for a in record.arrays():
        a.mark_init()
