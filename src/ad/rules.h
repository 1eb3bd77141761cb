// The derivative of every op that computes a value from values. Memory, calls and control flow are reverse.cpp's.
#pragma once

#include <functional>

#include "ad/adjoints.h"
#include "ir/builder.h"

namespace weft::ad {

// What a rule may ask for: the values of the forward computation, to be used in the adjoint.
struct RuleContext {
    ir::Builder& builder;
    Adjoints& adjoints;
    std::function<ir::Value*(const ir::Value*)> primal;
    // The function chooses between values that are both computed (Select), of which one may be infinite or NaN.
    bool selects = false;
    // Adjoints may be added to values that the op's operands were made of, if these are of the op's own region.
    bool reverse = false;
};

// Adds to the adjoints of the op's operands what the adjoint `g` of its result gives. False when the op is none of
// those that have a rule here. Ops without derivative (comparisons, integers) contribute nothing.
bool apply_rule(const RuleContext& context, const ir::Op& op, ir::Value* g);

}  // namespace weft::ad
