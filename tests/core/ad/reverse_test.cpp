// Gradients of kernels written as IR text, compiled and run, against central finite differences in float64; and the
// shape of the adjoint code: what is saved, what is recomputed, what is refused.
#include "ad/reverse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ad/run_numbers.h"
#include "base/error.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace weft::ad {
namespace {

// Runs kernels whose parameters are 1-D float64 arrays (first) and i32 scalars.
class Kernel {
  public:
    explicit Kernel(const std::string& text) : text_(text), module_(ir::parse(text)) {
        name_ = module_->functions.front()->name;
        forward_ = compiler().request(module_, name_);
        std::shared_ptr<ir::Module> backward = ir::parse(text);
        adjoint_name_ = add_adjoint(*backward, name_, &needs_);
        backward_module_ = backward;
        backward_ = compiler().request(backward, adjoint_name_);
    }

    void forward(std::vector<Numbers>& arrays, const std::vector<int>& scalars, int items) const {
        run(*module_->find(name_), forward_->wait(), arrays, scalars, items);
    }

    // Fills the gradients; `gradients` holds the seeds.
    void backward(std::vector<Numbers>& arrays, std::vector<Numbers>& gradients, const std::vector<int>& scalars,
                  int items) const {
        std::vector<Numbers*> all;
        for (auto& a : arrays) all.push_back(&a);
        for (auto& g : gradients) all.push_back(&g);
        ad::run(*backward_module_->find(adjoint_name_), backward_->wait(), all, scalars, items);
    }

    const ir::Module& backward_module() const { return *backward_module_; }
    // Parameters whose arrays the adjoint wants as they were before the kernel ran.
    const std::vector<int>& restored() const { return needs_.restored; }
    std::string adjoint_text() const { return ir::print(*backward_module_->find(adjoint_name_)); }

  private:
    static void run(const ir::Function& f, codegen::KernelEntry entry, std::vector<Numbers>& arrays,
                    const std::vector<int>& scalars, int items) {
        std::vector<Numbers*> pointers;
        for (auto& a : arrays) pointers.push_back(&a);
        ad::run(f, entry, pointers, scalars, items);
    }

    std::string text_;
    std::string name_;
    std::string adjoint_name_;
    AdjointNeeds needs_;
    std::shared_ptr<const ir::Module> module_;
    std::shared_ptr<const ir::Module> backward_module_;
    std::shared_ptr<runtime::LoadedKernel> forward_;
    std::shared_ptr<runtime::LoadedKernel> backward_;
};

// d sum(w * y) / dx by central differences, against the adjoint. The kernel's first array is x, its last y.
void check_gradient(const std::string& text, const std::vector<Numbers>& arrays, const std::vector<int>& scalars = {},
                    int items = 1) {
    const Kernel kernel(text);
    const auto loss = [&](std::vector<Numbers> a) {
        kernel.forward(a, scalars, items);
        double sum = 0;
        for (size_t i = 0; i < a.back().size(); ++i) sum += (1.0 + 0.25 * static_cast<double>(i)) * a.back()[i];
        return sum;
    };
    std::vector<Numbers> after = arrays;
    kernel.forward(after, scalars, items);
    std::vector<Numbers> gradients;
    for (const auto& a : arrays) gradients.emplace_back(a.size(), 0.0);
    for (size_t i = 0; i < gradients.back().size(); ++i) gradients.back()[i] = 1.0 + 0.25 * static_cast<double>(i);
    for (const int parameter : kernel.restored())
        after[static_cast<size_t>(parameter)] = arrays[static_cast<size_t>(parameter)];
    kernel.backward(after, gradients, scalars, items);
    for (size_t i = 0; i < arrays[0].size(); ++i) {
        auto plus = arrays;
        auto minus = arrays;
        const double h = 1e-6;
        plus[0][i] += h;
        minus[0][i] -= h;
        const double expected = (loss(plus) - loss(minus)) / (2 * h);
        EXPECT_NEAR(gradients[0][i], expected, 1e-6 * (1 + std::fabs(expected))) << "x[" << i << "] of\n" << text;
    }
}

constexpr const char* kProduct = R"(kernel @product(%x: array<f64, 1>, %n: i32, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %one = const 1 : f64
  %p = for(%0, %n, %1, %one) : f64 {(%i: i32, %q: f64)
    %2 = at(%x, %i) : ref<f64>
    %3 = load(%2) : f64
    %4 = mul(%q, %3) : f64
    yield(%4)
  }
  %5 = at(%y, %0) : ref<f64>
  store(%5, %p)
  return
}
)";

