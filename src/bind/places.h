// Where in the user's program something happens, for messages.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "runtime/launch_record.h"

namespace weft::bind {

// The innermost line that runs outside the package. Cheap to take; text is made when it is asked for.
class UserPlace : public runtime::ProgramPlace {
  public:
    UserPlace();  // with the GIL
    // With the GIL or without.
    ~UserPlace() override;
    UserPlace(const UserPlace&) = delete;
    UserPlace& operator=(const UserPlace&) = delete;
    std::string str() const override;  // "file.py:12"; empty where there is none

    // The place where the program is: each is made once. With the GIL.
    static std::shared_ptr<const ProgramPlace> shared();

  private:
    struct Position {
        nanobind::object code;
        int at = 0;  // the instruction where Python tells it, else the line
    };
    explicit UserPlace(Position position);
    static Position innermost();

    nanobind::object code_;
    int at_ = 0;
};

}  // namespace weft::bind
