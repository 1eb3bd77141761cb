"""Stands in for Omniverse's Fabric: attributes whose elements lie in buckets of the default device's memory."""

import numpy as np

import warp as wp

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
            rows = [wp.array(np.ascontiguousarray(row)) for row in rows]
            addresses = wp.array([row.ptr or 0 for row in rows], dtype=wp.uint64)
            sizes = wp.array([len(row) for row in rows], dtype=wp.uint64)
            keep += [rows, addresses, sizes]
            pointers.append(addresses.ptr)
            lengths.append(sizes.ptr)
        else:
            bucket = wp.array(np.array(rows))
            keep.append(bucket)
            pointers.append(bucket.ptr or 0)
    first = np.asarray(data[0])
    parts = 1 if arrays or first.ndim == 0 else int(np.prod(first.shape))
    info = {"type": (True, _CODES[first.dtype.name], parts, int(arrays), role), "access": 2, "counts": list(counts)}
    info["pointers"] = pointers
    if arrays:
        info["array_lengths"] = lengths
    return {"version": 1, "device": str(wp.get_device()), "attribs": {"a": info}, "keep": keep}
