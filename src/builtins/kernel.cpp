// Rows of the builtins about the kernel itself: where an item stands, output, choice, compile-time values.
#include "builtins/rows.h"

namespace weft::builtins {

void kernel_rows(Rows& rows) {
    rows.group("Utility");
    rows.add("tid", "() -> int32", special(), "This item's index in the launch; unpacks to up to four coordinates.");
    rows.add("block_dim", "() -> int32", special(),
             "The threads of a block of this launch, known when it is compiled.");
    rows.add("sync_threads", "() -> None", special(),
             "Waits until all threads of the block are there; what they wrote is seen by the others then.");
    rows.add("thread_idx", "() -> int32", special(), "This thread's number in its block.");
    rows.add("block_idx", "() -> int32", special(), "The number of this thread's block in the launch.");
    rows.add("shared_array", "(shape: Any, dtype: Any) -> Any", special(),
             "An array of constant shape that the threads of a block share, zero when all of them have come here.");
    rows.add("printf", "(fmt: Any) -> None", special(), "Prints numbers by a C format.");
    rows.add("print", "(value: Any) -> None", special(), "Prints a value and a newline.");
    rows.add("where", "(cond: bool, value_if_true: Any, value_if_false: Any) -> Any", special(),
             "Chooses between two values, both of which are computed.");
    rows.add("select", "(cond: bool, value_if_false: Any, value_if_true: Any) -> Any", special(),
             "Chooses between two values; older than `where`, which takes them in the other order.");
    rows.add("cast", "(a: Any, dtype: Any) -> Any", special(), "The bytes of a value as another type of equal size.");
    rows.add("type", "(a: Any) -> Any", special(), "The type of a value.");
    rows.add("range", "(end: int32) -> Any", special(), "The turns of a `for` loop.");
    rows.add("adjoint", "(a: Any) -> Any", special(), "`wp.adjoint[x]`: the adjoint of a parameter, in a func_grad.");
    rows.add("grad", "(func: Callable) -> Any", special(),
             "In a kernel: the function that gives the derivatives of `func` by its arguments.");
    rows.add("expect_eq", "(a: Any, b: Any) -> None", special(), "Prints an error where the values differ.");
    rows.add("expect_neq", "(a: Any, b: Any) -> None", special(), "Prints an error where the values are equal.");
    rows.add("expect_near", "(a: Any, b: Any, tolerance: Any) -> None", special(),
             "Prints an error where the values differ by more than the tolerance.");
    rows.group("Code Generation");
    rows.add("static", "(expression: Any) -> Any", special(),
             "The value of a Python expression when the kernel is compiled.");
}

}  // namespace weft::builtins
