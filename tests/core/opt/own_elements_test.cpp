// How values vary over items, and which atomics are on elements that belong to one item.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "opt/item_forms.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

const ir::Value* named(const ir::Function& function, const std::string& name) {
    const ir::Value* found = nullptr;
    const auto look = [&](const ir::Value* value) {
        if (value->name == name) found = value;
    };
    ir::walk(function.body, [&](const ir::Op& op) {
        for (const ir::Value* result : op.results) look(result);
        for (const auto& region : op.regions) {
            for (const ir::Value* argument : region->arguments) look(argument);
        }
    });
    EXPECT_NE(found, nullptr) << name;
    return found;
}

TEST(ItemForms, OfIndices) {
    const auto module = ir::parse(R"(kernel @k(%a: array<i32, 1>, %n: i32) {
  %i = thread.index [0] : i32
  %j = thread.index [1] : i32
  %one = const 1 : i32
  %three = const 3 : i32
  %scaled = mul(%three, %i) : i32
  %moved = add(%scaled, %one) : i32
  %both = add(%moved, %j) : i32
  %shifted = sub(%i, %n) : i32
  %square = mul(%i, %i) : i32
  %wide = cast(%i) : i64
  %short = cast(%i) : i16
  %r = at(%a, %n) : ref<i32>
  %same = load(%r) : i32
  %q = at(%a, %i) : ref<i32>
  %other = load(%q) : i32
  return
}
)");
    const ir::Function& kernel = *module->functions[0];
    const ItemForms forms(kernel);
    const auto form = [&](const char* name) { return forms[named(kernel, name)]; };
    EXPECT_EQ(form("moved"), (ItemForm{true, {3}, 1}));
    EXPECT_EQ(form("both"), (ItemForm{true, {3, 1}, 1}));
    EXPECT_EQ(form("shifted"), (ItemForm{true, {1}, {}}));
    EXPECT_EQ(form("wide"), (ItemForm{true, {1}, 0}));
    EXPECT_TRUE(form("same").uniform());
    for (const char* name : {"square", "short", "other", "q"}) EXPECT_FALSE(form(name).affine) << name;
    // In a row, items share all coordinates but the last.
    const ItemForms row(kernel, 2);
    EXPECT_TRUE(row.uniform(named(kernel, "square")));
    EXPECT_EQ(row[named(kernel, "both")].step, (std::array<int64_t, 8>{0, 1}));
}

TEST(ItemForms, OfWhatPathsJoin) {
    const auto module = ir::parse(R"(kernel @k(%n: i32, %x: f32) {
  %i = thread.index [0] : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  %c = lt(%i, %n) : bool
  %u = lt(%one, %n) : bool
  %split = if(%c) : i32 {
    yield(%one)
  } {
    yield(%one)
  }
  %joined = if(%u) : i32 {
    yield(%i)
  } {
    %m = add(%i, %one) : i32
    yield(%m)
  }
  %counted = for(%zero, %n, %one, %x) : f32 {(%k: i32, %s: f32)
    %t = add(%s, %x) : f32
    yield(%t)
  }
  %ragged = for(%zero, %i, %one, %x) : f32 {(%l: i32, %p: f32)
    %q = add(%p, %x) : f32
    yield(%q)
  }
  %left = for(%zero, %n, %one, %x) : f32 {(%w: i32, %y: f32)
    if(%c) {
      break(%y)
    } {
      yield()
    }
    yield(%y)
  }
  return
}
)");
    const ir::Function& kernel = *module->functions[0];
    const ItemForms forms(kernel);
    EXPECT_FALSE(forms.uniform(named(kernel, "split")));
    EXPECT_EQ(forms[named(kernel, "joined")], (ItemForm{true, {1}, {}}));
    EXPECT_TRUE(forms.uniform(named(kernel, "k")));
    EXPECT_TRUE(forms.uniform(named(kernel, "counted")));
    EXPECT_TRUE(forms.uniform(named(kernel, "l")));
    EXPECT_FALSE(forms.uniform(named(kernel, "ragged")));
    EXPECT_FALSE(forms.uniform(named(kernel, "left")));
}

std::string marked(const std::string& body, std::vector<OwnElements>& own) {
    const auto module =
        ir::parse("kernel @k(%a: array<f32, 1>, %b: array<f32, 2>, %x: f32) {\n" + body + "  return\n}\n");
    ir::verify(*module);
    own = own_elements(*module, *module->functions[0]);
    return ir::print(*module);
}

TEST(OwnElements, AtTheItemsCoordinates) {
    std::vector<OwnElements> own;
    const std::string text = marked(R"(  %i = thread.index [0] : i32
  %j = thread.index [1] : i32
  %r = at(%a, %i) : ref<f32>
  %0 = load(%r) : f32
  %1 = atomic.add(%r, %0) : f32
  %k = cast(%0) : i32
  %q = at(%b, %k, %j) : ref<f32>
  %2 = atomic.max(%q, %x) : f32
)",
                                    own);
    EXPECT_NE(text.find("atomic.add(%r, %0) \"own\""), std::string::npos) << text;
    EXPECT_NE(text.find("atomic.max(%q, %x) \"own\""), std::string::npos) << text;
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(own[0].coordinates, 1U);
    EXPECT_EQ(own[1].parameter, 1);
    EXPECT_EQ(own[1].coordinates, 2U);
}

TEST(OwnElements, NotWhereItemsMeet) {
    std::vector<OwnElements> own;
    const std::string neighbours = marked(R"(  %i = thread.index [0] : i32
  %one = const 1 : i32
  %n = add(%i, %one) : i32
  %r = at(%a, %i) : ref<f32>
  %s = at(%a, %n) : ref<f32>
  %0 = atomic.add(%r, %x) : f32
  %1 = atomic.add(%s, %x) : f32
)",
                                          own);
    EXPECT_EQ(neighbours.find("own"), std::string::npos);
    EXPECT_TRUE(own.empty());
    // -1 is the last element.
    for (const char* body : {"  %i = thread.index [0] : i32\n  %c = const 1 : i32\n  %n = sub(%i, %c) : i32\n",
                             "  %n = const 0 : i32\n", "  %c = cast(%x) : i32\n  %n = add(%c, %c) : i32\n"}) {
        marked(std::string(body) + "  %r = at(%a, %n) : ref<f32>\n  %0 = atomic.add(%r, %x) : f32\n", own);
        EXPECT_TRUE(own.empty()) << body;
    }
}

}  // namespace
}  // namespace weft::opt