TEST(Reverse, ProductInARunTimeLoop) {
    const Kernel kernel(kProduct);
    std::vector<Numbers> arrays = {{2, 2, 2}, {0}};
    std::vector<Numbers> gradients = {{0, 0, 0}, {1}};
    kernel.forward(arrays, {3}, 1);
    EXPECT_EQ(arrays[1][0], 8);
    kernel.backward(arrays, gradients, {3}, 1);
    EXPECT_EQ(gradients[0], (Numbers{4, 4, 4}));
    EXPECT_EQ(gradients[1][0], 0) << "a store takes the gradient of what stood there";
}

TEST(Reverse, ProductOfAnyTripCount) {
    for (const int n : {0, 1, 17, 1000}) {
        Numbers x(static_cast<size_t>(n) + 1);
        for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0 + 0.3 * std::sin(static_cast<double>(i) * 1.7) / (1 + n);
        check_gradient(kProduct, {x, {0}}, {n});
    }
}

TEST(Reverse, ASumSavesNothing) {
    const Kernel kernel(R"(kernel @sum(%x: array<f64, 1>, %n: i32, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %zero = const 0 : f64
  %p = for(%0, %n, %1, %zero) : f64 {(%i: i32, %q: f64)
    %2 = at(%x, %i) : ref<f64>
    %3 = load(%2) : f64
    %4 = mul(%3, %3) : f64
    %5 = add(%q, %4) : f64
    yield(%5)
  }
  %6 = at(%y, %0) : ref<f64>
  store(%6, %p)
  return
}
)");
    const std::string text = kernel.adjoint_text();
    EXPECT_EQ(text.find("stack"), std::string::npos) << text;
    EXPECT_EQ(text.find("for("), text.rfind("for(")) << "the forward loop is not needed\n" << text;
}

TEST(Reverse, NestedLoopsWithBranches) {
    check_gradient(R"(kernel @k(%x: array<f64, 1>, %n: i32, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %one = const 1 : f64
  %half = const 0.5 : f64
  %p = for(%0, %n, %1, %one) : f64 {(%i: i32, %q: f64)
    %xi.ref = at(%x, %i) : ref<f64>
    %xi = load(%xi.ref) : f64
    %r = for(%0, %i, %1, %q) : f64 {(%j: i32, %s: f64)
      %odd = rem(%j, %2) : i32
      %c = eq(%odd, %0) : bool
      %t = if(%c) : f64 {
        %3 = mul(%s, %xi) : f64
        %4 = math.sin(%3) : f64
        yield(%4)
      } {
        %5 = mul(%s, %s) : f64
        %6 = mul(%5, %half) : f64
        %7 = add(%6, %xi) : f64
        yield(%7)
      }
      yield(%t)
    }
    %u = add(%r, %xi) : f64
    yield(%u)
  }
  %y0 = at(%y, %0) : ref<f64>
  store(%y0, %p)
  return
}
)",
                   {{0.3, 0.7, 0.2, 0.9, 0.5}, {0}}, {5});
}

