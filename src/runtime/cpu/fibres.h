// Stacks of their own for the threads of a block, between which one thread of the host switches. Nothing here knows of
// blocks (blocks.h).
#pragma once

#include <cstddef>

namespace weft::runtime {

// A function that runs on a stack of its own, and can leave it and come back.
class Fibre {
  public:
    using Body = void (*)(void* argument);

    // `body` never returns: it leaves by suspend().
    Fibre(Body body, void* argument);
    ~Fibre();
    Fibre(const Fibre&) = delete;
    Fibre& operator=(const Fibre&) = delete;

    void resume();   // from outside: goes on until the fibre suspends itself
    void suspend();  // from inside
    void restart();  // from outside: forgets where it was; the body begins anew at the next resume

  private:
    static void enter();

    Body body_;
    void* argument_;
    char* memory_ = nullptr;
    size_t begin_ = 0;         // of the stack, which grows down from there
    void* inside_ = nullptr;   // the stack pointer while suspended
    void* outside_ = nullptr;  // that of who resumed it
};

}  // namespace weft::runtime
