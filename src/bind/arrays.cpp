// _core.Array, the base of the package's `array`: memory, views, copies and fills. What Python programs see of arrays
// (construction from data, indexing, operators) is in python/warp/arrays.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/exports.h"
#include "bind/graphs.h"
#include "bind/places.h"
#include "bind/values.h"
#include "ir/layout.h"
#include "runtime/array.h"
#include "runtime/copy.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using runtime::Array;
using Extents = std::vector<int64_t>;

// Keeps a Python object alive from C++; may be dropped by any thread.
std::shared_ptr<void> keep_alive(nb::object owner) {
    if (owner.is_none()) return nullptr;
    PyObject* object = owner.release().ptr();
    return {object, [](void* p) {
                if (Py_IsInitialized() == 0) return;
                const nb::gil_scoped_acquire gil;
                Py_DECREF(static_cast<PyObject*>(p));
            }};
}

nb::tuple to_tuple(std::span<const int64_t> numbers) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i) {
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
    }
    return nb::steal<nb::tuple>(tuple);
}

nb::object pointer(const Array& a) {
    if (a.data() == nullptr) return nb::none();
    return nb::int_(reinterpret_cast<uintptr_t>(a.data()));
}

Array borrowed(ir::Type element, const Extents& shape, const Extents& strides, uintptr_t address, int64_t bytes,
               runtime::Device& device, nb::object owner) {
    auto* data = reinterpret_cast<std::byte*>(address);
    // What the elements span, whatever the owner says: writes are compared by address.
    Array probe(element, shape, strides, data, nullptr);
    const auto [begin, end] = probe.extent();
    auto storage = runtime::Storage::borrow(device, const_cast<std::byte*>(begin),
                                            std::max<int64_t>(bytes, end - begin), keep_alive(std::move(owner)));
    return {element, shape, strides, data, std::move(storage)};
}

// The version of a tensor of PyTorch, which its views share.
class TensorVersion : public runtime::WriteCounter {
  public:
    explicit TensorVersion(nb::object tensor) : tensor_(std::move(tensor)) {}
    ~TensorVersion() override {
        if (Py_IsInitialized() == 0) {
            (void)tensor_.release();
            return;
        }
        const nb::gil_scoped_acquire gil;
        tensor_.reset();
    }
    TensorVersion(const TensorVersion&) = delete;
    TensorVersion& operator=(const TensorVersion&) = delete;
    int64_t count() const override {
        const nb::gil_scoped_acquire gil;
        return nb::cast<int64_t>(tensor_.attr("_version"));
    }

  private:
    nb::object tensor_;
};

// Does now, or records, what changes an array; it tells before_write() itself when it runs, but tapes must know now.
void change(const Array& array, runtime::Step step) {
    array.require_memory();
    if (recording() != nullptr) array.before_write();
    perform(std::move(step));
}

}  // namespace

// The watches of a storage while they are taken aside.
struct WatchesAside {
    std::shared_ptr<runtime::Storage> storage;
    std::vector<runtime::Storage::Watch> watches;
};