TEST(Reverse, NegativeAndZeroSteps) {
    for (const auto& [begin, end, step] : {std::tuple{4, -1, -1}, {4, -1, -2}, {4, 0, -3}, {0, 5, 2}, {0, 5, 0}}) {
        check_gradient(R"(kernel @k(%x: array<f64, 1>, %begin: i32, %end: i32, %step: i32, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %one = const 1 : f64
  %p = for(%begin, %end, %step, %one) : f64 {(%i: i32, %q: f64)
    %2 = at(%x, %i) : ref<f64>
    %3 = load(%2) : f64
    %4 = mul(%q, %3) : f64
    %5 = add(%4, %3) : f64
    yield(%5)
  }
  %6 = at(%y, %0) : ref<f64>
  store(%6, %p)
  return
}
)",
                       {{0.3, 0.7, 0.2, 0.9, 0.5}, {0}}, {begin, end, step});
    }
}

TEST(Reverse, WhileWithBreakContinueAndReturn) {
    const char* text = R"(kernel @k(%x: array<f64, 1>, %limit: i32, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %two = const 2 : f64
  %tenth = const 0.1 : f64
  %big = const 50 : f64
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %yr = at(%y, %t) : ref<f64>
  %xi = load(%xr) : f64
  %neg = lt(%xi, %tenth) : bool
  if(%neg) {
    %sq = mul(%xi, %xi) : f64
    store(%yr, %sq)
    return
  } {
    yield
  }
  %v, %n = while(%xi, %0) : f64, i32 {(%a: f64, %i: i32)
    %c = lt(%i, %limit) : bool
    condition(%c)
  } {(%a.1: f64, %i.1: i32)
    %next = add(%i.1, %1) : i32
    %skip = eq(%i.1, %1) : bool
    if(%skip) {
      continue(%a.1, %next)
    } {
      yield
    }
    %b = mul(%a.1, %two) : f64
    %d = mul(%b, %a.1) : f64
    %over = gt(%d, %big) : bool
    if(%over) {
      break(%b, %next)
    } {
      yield
    }
    yield(%d, %next)
  }
  store(%yr, %v)
  return
}
)";
    check_gradient(text, {{0.05, 0.4, 0.6, 0.9, 1.3}, {0, 0, 0, 0, 0}}, {4}, 5);
    check_gradient(text, {{0.05, 0.4, 0.6, 0.9, 1.3}, {0, 0, 0, 0, 0}}, {0}, 5);
}

TEST(Reverse, FunctionsWithArraysResultsAndLoops) {
    check_gradient(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  %s, %p = call(%x, %v) "gather" : f64, f64
  %r = mul(%s, %p) : f64
  call(%y, %t, %r) "put"
  return
}
func @gather(%a: array<f64, 1>, %scale: f64) -> (f64, f64) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %zero = const 0 : f64
  %one = const 1 : f64
  %n = shape(%a) [0] : i32
  %s, %p = for(%0, %n, %1, %zero, %one) : f64, f64 {(%i: i32, %2: f64, %3: f64)
    %4 = at(%a, %i) : ref<f64>
    %5 = load(%4) : f64
    %6 = mul(%5, %scale) : f64
    %7 = add(%2, %6) : f64
    %8 = mul(%3, %5) : f64
    yield(%7, %8)
  }
  return(%s, %p)
}
func @put(%a: array<f64, 1>, %i: i32, %v: f64) {
  %r = at(%a, %i) : ref<f64>
  %w = math.exp(%v) : f64
  store(%r, %w)
  return
}
)",
                   {{0.3, 0.7, 0.2, 0.9}, {0, 0, 0, 0}}, {}, 4);
}

