// The shadow of memory: for an array, or a Ref into one, the place that holds its gradient (reverse mode) or tangent
// (forward mode). Shadows of parameters and of arrays made in the kernel are set; all others follow from those by
// repeating how the primal was reached.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/builder.h"

namespace weft::ad {

// Has a shadow: arrays of a differentiable element type, and structs with such arrays.
inline bool has_shadow(ir::Type type) { return type.contains_array() && type.is_differentiable(); }

class Shadows {
  public:
    // `primal` gives the value in the function being built that stands for one of the original.
    Shadows(ir::Builder& builder, std::function<ir::Value*(const ir::Value*)> primal)
        : builder_(&builder), primal_(std::move(primal)) {}

    void set(const ir::Value* value, ir::Value* shadow) { shadows_[value] = shadow; }
    // Null when there is none: the element type has no derivative, or the array is chosen while the kernel runs.
    ir::Value* of(const ir::Value* value);
    // Throws UserError (Gradient) at the op when there is none.
    ir::Value* of_ref(const ir::Op& op);
    // Emits `then` under the condition that the array behind the shadow of a Ref is not the null array.
    void if_kept(ir::Value* place, const std::function<void()>& then);
    // What the shadow of a Ref holds; zero where the array behind it is the null array.
    ir::Value* load(ir::Value* place);

  private:
    ir::Builder* builder_;
    std::function<ir::Value*(const ir::Value*)> primal_;
    std::unordered_map<const ir::Value*, ir::Value*> shadows_;
};

}  // namespace weft::ad
