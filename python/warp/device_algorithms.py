"""Prefix sums and sorts by kernels, for devices whose memory the host does not reach; they can be captured.

Prefix sums go by levels: chunks are summed, their sums scanned, and the chunks run through again (Blelloch, Prefix Sums
and Their Applications, 1990). Sorts go by digits of the keys from the lowest on, each pass stable (radix sort).
"""

import typing

import warp as wp
from warp import _core
from warp.array_makers import copy, empty, zeros

_CHUNK = 16  # elements that a thread of a prefix sum takes
_SORT_CHUNK = 32  # elements that a thread of a sort takes
_DIGIT = 4  # bits of a pass
_OPTIONS = {"enable_backward": False}


@wp.kernel(**_OPTIONS)
def _sum_chunks(x: wp.array(dtype=typing.Any), n: int, sums: wp.array(dtype=typing.Any)):
    t = wp.tid()
    first = t * 16
    total = x[first]
    for i in range(first + 1, wp.min(first + 16, n)):
        total += x[i]
    sums[t] = total


@wp.kernel(**_OPTIONS)
def _scan_chunks(
    x: wp.array(dtype=typing.Any),
    n: int,
    before: wp.array(dtype=typing.Any),
    inclusive: bool,
    out: wp.array(dtype=typing.Any),
):
    t = wp.tid()
    total = before[t]
    for i in range(t * 16, wp.min(t * 16 + 16, n)):
        value = x[i]
        if inclusive:
            out[i] = total + value
        else:
            out[i] = total
        total += value


def readable_beside(source, written):
    """The array, or a copy where what is written meanwhile lies in its memory."""
    if not _core.overlap(source, written):
        return source
    kept = empty(source.shape, dtype=source.dtype, device=source.device)
    kept._copy_from(source)
    return kept


def scan(source, out, inclusive):
    """Prefix sums of a one-dimensional array, which may be `out` itself."""
    n = source.size
    if n == 0:
        return
    if source.ptr != out.ptr or source.strides != out.strides:  # else each element is read before it is written
        source = readable_beside(source, out)
    chunks = (n + _CHUNK - 1) // _CHUNK
    before = zeros(chunks, dtype=source.dtype, device=source.device)
    if chunks > 1:
        _launch(_sum_chunks, chunks, source, n, before)
        scan(before, before, False)
    _launch(_scan_chunks, chunks, source, n, before, inclusive, out)


# ---- sorts ----


@wp.func
def _bits(key: wp.uint32):
    return wp.uint64(key)


@wp.func
def _bits(key: wp.uint64):
    return key


@wp.func
def _bits(key: wp.int32):
    return wp.uint64(wp.uint32(key) ^ wp.uint32(0x80000000))


@wp.func
def _bits(key: wp.int64):
    return wp.uint64(key) ^ wp.uint64(0x8000000000000000)


# Floats in the order of their values: of negative ones all bits are turned, of others the sign.
@wp.func
def _bits(key: wp.float32):
    bits = wp.cast(key, wp.uint32)
    if (bits >> wp.uint32(31)) != wp.uint32(0):
        return wp.uint64(~bits)
    return wp.uint64(bits ^ wp.uint32(0x80000000))


@wp.func
def _bits(key: wp.float64):
    bits = wp.cast(key, wp.uint64)
    if (bits >> wp.uint64(63)) != wp.uint64(0):
        return ~bits
    return bits ^ wp.uint64(0x8000000000000000)


@wp.func
def _digit(key: typing.Any, shift: int, mask: int):
    return int(_bits(key) >> wp.uint64(shift)) & mask


@wp.kernel(**_OPTIONS)
def _count_digits(keys: wp.array(dtype=typing.Any), n: int, shift: int, mask: int, counts: wp.array2d(dtype=int)):
    t = wp.tid()
    found = wp.zeros(16, dtype=int)
    for i in range(t * 32, wp.min(t * 32 + 32, n)):
        d = _digit(keys[i], shift, mask)
        found[d] = found[d] + 1
    for d in range(16):
        counts[d, t] = found[d]


@wp.kernel(**_OPTIONS)
def _place_by_digit(
    keys: wp.array(dtype=typing.Any),
    values: wp.array(dtype=typing.Any),
    n: int,
    shift: int,
    mask: int,
    starts: wp.array2d(dtype=int),
    out_keys: wp.array(dtype=typing.Any),
    out_values: wp.array(dtype=typing.Any),
):
    t = wp.tid()
    places = wp.zeros(16, dtype=int)
    for d in range(16):
        places[d] = starts[d, t]
    for i in range(t * 32, wp.min(t * 32 + 32, n)):
        d = _digit(keys[i], shift, mask)
        place = places[d]
        places[d] = place + 1
        out_keys[place] = keys[i]
        out_values[place] = values[i]


def sort_pairs(keys, values, count, begin_bit, end_bit):
    """Sorts the first `count` keys, and values along with them; the second half of both arrays is used meanwhile."""
    threads = (count + _SORT_CHUNK - 1) // _SORT_CHUNK
    counts = empty((16, threads), dtype=wp.int32, device=keys.device)
    flat = counts.reshape(16 * threads)
    here = keys[:count], values[:count]
    there = keys[count : 2 * count], values[count : 2 * count]
    original = here
    for shift in range(begin_bit, end_bit, _DIGIT):
        mask = (1 << min(_DIGIT, end_bit - shift)) - 1
        _launch(_count_digits, threads, here[0], count, shift, mask, counts)
        scan(flat, flat, False)
        _launch(_place_by_digit, threads, *here, count, shift, mask, counts, *there)
        here, there = there, here
    if here is not original:
        for a, sorted_half in zip(original, here, strict=True):
            copy(a, sorted_half)


@wp.kernel(**_OPTIONS)
def _sort_segments(
    keys: wp.array(dtype=typing.Any),
    values: wp.array(dtype=typing.Any),
    count: int,
    starts: wp.array(dtype=int),
    ends: wp.array(dtype=int),
):
    t = wp.tid()
    begin = starts[t]
    end = ends[t]
    if begin < 0 or end > count or begin >= end:
        return
    # Runs of growing length are merged, from one half of the arrays to the other and back.
    source = wp.int32(0)
    target = count
    width = wp.int32(1)
    while width < end - begin:
        low = begin
        while low < end:
            middle = wp.min(low + width, end)
            high = wp.min(low + 2 * width, end)
            i = low
            j = middle
            for k in range(low, high):
                left = i < middle
                if left and j < high:
                    left = not (keys[source + j] < keys[source + i])
                place = source + j
                if left:
                    place = source + i
                    i += 1
                else:
                    j += 1
                keys[target + k] = keys[place]
                values[target + k] = values[place]
            low = high
        swap = source
        source = target
        target = swap
        width *= 2
    if source != 0:
        for k in range(begin, end):
            keys[k] = keys[count + k]
            values[k] = values[count + k]


def sort_segments(keys, values, count, starts, ends):
    """Sorts pairs inside segments, a thread for each; what is no range of the first `count` elements is left alone."""
    if starts.size:
        _launch(_sort_segments, starts.size, keys, values, count, starts, ends)


def _launch(kernel, dim, *arguments):
    wp.launch(kernel, dim, inputs=list(arguments), device=arguments[0].device, record_tape=False)
