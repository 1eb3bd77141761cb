"""A stand-in for PyTorch where it is not installed: of its tensors what `wp.from_torch` asks for, over NumPy.

As there, a tensor and its views share memory and a version, which every write by a method of tensors raises; `.data` is
the same memory with a version of its own; `numpy()` writes unseen.
"""

import types

import numpy as np


class device:
    index = None

    def __init__(self, type):
        self.type = type


class _Storage:
    """Memory: NumPy's, or that of an array on any device."""

    def __init__(self, owner, pointer, nbytes):
        self.owner, self.pointer, self.size = owner, pointer, nbytes
        self._cdata = id(self)

    def data_ptr(self):
        return self.pointer

    def nbytes(self):
        return self.size


class Tensor:
    is_leaf = True

    def __init__(self, storage, values, pointer, version, place):
        self._storage, self._values, self._pointer, self._versions = storage, values, pointer, version
        self.device = place
        self.dtype = f"torch.{values.dtype}"
        self.shape, self.ndim = values.shape, values.ndim
        self.requires_grad, self.grad = False, None

    @classmethod
    def over(cls, array, place):
        """A tensor over the memory of an array of a device, which nobody else writes."""
        empty = np.empty(array.shape, np.float32)
        pointer = array._pointer
        return cls(_Storage(array, pointer, empty.nbytes), empty, pointer, [0], place)

    @property
    def _version(self):
        return self._versions[0]

    @property
    def data(self):
        return Tensor(self._storage, self._values, self._pointer, [0], self.device)

    def untyped_storage(self):
        return self._storage

    def data_ptr(self):
        return self._pointer

    def stride(self):
        return tuple(s // self._values.itemsize for s in self._values.strides)

    def numpy(self):
        return self._values

    def tolist(self):
        return self._values.tolist()

    def __getitem__(self, key):
        part = self._values[key]
        offset = part.__array_interface__["data"][0] - self._values.__array_interface__["data"][0]
        return Tensor(self._storage, part, self._pointer + offset, self._versions, self.device)

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def fill_(self, value):
        self._versions[0] += 1
        self._values[...] = value
        return self


def tensor(values, dtype="float32"):
    made = np.array(values, dtype=dtype)
    pointer = made.__array_interface__["data"][0]
    return Tensor(_Storage(made, pointer, made.nbytes), made, pointer, [0], device("cpu"))


def module():
    """What `import torch` gives."""
    made = types.ModuleType("torch")
    made.device, made.Tensor, made.tensor = device, Tensor, tensor
    made.zeros_like = lambda t: tensor(np.zeros(t.shape), t._values.dtype)
    return made
