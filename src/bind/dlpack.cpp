// DLPack capsules: arrays handed to other libraries and taken from them without a copy. The layout of the structures is
// that of the DLPack specification, versions 0.8 (DLManagedTensor) and 1.0 (DLManagedTensorVersioned).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bind/exports.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

struct Tensor {
    void* data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides;  // in elements; null: contiguous
    uint64_t byte_offset;
};

struct Managed {
    static constexpr const char* kName = "dltensor";
    static constexpr const char* kUsed = "used_dltensor";
    Tensor tensor;
    void* context;
    void (*deleter)(Managed*);
};

struct Versioned {
    static constexpr const char* kName = "dltensor_versioned";
    static constexpr const char* kUsed = "used_dltensor_versioned";
    uint32_t major;
    uint32_t minor;
    void* context;
    void (*deleter)(Versioned*);
    uint64_t flags;
    Tensor tensor;
};

// One of ours, with what it points to.
template <typename T>
struct Exported : T {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    PyObject* owner = nullptr;

    static void destroy(T* self) {
        auto* exported = static_cast<Exported*>(self);
        if (Py_IsInitialized() != 0) {
            const nb::gil_scoped_acquire gil;
            Py_DECREF(exported->owner);
        }
        delete exported;
    }
};

// A capsule that nobody took frees what it holds.
template <typename T>
void drop_capsule(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, T::kName) == 0) return;
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, T::kName));
    if (managed->deleter != nullptr) managed->deleter(managed);
}

template <typename T>
nb::object export_tensor(const Tensor& tensor, std::vector<int64_t> shape, std::vector<int64_t> strides,
                         nb::handle owner) {
    auto made = std::make_unique<Exported<T>>();
    made->tensor = tensor;
    made->shape = std::move(shape);
    made->strides = std::move(strides);
    made->tensor.ndim = static_cast<int32_t>(made->shape.size());
    made->tensor.shape = made->shape.data();
    made->tensor.strides = made->strides.data();
    made->context = nullptr;
    made->deleter = Exported<T>::destroy;
    if constexpr (std::is_same_v<T, Versioned>) {
        made->major = 1;
        made->minor = 0;
        made->flags = 0;
    }
    nb::object capsule = nb::steal(PyCapsule_New(static_cast<T*>(made.get()), T::kName, drop_capsule<T>));
    if (!capsule.is_valid()) throw nb::python_error();
    made->owner = nb::borrow(owner).release().ptr();
    made.release();
    return capsule;
}

// Takes a capsule over: (address, shape, strides in elements or None, code, bits, device's type and number, holder).
// The memory lives as long as the holder.
template <typename T>
nb::object import_tensor(nb::handle capsule) {
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), T::kName));
    const Tensor& tensor = managed->tensor;
    if (tensor.lanes != 1) throw UserError(ErrorKind::Type, "DLPack tensors of packed elements are not supported");
    const auto list = [&](const int64_t* numbers) {
        nb::list out;
        for (int32_t i = 0; i < tensor.ndim; ++i) out.append(numbers[i]);
        return out;
    };
    const nb::object holder = nb::steal(PyCapsule_New(managed, T::kUsed, [](PyObject* self) {
        auto* held = static_cast<T*>(PyCapsule_GetPointer(self, T::kUsed));
        if (held->deleter != nullptr) held->deleter(held);
    }));
    if (!holder.is_valid() || PyCapsule_SetName(capsule.ptr(), T::kUsed) != 0) throw nb::python_error();
    PyCapsule_SetDestructor(capsule.ptr(), nullptr);
    const nb::object strides = tensor.strides != nullptr ? nb::object(list(tensor.strides)) : nb::none();
    return nb::make_tuple(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset, list(tensor.shape), strides,
                          static_cast<int>(tensor.code), static_cast<int>(tensor.bits), tensor.device_type,
                          tensor.device_id, holder);
}

}  // namespace

void export_dlpack(nb::module_& m) {
    m.def(
        "dlpack_export",
        [](nb::handle owner, uintptr_t data, std::vector<int64_t> shape, std::vector<int64_t> strides, int code,
           int bits, int device_type, int device_id, bool versioned) {
            Tensor tensor{};
            tensor.data = reinterpret_cast<void*>(data);
            tensor.device_type = device_type;
            tensor.device_id = device_id;
            tensor.code = static_cast<uint8_t>(code);
            tensor.bits = static_cast<uint8_t>(bits);
            tensor.lanes = 1;
            return versioned ? export_tensor<Versioned>(tensor, std::move(shape), std::move(strides), owner)
                             : export_tensor<Managed>(tensor, std::move(shape), std::move(strides), owner);
        },
        "A capsule over memory that `owner` holds.");
    m.def(
        "dlpack_import",
        [](nb::handle capsule) {
            if (PyCapsule_IsValid(capsule.ptr(), Managed::kName) != 0) return import_tensor<Managed>(capsule);
            if (PyCapsule_IsValid(capsule.ptr(), Versioned::kName) != 0) return import_tensor<Versioned>(capsule);
            const std::string found = nb::cast<std::string>(nb::handle(capsule.type()).attr("__name__"));
            throw UserError(ErrorKind::Type, "Expected a valid DLPack capsule, got " + found +
                                                 (PyCapsule_CheckExact(capsule.ptr()) != 0 ? " (taken already)" : ""));
        },
        "Takes over what a capsule holds.");
}

}  // namespace weft::bind
