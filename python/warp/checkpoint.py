"""`wp.checkpoint`: long rollouts on a tape within a budget of memory.

States are kept at some steps only and the others computed again, by the binomial schedule of Griewank and Walther
(Algorithm 799: revolve, ACM Transactions on Mathematical Software 26, 2000), which repeats the fewest steps.
"""

import math

from warp import _core
from warp.array_data import numpy_values
from warp.array_views import HOOKS
from warp.arrays import array
from warp.errors import WarpGradientError
from warp.tape import Tape


def reach(slots, repeats):
    """How many steps can be reversed with so many states kept, the first included, if none is repeated more often."""
    return math.comb(slots + repeats, slots)


def split(steps, slots):
    """How many steps to go before the next state is kept, so that the fewest are repeated altogether."""
    repeats = 0
    while reach(slots, repeats) < steps:
        repeats += 1
    # The part in front is reversed later with all slots and one repeat less, the rest now with one slot less.
    least_rest = reach(slots - 1, repeats - 1)
    most_front = reach(slots, repeats - 1)
    return min(most_front, steps - least_rest)


class _Rollout:
    """The steps that one call of checkpoint() has put on a tape."""

    def __init__(self, step, state, count, budget):
        self.step, self.state, self.count = step, state, count
        self.arrays = list(state)  # and what else the steps take the gradient of
        self.slots = self._slots(budget)
        self.kept = {}  # step -> the state in front of it
        self._forward(0, count)

    def _slots(self, budget):
        """How many states fit beside what one step's tape keeps and the final state, which backward puts back."""
        size = sum(a.size * a._element.size for a in self.state)
        if not self.count:
            return 1
        start = self._copy()
        before = _core.bytes_held()
        _core.reset_peak_bytes()
        tape = self._record(0)
        # While its adjoint runs, a launch copies once more what it overwrites.
        one_step = 2 * (_core.peak_bytes() - before)
        written = {a._storage for record in tape.launches for a in record.written()}
        for record in tape.launches:
            for a in record.arrays():
                if a.grad is not None and a._storage not in written and a not in self.arrays:
                    self.arrays.append(a)
        del tape
        self._restore(start)
        if budget is None:
            return self.count
        slots = (budget - one_step) // size - 1 if size else self.count
        if slots < 1:
            raise ValueError(
                f"a budget of {budget} bytes is too small: the state has {size} bytes, of which two must be kept, and "
                f"the tape of one step {one_step}: {2 * size + one_step} are needed"
            )
        return min(slots, self.count)

    # ---- steps ----

    def _run(self, i):
        _run(self.step, i, self.state)

    def _record(self, i):
        tape = Tape()
        with tape:
            self._run(i)
        return tape

    def _copy(self):
        copies = []
        for a in self.state:
            made = _core.Array(a._element, a.shape, a.device, False)
            made._copy_from(a)
            copies.append(made)
        return copies

    def _restore(self, copies):
        for a, kept in zip(self.state, copies, strict=True):
            a._copy_from(kept)

    def _forward(self, begin, end):
        """Runs the steps, keeping the states that the reverse of them will begin with."""
        slots = self.slots - len(self.kept)
        next_kept = begin
        for i in range(begin, end):
            if i == next_kept:
                self.kept[i] = self._copy()
                if slots > 1 and end - i > 1:
                    next_kept = i + split(end - i, slots)
                slots -= 1
            self._run(i)

    # ---- backwards ----

    def backward(self):
        aside = [a._take_watches() for a in self.state]  # all that is written will be as it was
        final = self._copy()
        repeating, HOOKS["steps_repeat"] = HOOKS["steps_repeat"], True
        try:
            if self.kept.keys() == {0}:
                self._restore(self.kept[0])
                self.kept = {}
                self._forward(0, self.count)
            end = self.count
            for begin in sorted(self.kept, reverse=True):
                self._reverse(begin, end, final)
                end = begin
                if begin:
                    del self.kept[begin]
        finally:
            HOOKS["steps_repeat"] = repeating
            self._restore(final)
            for watches in aside:
                watches.put_back()

    def _reverse(self, begin, end, final):
        """Reverses the steps from `begin`, whose state is kept, to `end`."""
        while end - begin > 1:
            free = self.slots - len(self.kept)
            self._restore(self.kept[begin])
            if free < 1:
                for i in range(begin, end - 1):
                    self._run(i)
                self._adjoint(end - 1, final)
                end -= 1
                continue
            middle = begin + split(end - begin, free + 1)
            for i in range(begin, middle):
                self._run(i)
            self.kept[middle] = self._copy()
            self._reverse(middle, end, final)
            del self.kept[middle]
            end = middle
        if end - begin == 1:
            self._restore(self.kept[begin])
            self._adjoint(begin, final)

    def _adjoint(self, i, final):
        """The adjoint of one step, from the state in front of it; gradients of the state become those in front."""
        tape = self._record(i)
        if i == self.count - 1:
            self._compare(final)
        tape.backward()
        mine = {a._storage for a in self.state}
        for record in tape.launches:
            for a in record.written():
                if a.grad is None or a._storage in mine:
                    continue
                if numpy_values(a.grad).any():
                    raise WarpGradientError(
                        f"step {i} of wp.checkpoint() reads what an earlier step has written to {a!r}: it belongs to "
                        "the state"
                    )

    def _compare(self, final):
        """A step that depends on more than its state gives something else when it is repeated."""
        for a, wanted in zip(self.state, final, strict=True):
            if a._content_hash() == wanted._content_hash():
                continue
            import numpy as np

            found = numpy_values(a)
            if found.dtype.names is None and found.dtype.kind == "f":
                kept = array.__new__(array)
                _core.Array.__init__(kept, wanted, wanted._element, 0, wanted._shape, wanted._strides)
                kept.dtype = a.dtype
                # Sums of several threads differ by rounding.
                if np.allclose(found, numpy_values(kept), rtol=1e-2, atol=1e-5 * float(np.abs(found).max(initial=0.0))):
                    continue
            raise WarpGradientError(
                f"the steps of wp.checkpoint() give another {a!r} when they are repeated: they depend on more than "
                "the state"
            )


