// Tangents of kernels written as IR text against central differences in float64; Hessian-vector products, as tangents
// of adjoints, against differences of gradients.
#include "ad/forward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ad/reverse.h"
#include "ad/run_numbers.h"
#include "base/error.h"
#include "ir/text.h"

namespace weft::ad {
namespace {

// A kernel of x (first) and y (last) and what is between, with its tangent, adjoint and the adjoint's tangent.
class Derivatives {
  public:
    explicit Derivatives(const std::string& text) : module_(ir::parse(text)) {
        name_ = module_->functions.front()->name;
        forward_ = load(module_, name_);
        std::shared_ptr<ir::Module> tangent = ir::parse(text);
        tangent_ = load(tangent, add_tangent(*tangent, name_));
        std::shared_ptr<ir::Module> adjoint = ir::parse(text);
        const std::string adjoint_name = add_adjoint(*adjoint, name_);
        adjoint_ = load(adjoint, adjoint_name);
        std::shared_ptr<ir::Module> second = ir::parse(text);
        add_adjoint(*second, name_);
        second_ = load(second, add_tangent(*second, adjoint_name));
    }

    Numbers y(const Numbers& x, size_t outputs, const std::vector<int>& scalars, int items) const {
        Numbers in = x;
        Numbers out(outputs);
        call(forward_, {&in, &out}, scalars, items);
        return out;
    }

    // dy for a change dx of x.
    Numbers tangent(const Numbers& x, const Numbers& dx, size_t outputs, const std::vector<int>& scalars,
                    int items) const {
        Numbers in = x;
        Numbers din = dx;
        Numbers out(outputs);
        Numbers dout(outputs);
        call(tangent_, {&in, &out, &din, &dout}, scalars, items);
        return dout;
    }

    Numbers gradient(const Numbers& x, size_t outputs, const std::vector<int>& scalars, int items) const {
        Numbers in = x;
        Numbers out = y(x, outputs, scalars, items);
        Numbers gx(x.size());
        Numbers gy(outputs, 1.0);
        call(adjoint_, {&in, &out, &gx, &gy}, scalars, items);
        return gx;
    }

    // The Hessian of sum(y) times v.
    Numbers hessian_vector(const Numbers& x, const Numbers& v, size_t outputs, const std::vector<int>& scalars,
                           int items) const {
        Numbers in = x;
        Numbers out = y(x, outputs, scalars, items);
        Numbers gx(x.size());
        Numbers gy(outputs, 1.0);
        Numbers dx = v;
        Numbers dy = tangent(x, v, outputs, scalars, items);
        Numbers dgx(x.size());
        Numbers dgy(outputs);
        call(second_, {&in, &out, &gx, &gy, &dx, &dy, &dgx, &dgy}, scalars, items);
        return dgx;
    }

  private:
    struct Loaded {
        std::shared_ptr<const ir::Module> module;
        const ir::Function* function;
        std::shared_ptr<runtime::LoadedKernel> kernel;
    };

    static Loaded load(const std::shared_ptr<const ir::Module>& module, const std::string& name) {
        return {module, module->find(name), compiler().request(module, name)};
    }

    static void call(const Loaded& loaded, const std::vector<Numbers*>& arrays, std::vector<int> scalars, int items) {
        // A tangent's scalars stand among its parameters once, as integers have none.
        run(*loaded.function, loaded.kernel->wait(), arrays, scalars, items);
    }

    std::shared_ptr<const ir::Module> module_;
    std::string name_;
    Loaded forward_;
    Loaded tangent_;
    Loaded adjoint_;
    Loaded second_;
};

void check(const std::string& text, const Numbers& x, size_t outputs, const std::vector<int>& scalars = {},
           int items = 1) {
    const Derivatives d(text);
    Numbers v(x.size());
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::cos(1.0 + 2.0 * static_cast<double>(i));
    const double h = 1e-6;
    Numbers plus = x;
    Numbers minus = x;
    for (size_t i = 0; i < x.size(); ++i) {
        plus[i] += h * v[i];
        minus[i] -= h * v[i];
    }
    const auto expect_difference = [&](const Numbers& got, const Numbers& up, const Numbers& down, const char* what) {
        for (size_t i = 0; i < got.size(); ++i) {
            const double expected = (up[i] - down[i]) / (2 * h);
            EXPECT_NEAR(got[i], expected, 2e-6 * (1 + std::fabs(expected))) << what << "[" << i << "] of\n" << text;
        }
    };
    expect_difference(d.tangent(x, v, outputs, scalars, items), d.y(plus, outputs, scalars, items),
                      d.y(minus, outputs, scalars, items), "tangent");
    expect_difference(d.hessian_vector(x, v, outputs, scalars, items), d.gradient(plus, outputs, scalars, items),
                      d.gradient(minus, outputs, scalars, items), "Hessian-vector product");
}

TEST(Forward, LoopsBranchesAndEarlyExits) {
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
    check(text, {0.05, 0.4, 0.6, 0.9, 1.3}, 5, {4}, 5);
    check(text, {0.05, 0.4, 0.6, 0.9, 1.3}, 5, {0}, 5);
}

TEST(Forward, FunctionsVectorsAndAtomics) {
    check(R"(kernel @k(%x: array<f64, 1>, %y: array<f64, 1>) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %t = thread.index [0] : i32
  %xr = at(%x, %t) : ref<f64>
  %v = load(%xr) : f64
  %s, %p = call(%x, %v) "gather" : f64, f64
  %w = compose(%s, %p, %v) : vec<3, f64>
  %u = splat(%v) : vec<3, f64>
  %q = div(%w, %u) : vec<3, f64>
  %e = extract_at(%q, %t) : f64
  %r = mul(%s, %e) : f64
  call(%y, %t, %r) "put"
  %y0 = at(%y, %0) : ref<f64>
  %old = atomic.add(%y0, %p) : f64
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
  %old = atomic.add(%r, %w) : f64
  return
}
)",
          {0.3, 0.7, 0.9}, 3, {}, 3);
}

TEST(Forward, RefusesAtomicMaximaOfFloats) {
    const auto module = ir::parse(R"(kernel @k(%x: array<f64, 1>) {
  %0 = const 0 : i32
  %r = at(%x, %0) : ref<f64>
  %v = load(%r) : f64
  %old = atomic.max(%r, %v) : f64
  return
}
)");
    EXPECT_THROW(add_tangent(*module, "k"), UserError);
}

}  // namespace
}  // namespace weft::ad
