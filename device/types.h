// Types of the device library, which has no headers to take them from: freestanding C++17 for every target.
// A function called by kernels is `extern "C"`, takes scalars (halves as their 16 bits), an array as data pointer,
// shape and strides in bytes, aggregates part by part, and returns a scalar; any other result goes to an address that
// comes first.
#pragma once

using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;

// What a function of a device has before it, where compilers tell such functions from others.
#ifndef WEFT_DEVICE
#define WEFT_DEVICE
#endif
