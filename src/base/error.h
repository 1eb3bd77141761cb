// The two kinds of error. A UserError is the user's: located, and it says what was written, found and expected.
// An InternalError is ours: a broken invariant, raised by check(). Nothing in Weft aborts or prints instead,
// but for one case: out of memory in a kernel's stack (weft_stack_grow), as generated code cannot unwind.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace weft {

// The class of a user's error; `bind` maps each to a Python exception class.
enum class ErrorKind {
    Syntax,       // a construct that the kernel language does not have
    Name,         // an unknown name or attribute
    Type,         // operands, arguments or annotations of the wrong type
    Argument,     // wrong number or names of arguments
    Value,        // a value that is not acceptable (an index out of range, a literal that does not fit)
    Launch,       // a launch whose arguments do not fit the kernel
    Gradient,     // a derivative that would be wrong and is therefore refused
    Unsupported,  // valid, but not available on this device or build
    Runtime,      // found while a kernel ran (bounds, assert)
};

class UserError : public std::runtime_error {
  public:
    UserError(ErrorKind kind, std::string message, Location location = {});

    ErrorKind kind() const { return kind_; }
    const std::string& message() const { return message_; }
    const Location& location() const { return location_; }
    // Further lines such as "called from ..." or "expected one of: ...".
    const std::vector<std::string>& notes() const { return notes_; }
    // The same error with one more note; a location is set only when there is none yet.
    UserError with_note(std::string note) const;
    UserError at(const Location& location) const;

  private:
    UserError(ErrorKind kind, std::string message, Location location, std::vector<std::string> notes);

    ErrorKind kind_;
    std::string message_;
    Location location_;
    std::vector<std::string> notes_;
};

// Renders "message\n  File "path", line N\n    source line\n    ^^^^\n  note", the text that Python users see.
std::string render(std::string_view message, const Location& location, const std::vector<std::string>& notes);

class InternalError : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

}  // namespace weft

// An invariant of our own. `message` may be any expression that makes a std::string; it is evaluated only on failure.
#define WEFT_CHECK(condition, message)                                                 \
    do {                                                                               \
        if (!(condition)) ::weft::fail_check(#condition, __FILE__, __LINE__, message); \
    } while (false)
