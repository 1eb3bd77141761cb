// Where in the user's program something happens, for messages.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace weft::bind {

// The innermost line that runs outside the package. Cheap to take; text is made when it is asked for.
class UserPlace {
  public:
    UserPlace();              // with the GIL
    std::string str() const;  // "file.py:12"; empty where there is none

  private:
    nanobind::object code_;
    int line_ = 0;
};

}  // namespace weft::bind