TEST(Reverse, VectorsByPartAndByIndex) {
    check_gradient(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %r0 = at(%x, %0) : ref<f64>
  %r1 = at(%x, %1) : ref<f64>
  %r2 = at(%x, %2) : ref<f64>
  %a = load(%r0) : f64
  %b = load(%r1) : f64
  %c = load(%r2) : f64
  %v = compose(%a, %b, %c) : vec<3, f64>
  %w = for(%0, %2, %1, %v) : vec<3, f64> {(%i: i32, %u: vec<3, f64>)
    %e = extract_at(%u, %i) : f64
    %f = extract(%u) [2] : f64
    %g = mul(%e, %f) : f64
    %h = insert_at(%u, %g, %i) : vec<3, f64>
    %s = splat(%b) : vec<3, f64>
    %m = mul(%h, %s) : vec<3, f64>
    %d = div(%m, %u) : vec<3, f64>
    yield(%d)
  }
  %mx = extract(%w) [0] : f64
  %my = extract(%w) [1] : f64
  %mz = extract(%w) [2] : f64
  %k0 = max(%mx, %my) : f64
  %k1 = abs(%mz) : f64
  %k2 = add(%k0, %k1) : f64
  %yr = at(%y, %0) : ref<f64>
  store(%yr, %k2)
  return
}
)",
                   {{0.6, 1.7, 1.2}, {0}});
}

TEST(Reverse, AtomicsPassTheGradientThrough) {
    check_gradient(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %2 = const 2 : i32
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  %sq = mul(%v, %v) : f64
  %k = rem(%t, %2) : i32
  %yr = at(%y, %k) : ref<f64>
  %old = atomic.add(%yr, %sq) : f64
  %y0 = at(%y, %0) : ref<f64>
  %old2 = atomic.sub(%y0, %v) : f64
  return
}
)",
                   {{0.3, 0.7, 0.2, 0.9}, {0, 0}}, {}, 4);
}

TEST(Reverse, AnUnchosenArmContributesZeroNotNaN) {
    const Kernel kernel(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : f64
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  %c = gt(%v, %0) : bool
  %s = math.sqrt(%v) : f64
  %w = select(%c, %s, %0) : f64
  %yr = at(%y, %t) : ref<f64>
  store(%yr, %w)
  return
}
)");
    std::vector<Numbers> arrays = {{0, -1, 4}, {0, 0, 0}};
    std::vector<Numbers> gradients = {{0, 0, 0}, {1, 1, 1}};
    kernel.forward(arrays, {}, 3);
    kernel.backward(arrays, gradients, {}, 3);
    EXPECT_EQ(gradients[0], (Numbers{0, 0, 0.25}));
}

TEST(Reverse, AnInfiniteFactorOfAnUnchosenArmContributesZero) {
    const Kernel kernel(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : f64
  %1 = const 80 : f64
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  %c = lt(%v, %1) : bool
  %e = math.exp(%v) : f64
  %p = mul(%e, %v) : f64
  %w = select(%c, %p, %0) : f64
  %yr = at(%y, %t) : ref<f64>
  store(%yr, %w)
  return
}
)");
    std::vector<Numbers> arrays = {{1000, 0}, {0, 0}};
    std::vector<Numbers> gradients = {{0, 0}, {1, 1}};
    kernel.forward(arrays, {}, 2);
    kernel.backward(arrays, gradients, {}, 2);
    EXPECT_EQ(gradients[0], (Numbers{0, 1}));
}

TEST(Reverse, RefusesValuesThatTheKernelOverwrote) {
    const char* in_place = R"(kernel @square(%x: array<f64, 1>) {
  %t = thread.index [0] : i32
  %r = at(%x, %t) : ref<f64>
  %v = load(%r) : f64
  %w = mul(%v, %v) : f64
  store(%r, %w)
  return
}
)";
    const auto module = ir::parse(in_place);
    try {
        add_adjoint(*module, "square");
        FAIL() << "not refused";
    } catch (const UserError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Gradient);
        EXPECT_NE(error.message().find("'x'"), std::string::npos);
    }
    // Scaling needs no value: right in place.
    const Kernel scale(R"(kernel @scale(%x: array<f64, 1>) {
  %three = const 3 : f64
  %t = thread.index [0] : i32
  %r = at(%x, %t) : ref<f64>
  %v = load(%r) : f64
  %w = mul(%v, %three) : f64
  store(%r, %w)
  return
}
)");
    std::vector<Numbers> arrays = {{5}};
    std::vector<Numbers> gradients = {{2}};
    scale.forward(arrays, {}, 1);
    scale.backward(arrays, gradients, {}, 1);
    EXPECT_EQ(gradients[0][0], 6);
}

