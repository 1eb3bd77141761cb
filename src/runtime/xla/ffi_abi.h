// The part of XLA's foreign function interface that a handler uses, declared from its documented C interface (version
// 0.x): JAX calls a handler with a frame that lists buffers and attributes. No header of XLA is needed to build; every
// struct begins with its size as the caller knows it, which is compared before a member is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::runtime::xla {

struct Extension {
    size_t struct_size;
    int type;
    Extension* next;
};
inline constexpr int kMetadataExtension = 1;

struct Version {
    size_t struct_size;
    Extension* extensions;
    int major;
    int minor;
};
inline constexpr int kMajorVersion = 0;

enum DataType : int32_t {
    kPred = 1,
    kS8 = 2,
    kS16 = 3,
    kS32 = 4,
    kS64 = 5,
    kU8 = 6,
    kU16 = 7,
    kU32 = 8,
    kU64 = 9,
    kF16 = 10,
    kF32 = 11,
    kF64 = 12,
    kBF16 = 16,
};

struct Buffer {
    size_t struct_size;
    Extension* extensions;
    DataType dtype;
    void* data;
    int64_t rank;
    int64_t* dims;
};
inline constexpr int kBufferKind = 1;  // of arguments and results

struct ByteSpan {
    const char* data;
    size_t size;
};

enum AttributeKind : int32_t {
    kArrayAttribute = 1,
    kDictionaryAttribute = 2,
    kScalarAttribute = 3,
    kStringAttribute = 4
};

struct Scalar {
    DataType dtype;
    void* value;
};

// Arguments and results.
struct Operands {
    size_t struct_size;
    Extension* extensions;
    int64_t size;
    int32_t* kinds;
    void** values;
};

struct Attributes {
    size_t struct_size;
    Extension* extensions;
    int64_t size;
    int32_t* kinds;
    ByteSpan** names;
    void** values;
};

enum Stage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

using Error = struct ErrorTag;
using ExecutionContext = struct ExecutionContextTag;

enum ErrorCode : int32_t { kInvalidArgument = 3, kInternal = 13 };

struct ErrorCreate {
    size_t struct_size;
    Extension* extensions;
    const char* message;
    ErrorCode code;
};

struct StreamGet {
    size_t struct_size;
    Extension* extensions;
    ExecutionContext* context;
    void* stream;
};

struct DeviceOrdinalGet {
    size_t struct_size;
    Extension* extensions;
    ExecutionContext* context;
    int32_t ordinal;
};

struct Api {
    size_t struct_size;
    Extension* extensions;
    Version version;
    const void* internal;
    Error* (*error_create)(ErrorCreate*);
    void* unused_before_stream[3];  // messages and ends of errors, registration
    Error* (*stream_get)(StreamGet*);
    void* unused_before_ordinal[12];  // types, contexts, states, memory, tasks, futures, runs
    Error* (*device_ordinal_get)(DeviceOrdinalGet*);
};

struct CallFrame {
    size_t struct_size;
    Extension* extensions;
    const Api* api;
    ExecutionContext* context;
    Stage stage;
    Operands arguments;
    Operands results;
    Attributes attributes;
};

struct Metadata {
    size_t struct_size;
    Version version;
    uint32_t traits;
};
// The handler begins the same work each time, so that XLA may record it in a graph of the device.
inline constexpr uint32_t kRecordable = 1;

struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

using Handler = Error*(CallFrame*);

}  // namespace weft::runtime::xla
