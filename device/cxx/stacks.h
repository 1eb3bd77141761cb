// The stacks of reverse mode of printed C++; whoever runs it has stack_grow, stack_free and stack_keep.
#pragma once

#include "items.h"

namespace weft {

template <class T>
struct stack {
    T* data = nullptr;
    int64_t used = 0, there = 0, cursor = 0;
    bool borrowed = false;
    stack() = default;
    stack(const stack&) = delete;
    WEFT_DEVICE ~stack() {
        if (!borrowed) stack_free(data);
    }
    WEFT_DEVICE void borrow(int64_t address, int64_t end) {
        data = (T*)address;
        used = there = end;
        cursor = 0;
        borrowed = true;
    }
    WEFT_DEVICE int64_t keep() const { return stack_keep(data, used * int64_t(sizeof(T))); }
    WEFT_DEVICE void clear() { used = cursor = 0; }
    WEFT_DEVICE void push(const T& value) {
        if (used == there) {
            const int64_t wanted = 2 * there + 64;
            T* const grown = (T*)stack_grow(data, used * int64_t(sizeof(T)), wanted * int64_t(sizeof(T)));
            if (grown == nullptr) return;  // reported
            data = grown;
            there = wanted;
        }
        data[used++] = value;
        cursor = used;
    }
    WEFT_DEVICE T pop() {
        if (used == 0) return T{};  // where there was no memory
        return data[cursor = --used];
    }
    WEFT_DEVICE int64_t position() const { return cursor; }
    WEFT_DEVICE void seek(int64_t position) { cursor = position; }
    WEFT_DEVICE T read() {
        if (cursor >= used) return T{};
        return data[cursor++];
    }
};

}  // namespace weft
