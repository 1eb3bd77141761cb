// Arrays that are more than strided memory: seen through arrays of indices (`wp.indexedarray`), or in buckets of
// Omniverse's Fabric (`wp.fabricarray`, `wp.indexedfabricarray`). In the IR they are structs of arrays, so that layout,
// gradients and backends know nothing of them; the front end makes element addresses of them.
#pragma once

#include <string>

#include "ir/type.h"

namespace weft::builtins {

constexpr int kMaxArrayDims = 8;

enum class ArrayKind { Plain, Indexed, Fabric, IndexedFabric };

// Indexed: {data: the array, then for each dimension an array of int32, null where the dimension has none}.
// Fabric: {starts: array of int32, the first element of each bucket and then their sum; buckets: array of
// {data: array}}; with two dimensions the elements are arrays, {data: array} too. IndexedFabric: {fabric, indices}.
ir::Type array_type(ArrayKind kind, ir::Type element, int ndim);
// Plain for arrays; nothing else than the four is an array.
bool is_array_like(ir::Type type);
ArrayKind array_kind(ir::Type type);
ir::Type array_element(ir::Type type);
int array_ndim(ir::Type type);
std::string array_word(ArrayKind kind);  // "indexedarray"
// The inverse. Throws UserError (Value).
ArrayKind array_kind_of(const std::string& word);

}  // namespace weft::builtins
