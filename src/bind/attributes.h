// Attributes of Python objects that may have them or not. Asking raises nothing and, where it can, makes no exception:
// most of what is asked for is not there.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

namespace weft::bind {

// Names of attributes that are asked for again and again are made once. Each is a literal.
nanobind::handle kept_name(const char* literal);

// An attribute, or an invalid object; what asking for it raises is dropped.
nanobind::object attribute_or_null(nanobind::handle object, nanobind::handle name);

template <size_t N>
nanobind::object attribute_or_null(nanobind::handle object, const char (&literal)[N]) {
    return attribute_or_null(object, kept_name(literal));
}
nanobind::object attribute_or_null(nanobind::handle object, const std::string& name);

}  // namespace weft::bind