void export_arrays(nb::module_& m) {
    m.def("bytes_held", &runtime::Storage::bytes_held, "Bytes that arrays hold now.");
    m.def("peak_bytes", &runtime::Storage::peak_bytes, "The most that they have held since reset_peak_bytes().");
    m.def("reset_peak_bytes", &runtime::Storage::reset_peak);
    // NOLINTNEXTLINE(bugprone-unused-raii): registers the class
    nb::class_<WatchesAside>(m, "WatchesAside", "Who watches an array's memory, taken aside.")
        .def("put_back", [](WatchesAside& aside) { aside.storage->put_watches(std::exchange(aside.watches, {})); });
    nb::class_<Array>(m, "Array", nb::is_weak_referenceable(), "A strided view of a device's memory.")
        // An annotation: no memory.
        .def("__init__", [](Array* self) { new (self) Array(); })
        .def("__init__", [](Array* self, ir::Type element, const Extents& shape, runtime::Device& device,
                            bool zeroed) { new (self) Array(element, shape, device, zeroed); })
        .def(
            "__init__",
            [](Array* self, ir::Type element, const Extents& shape, const Extents& strides, uintptr_t address,
               int64_t bytes, runtime::Device& device, nb::object owner) {
                new (self) Array(borrowed(element, shape, strides, address, bytes, device, std::move(owner)));
            },
            nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
        .def("__init__",
             [](Array* self, const Array& base, ir::Type element, int64_t offset, const Extents& shape,
                const Extents& strides) {
                 base.require_memory();
                 new (self) Array(element, shape, strides, base.data() + offset, base.storage());
                 self->set_write_counter(base.write_counter());
             })
        .def("_require_memory", &Array::require_memory, "Throws for an array that is an annotation only.")
        .def(
            "_borrow_again",
            [](Array& self, ir::Type element, uint64_t key, uintptr_t base, int64_t bytes, runtime::Device& device,
               nb::object owner, nb::object tensor) {
                auto* data = reinterpret_cast<std::byte*>(base);
                auto storage = runtime::Storage::borrow_again(device, data, bytes, keep_alive(std::move(owner)), key);
                const int64_t one = 1;
                const int64_t count = bytes;
                self = Array(element, {&count, 1}, {&one, 1}, data, std::move(storage));
                if (!tensor.is_none()) self.set_write_counter(std::make_shared<TensorVersion>(std::move(tensor)));
            },
            nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg("tensor").none(),
            "Makes this the bytes of a tensor's memory, one storage for all tensors over it.")
        .def_prop_ro("_has_memory", [](const Array& a) { return a.storage() != nullptr; })
        .def_prop_ro("_element", &Array::element)
        .def_prop_ro("_shape", [](const Array& a) { return to_tuple(a.shape()); })
        .def_prop_ro("_strides", [](const Array& a) { return to_tuple(a.strides()); })
        .def_prop_ro("ndim", &Array::ndim)
        .def_prop_ro("size", &Array::size)
        // An address that leaves may be written through; inside the package `_pointer` is read.
        .def_prop_ro("ptr",
                     [](const Array& a) {
                         if (a.storage()) a.storage()->export_view(UserPlace().str());
                         return pointer(a);
                     })
        .def_prop_ro("_pointer", &pointer)
        .def(
            "_mark_exported",
            [](const Array& a) {
                if (a.storage()) a.storage()->export_view("");
            },
            "For memory that is not ours: it may be written unseen from the beginning.")
        .def("_take_watches",
             [](const Array& a) {
                 a.require_memory();
                 return WatchesAside{a.storage(), a.storage()->take_watches()};
             })
        .def("_export_view",
             [](const Array& a) {
                 if (a.storage()) a.storage()->export_view(UserPlace().str());
             })
        .def("_release_view",
             [](const Array& a) {
                 if (a.storage()) a.storage()->release_view();
             })
        .def("_before_write", &Array::before_write,
             "To be called before the content changes otherwise than by the core.")
        // Which storage, as a number that is its own for as long as it lives, and where in it the array begins.
        .def_prop_ro(
            "_storage",
            [](const Array& a) { return reinterpret_cast<uintptr_t>(a.storage() ? a.storage().get() : nullptr); })
        .def_prop_ro("_offset", [](const Array& a) { return a.storage() ? a.data() - a.storage()->data() : 0; })
        .def_prop_ro("_exported", [](const Array& a) { return a.storage() && a.storage()->exported(); })
        .def(
            "_content_hash", [](const Array& a) { return runtime::content_hash(a); },
            nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("capacity",
                     [](const Array& a) {
                         if (!a.storage()) return int64_t{0};
                         // Of what is borrowed, what is left from here on.
                         return a.storage()->bytes() - (a.storage()->owned() ? 0 : a.data() - a.storage()->data());
                     })
        .def_prop_ro("is_contiguous", &Array::is_contiguous)
        .def_prop_ro(
            "_device", [](const Array& a) -> runtime::Device* { return a.storage() ? &a.device() : nullptr; },
            nb::rv_policy::reference)
        .def_prop_rw(
            "_grad", [](const Array& a) { return a.gradient(); },
            [](Array& a, std::shared_ptr<Array> grad) { a.set_gradient(std::move(grad)); }, nb::arg().none())
        .def("_zero", [](const Array& a) { change(a, runtime::FillStep{a, {}}); })
        .def("_fill",
             [](const Array& a, const ValueObject& value) {
                 if (static_cast<int64_t>(value.size()) != ir::size_of(a.element())) {
                     throw UserError(ErrorKind::Type, "the value has another type than the array's elements");
                 }
                 std::vector<std::byte> bytes(value.data(), value.data() + value.size());
                 change(a, runtime::FillStep{a, std::move(bytes)});
             })
        .def("_copy_from", [](const Array& to, const Array& from) { change(to, runtime::CopyStep{to, from}); })
        .def("_read_element", [](const Array& a, int64_t offset, ValueObject& to) {
            a.device().copy_to_host(to.data(), a.data() + offset, static_cast<int64_t>(to.size()));
        });
}

}  // namespace weft::bind
