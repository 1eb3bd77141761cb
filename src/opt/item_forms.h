// How the values of a kernel depend on the item that runs: the same for all items, affine in the item's coordinates, or
// anything. Used to run items side by side (codegen) and to find addresses that one item alone touches (own_elements).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/ir.h"

namespace weft::opt {

// Affine: the value is `base` + the sum of step[d] * thread.index[d], where `base` is the same for all items that run
// the op together (in the same turn of each loop around it). Integers only, taken not to overflow, as indices are.
struct ItemForm {
    bool affine = true;
    std::array<int64_t, 8> step = {};
    std::optional<int64_t> base;  // where it is a known constant

    bool uniform() const { return affine && step == std::array<int64_t, 8>{}; }
    bool operator==(const ItemForm&) const = default;
    static ItemForm varying() { return {false, {}, {}}; }
    static ItemForm constant(std::optional<int64_t> value) { return {true, {}, value}; }
};

class ItemForms {
  public:
    // `rows`: the items compared share all coordinates but the last of so many; 0: any items of the launch.
    explicit ItemForms(const ir::Function& kernel, int rows = 0);

    const ItemForm& operator[](const ir::Value* value) const;
    bool uniform(const ir::Value* value) const { return (*this)[value].uniform(); }
    // For a loop: items may make different numbers of turns. For an If: they may take different arms.
    bool diverges(const ir::Op& op) const;

  private:
    void region(const ir::Region& region, bool divergent);
    void loop(const ir::Op& op, bool divergent);
    void branch(const ir::Op& op, bool divergent);
    ItemForm form(const ir::Op& op) const;
    void set(const ir::Value* value, const ItemForm& form) { forms_[value] = form; }

    int rows_;
    std::unordered_map<const ir::Value*, ItemForm> forms_;
    std::unordered_map<const ir::Op*, bool> diverges_;
};

}  // namespace weft::opt
