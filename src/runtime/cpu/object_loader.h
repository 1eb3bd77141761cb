// Loads relocatable ELF objects of this processor into executable memory: sections mapped writable, relocated, then
// write-protected. Needs no LLVM. Any malformed object gives an InternalError, never a crash: the bytes may come from a
// damaged cache.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace weft::runtime {

// Memory that holds a loaded object; unmapped with it.
class LoadedObject {
  public:
    // `resolve` gives the address of an external symbol, or null: then loading fails.
    using Resolve = void* (*)(std::string_view name);
    LoadedObject(std::string_view bytes, Resolve resolve);
    ~LoadedObject();
    LoadedObject(const LoadedObject&) = delete;
    LoadedObject& operator=(const LoadedObject&) = delete;

    // The address of a global function or variable of the object; null when there is none.
    void* find(std::string_view symbol) const;

  private:
    void* memory_ = nullptr;
    size_t size_ = 0;
    std::map<std::string, void*, std::less<>> symbols_;
};

}  // namespace weft::runtime
