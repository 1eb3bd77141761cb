"""Memory beside memory: for storages that matter to a derivative, another one that holds tangents or gradients.

Shadows belong to storages, so that arrays which share memory share their shadow, whatever they are seen as.
"""

from warp import _core
from warp.array_makers import convert_argument
from warp.arrays import array
from warp.errors import WarpGradientError
from warp.launches import zero_of
from warp.structs import snapshot

_BYTE = _core.Type.scalar("u8")


class _Entry:
    def __init__(self, a):
        self.kept = a  # keeps the storage, so that its number stays its own
        self.begin = (a._pointer or 0) - a._offset
        self.bytes = a.capacity
        self._shadow = None
        self._device = a.device

    @property
    def shadow(self):
        if self._shadow is None:
            self._shadow = _core.Array(_BYTE, (self.bytes,), self._device, True)
        return self._shadow

    def covers(self, begin, end):
        return self.begin <= begin and end <= self.begin + self.bytes

    def overlaps(self, begin, end):
        return self.begin < end and begin < self.begin + self.bytes


class Shadows:
    """The shadows of storages; zero until written."""

    def __init__(self):
        self._entries = {}

    def _entry(self, a):
        found = self._entries.get(a._storage)
        if found is None and self._entries:
            begin = (a._pointer or 0) - a._offset
            end = begin + a.capacity
            for entry in self._entries.values():
                # Memory of others may be seen through several storages.
                if (a._exported or entry.kept._exported) and entry.overlaps(begin, end):
                    if not entry.covers(begin, end):
                        raise WarpGradientError(f"{a!r} overlaps other memory whose derivative is wanted")
                    return entry
        return found

    def __contains__(self, a):
        return self._entry(a) is not None

    def __len__(self):
        return len(self._entries)

    def add(self, a):
        """From now on the storage of the array has a shadow."""
        if a not in self:
            self._entries[a._storage] = _Entry(a)

    def like(self):
        """Other shadows of the same storages, all zero."""
        made = Shadows()
        for entry in self._entries.values():
            made.add(entry.kept)
        return made

    def of(self, a):
        """The shadow of an array, seen as the array sees its memory; None: there is none."""
        if a is None or not a._element.is_differentiable:
            return None
        entry = self._entry(a)
        if entry is None:
            return None
        if a._element.contains_array:
            raise WarpGradientError(f"{a!r} holds arrays inside its elements: their derivatives are not kept")
        made = array.__new__(array)
        offset = (a._pointer or 0) - entry.begin
        _core.Array.__init__(made, entry.shadow, a._element, offset, a._shape, a._strides)
        made.dtype = a.dtype
        return made


def arrays_of(argument):
    """The arrays that an argument of a launch holds."""
    if isinstance(argument, _core.Array):
        return [argument]
    return [a for a in argument._weft_arrays() if a is not None] if hasattr(argument, "_weft_arrays") else []


def converted(kernel, arguments):
    """The arguments of a launch as they are now, arrays of other libraries as ours; the types of the parameters; those
    that tell a generic kernel's instance."""
    given = [_core.type_of_argument(a) for a in arguments] if kernel.is_generic else []
    types = [type or given[i] for i, (_, type, _) in enumerate(kernel._signature())]
    made = []
    for argument, type in zip(arguments, types, strict=True):
        plain = type.kind == "array" and argument is not None and not isinstance(argument, _core.Array)
        made.append(convert_argument(argument, type.target, type.ndim) if plain else snapshot(argument))
    return made, types, given


def spread(shadows, kernel, given, arguments):
    """After a launch was given: storages that it computes from ones with shadows have shadows too. Whether any has."""
    access = kernel._access(given)
    found = False
    for argument, (read, _) in zip(arguments, access, strict=True):
        found = found or (read and any(a in shadows for a in arrays_of(argument)))
    for argument, (_, written) in zip(arguments, access, strict=True):
        for a in arrays_of(argument) if found and written else ():
            if a._element.is_differentiable:
                shadows.add(a)
    return any(a in shadows for argument in arguments for a in arrays_of(argument))


def shadow_argument(shadows, argument, type):
    """What goes with an argument of this type: the shadows of its arrays, zero for everything else."""
    if isinstance(argument, _core.Array):
        return shadows.of(argument)
    if hasattr(argument, "_gradient"):
        return argument._gradient(shadows.of)
    return zero_of(type)
