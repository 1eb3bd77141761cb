// Rows of the builtins that touch arrays. Atomics are the front end's own, because they take an array and its indices.
#include "builtins/rows.h"

namespace weft::builtins {

void memory_rows(Rows& rows) {
    rows.group("Utility");
    const auto atomic = [&](std::string_view name, std::string_view doc) {
        rows.add(name, "(arr: Array[Any], i: Int, value: Any) -> Any", special(), doc);
    };
    atomic("atomic_add", "Adds `value` to arr[i, ...] as one step; returns the old value.");
    atomic("atomic_sub", "Subtracts `value` from arr[i, ...] as one step; returns the old value.");
    atomic("atomic_min", "Stores the smaller of arr[i, ...] and `value` as one step; returns the old value.");
    atomic("atomic_max", "Stores the larger of arr[i, ...] and `value` as one step; returns the old value.");
    atomic("atomic_and", "arr[i, ...] & value as one step; returns the old value.");
    atomic("atomic_or", "arr[i, ...] | value as one step; returns the old value.");
    atomic("atomic_xor", "arr[i, ...] ^ value as one step; returns the old value.");
    atomic("atomic_exch", "Stores `value` in arr[i, ...] as one step; returns the old value.");
    rows.add("zeros", "(shape: Any, dtype: Any) -> Any", special(), "In a kernel: an array of this item, of zeros.");
    rows.add("empty", "(shape: Any, dtype: Any) -> Any", special(), "In a kernel: the same as zeros.");
    rows.add("ones", "(shape: Any, dtype: Any) -> Any", special(), "In a kernel: an array of this item, of ones.");
    rows.add("full", "(shape: Any, value: Any, dtype: Any) -> Any", special(),
             "In a kernel: an array of this item, of one value.");
    rows.add("array", "(ptr: uint64, shape: Any, dtype: Any) -> Any", special(),
             "In a kernel: the dense array at an address.");
    rows.add("address_of", "(a: Any) -> uint64", special(), "Where a variable or element lies in memory.");
    rows.add("len", "(a: Any) -> int32", special(), "The number of elements along the first dimension.");
}

}  // namespace weft::builtins
