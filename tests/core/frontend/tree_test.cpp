// The serialised form of trees: exact round trip of everything in the prelude.
#include "frontend/tree.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "builtins/prelude.h"

namespace weft::frontend {
namespace {

TEST(Tree, ThePreludeSurvivesARoundTrip) {
    for (const auto& f : builtins::prelude()) {
        const std::string once = serialize(*deserialize(f.tree));
        EXPECT_EQ(serialize(*deserialize(once)), once) << f.name;
    }
}

TEST(Tree, TextIsEscaped) {
    FunctionTree tree;
    tree.name = "f";
    tree.doc = "a \"quoted\"\nline \\ and more";
    EXPECT_EQ(deserialize(serialize(tree))->doc, tree.doc);
}

TEST(Tree, MalformedTextIsOurError) { EXPECT_THROW(deserialize("(function 1:2"), InternalError); }

}  // namespace
}  // namespace weft::frontend
