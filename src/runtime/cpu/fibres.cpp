#include "runtime/cpu/fibres.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

// Saves what a function must leave as it was, stores the stack pointer, and takes the other.
#if defined(__x86_64__)
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
#elif defined(__aarch64__)
asm(R"(
.text
.hidden weft_switch_stack
.globl weft_switch_stack
.type weft_switch_stack, @function
weft_switch_stack:
    stp x29, x30, [sp, #-160]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #160
    ret
.size weft_switch_stack, . - weft_switch_stack
)");
#endif

extern "C" void weft_switch_stack(void** left, void* entered);

namespace weft::runtime {
namespace {

// What weft_switch_stack leaves on a stack, in registers: so many, and which of them says where to go on.
#if defined(__x86_64__)
constexpr size_t kFrame = 8;
constexpr size_t kReturn = 6;
#else
constexpr size_t kFrame = 20;
constexpr size_t kReturn = 1;
#endif

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
    // As if enter() had been about to begin when its stack was left.
    std::array<uint64_t, kFrame> frame{};
    frame[kReturn] = reinterpret_cast<uint64_t>(&Fibre::enter);
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