constexpr const char* kSweep = R"(kernel @sweep(%x: array<f64, 1>, %a: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %n = const 4 : i32
  %half = const 0.5 : f64
  for(%0, %2, %1) {(%turn: i32)
    for(%1, %n, %1) {(%i: i32)
      %xr = at(%x, %i) : ref<f64>
      %xi = load(%xr) : f64
      %before = sub(%i, %1) : i32
      %ab = at(%a, %before) : ref<f64>
      %left = load(%ab) : f64
      %ar = at(%a, %i) : ref<f64>
      %own = load(%ar) : f64
      %c = gt(%own, %half) : bool
      if(%c) {
        %p = mul(%own, %left) : f64
        %q = mul(%p, %xi) : f64
        store(%ar, %q)
        yield
      } {
        %again = load(%ar) : f64
        %s = math.sin(%again) : f64
        %t = add(%s, %xi) : f64
        store(%ar, %t)
        %stored = load(%ar) : f64
        %u = mul(%stored, %stored) : f64
        store(%ar, %u)
        yield
      }
      yield
    }
    yield
  }
  return
}
)";

TEST(Reverse, OverwrittenArraysAreRecordedFromTheirOldValues) {
    const Kernel kernel(kSweep);
    EXPECT_EQ(kernel.restored(), std::vector<int>{1});
    check_gradient(kSweep, {{0.3, 0.8, 0.9, 1.1}, {0.6, 0.9, 0.2, 0.7}});
    check_gradient(kSweep, {{0.3, 0.2, 1.4, 0.6}, {0.6, 0.1, 0.8, 0.3}});
}

TEST(Reverse, InPlaceProductsAndFunctionsThatWrite) {
    check_gradient(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %3 = const 3 : i32
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  for(%0, %3, %1) {(%i: i32)
    call(%y, %t, %v) "scale"
    yield
  }
  return
}
func @scale(%a: array<f64, 1>, %i: i32, %v: f64) {
  %r = at(%a, %i) : ref<f64>
  %old = load(%r) : f64
  %new = mul(%old, %v) : f64
  store(%r, %new)
  %sq = mul(%new, %old) : f64
  store(%r, %sq)
  return
}
)",
                   {{0.9, 1.2}, {0.8, 1.1}}, {}, 2);
}

TEST(Reverse, TheResultOfAnAtomicIsRefused) {
    const auto module = ir::parse(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %r = at(%x, %0) : ref<f64>
  %v = load(%r) : f64
  %old = atomic.add(%r, %v) : f64
  %p = mul(%old, %old) : f64
  %yr = at(%y, %0) : ref<f64>
  store(%yr, %p)
  return
}
)");
    AdjointNeeds needs;
    EXPECT_THROW(add_adjoint(*module, "k", &needs), UserError);
}

TEST(Reverse, AnArrayWithoutGradientIsLeftAlone) {
    const Kernel kernel(R"(kernel @k(%x: array<f64, 1>, %w: array<f64, 1>, %y: array<f64, 1>) {
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %wr = at(%w, %t) : ref<f64>
  %v = load(%xr) : f64
  %u = load(%wr) : f64
  %p = mul(%u, %v) : f64
  %yr = at(%y, %t) : ref<f64>
  store(%yr, %p)
  return
}
)");
    std::vector<Numbers> arrays = {{2, 3}, {5, 7}, {0, 0}};
    std::vector<Numbers> gradients = {{0, 0}, {}, {1, 1}};  // an empty vector's data() is null: no gradient
    gradients[1].shrink_to_fit();
    kernel.forward(arrays, {}, 2);
    kernel.backward(arrays, gradients, {}, 2);
    EXPECT_EQ(gradients[0], (Numbers{5, 7}));
}

}  // namespace
}  // namespace weft::ad
