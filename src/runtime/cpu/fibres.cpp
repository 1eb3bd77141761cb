#include "runtime/cpu/fibres.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

// Saves what a function must leave as it was (System V's registers), stores the stack pointer, and takes the other.
asm(R"(
.text
.hidden weft_switch_stack
.globl weft_switch_stack
.type weft_switch_stack, @function
weft_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size weft_switch_stack, . - weft_switch_stack
)");

extern "C" void weft_switch_stack(void** left, void* entered);

namespace weft::runtime {
namespace {

constexpr size_t kStack = size_t{256} << 10;  // touched pages only take memory
constexpr size_t kGuard = size_t{256} << 10;  // below the stack, so wide that large frames do not step over it
// Stacks begin at different lines and pages: else all that run together want the same few places of the caches.
constexpr size_t kLine = 64;
constexpr size_t kBeginnings = 1024;
constexpr size_t kStep = 67;  // lines from one stack's beginning to the next one's
constexpr size_t kMemory = kGuard + kStack + kLine * kBeginnings;
std::atomic<size_t> g_made = 0;

thread_local Fibre* g_entering = nullptr;

}  // namespace

Fibre::Fibre(Body body, void* argument) : body_(body), argument_(argument) {
    void* memory = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    begin_ = kMemory - kLine * (g_made.fetch_add(1, std::memory_order_relaxed) * kStep % kBeginnings);
    mprotect(memory_, kGuard, PROT_NONE);  // what runs over the stack's end stops there
    restart();
}

Fibre::~Fibre() { munmap(memory_, kMemory); }

void Fibre::restart() {
    // As if enter() had been called: its return address, then six registers.
    std::array<uint64_t, 8> frame{};
    frame[6] = reinterpret_cast<uint64_t>(&Fibre::enter);
    inside_ = memory_ + begin_ - sizeof frame;
    std::memcpy(inside_, frame.data(), sizeof frame);
}

void Fibre::enter() {
    Fibre* fibre = g_entering;
    fibre->body_(fibre->argument_);
}

void Fibre::resume() {
    g_entering = this;
    weft_switch_stack(&outside_, inside_);
}

void Fibre::suspend() { weft_switch_stack(&inside_, outside_); }

}  // namespace weft::runtime