def _run(step, i, state):
    """One step; the arrays of the state take over what it returns."""
    results = step(i, *state)
    if results is None:
        return
    results = [results] if isinstance(results, array) else list(results)
    if len(results) != len(state):
        raise ValueError(f"a step returns None or the next state: {len(state)} arrays, found {len(results)}")
    for a, result in zip(state, results, strict=True):
        if result is not a:
            a.assign(result)


class _RolloutRecord:
    def __init__(self, rollout):
        self.rollout = rollout

    def backward(self):
        self.rollout.backward()

    def arrays(self):
        return self.rollout.arrays

    def written(self):
        return self.rollout.state


def checkpoint(step, state, count, budget=None):
    """Runs `step(i, *state)` for i from 0 to count - 1; on a tape, so that its backward pass keeps to a budget.

    `state` is a list of arrays with `requires_grad` (those of floats) that a step changes in place, or of which it
    returns the next ones. A step must depend on nothing else that steps change. `budget` is the bytes that may be kept:
    for copies of the state and for the tape of one step; None keeps every state.

    Backward, steps are run again from the states that were kept, at most a few times each (200 steps with 10 states: 3
    times). Gradients are added to those of the state's arrays as they were before the first step, and to all
    other arrays that require them, as without checkpoints: to the last bit, where kernels give the same bits when
    repeated.

    Raises ValueError where the budget is too small, and tells what is needed; WarpGradientError, by `Tape.backward()`,
    where steps turn out to depend on more than the state.
    """
    state = [state] if isinstance(state, array) else list(state)
    for i, a in enumerate(state):
        if not isinstance(a, array):
            raise TypeError(f"the state is a list of arrays, found {type(a).__name__} at {i}")
        if a._element.is_differentiable and a.grad is None:
            raise ValueError(f"array {i} of the state, {a!r}, needs requires_grad=True")
    tape = _core.get_tape()
    if tape is None:
        for i in range(count):
            _run(step, i, state)
        return
    if not isinstance(tape, Tape):
        raise WarpGradientError("wp.checkpoint() works on a wp.Tape, not inside wp.vjp()")
    _core.set_tape(None)
    try:
        rollout = _Rollout(step, state, count, budget)
    finally:
        _core.set_tape(tape)
    tape.launches.append(_RolloutRecord(rollout))
