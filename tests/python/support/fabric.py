"""Stands in for Omniverse's Fabric: attributes whose elements lie in buckets of NumPy memory."""

import numpy as np

_CODES = {"float32": "f4", "float64": "f8", "int32": "i4", "uint8": "u1", "bool": "b"}


def interface(data, counts, role="", arrays=False):
    """The interface dictionary of attribute "a": the rows of `data` in buckets of `counts` elements.

    With `arrays`, `data` is a list of arrays, one an element.
    """
    pointers, lengths, keep, start = [], [], [], 0
    for count in counts:
        rows = data[start : start + count]
        start += count
        if arrays:
            rows = [np.ascontiguousarray(row) for row in rows]
            addresses = np.array([row.ctypes.data for row in rows], dtype=np.uint64)
            sizes = np.array([len(row) for row in rows], dtype=np.uint64)
            keep += [rows, addresses, sizes]
            pointers.append(addresses.ctypes.data)
            lengths.append(sizes.ctypes.data)
        else:
            bucket = np.array(rows)
            keep.append(bucket)
            pointers.append(bucket.ctypes.data)
    first = np.asarray(data[0])
    parts = 1 if arrays or first.ndim == 0 else int(np.prod(first.shape))
    info = {"type": (True, _CODES[first.dtype.name], parts, int(arrays), role), "access": 2, "counts": list(counts)}
    info["pointers"] = pointers
    if arrays:
        info["array_lengths"] = lengths
    return {"version": 1, "device": "cpu", "attribs": {"a": info}, "keep": keep}
