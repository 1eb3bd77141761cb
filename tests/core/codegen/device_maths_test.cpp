// The functions of device/maths.h against the C library in double precision, one by one and in lanes: errors in units
// in the last place, and the same bits however many lanes there are.
#include <cmath>
#include <random>

#include "codegen/run.h"
#include "ir/builder.h"

namespace weft {
namespace {

std::string kernel(const std::string& name, int operands) {
    return "kernel @k(%a: array<f32, 1>, %b: array<f32, 1>, %o: array<f32, 1>) {\n  %i = thread.index [0] : i32\n"
           "  %r = at(%a, %i) : ref<f32>\n  %x = load(%r) : f32\n"
           "  %s = at(%b, %i) : ref<f32>\n  %z = load(%s) : f32\n  %y = math." +
           name + (operands == 2 ? "(%x, %z)" : "(%x)") +
           " : f32\n  %q = at(%o, %i) : ref<f32>\n  store(%q, %y)\n  return\n}\n";
}

double error(float got, double want) {
    const auto rounded = static_cast<float>(want);
    if (std::isnan(rounded) || std::isinf(rounded)) {
        return std::isnan(got) == std::isnan(rounded) && (std::isnan(got) || got == rounded) ? 0 : 1e9;
    }
    const float size = std::max(std::fabs(rounded), 0x1p-126F);
    return std::fabs(static_cast<double>(got) - want) / (std::nextafter(size, INFINITY) - size);
}

// Every edge beside every other one, then random bits, then numbers of moderate size.
struct Inputs {
    std::vector<float> x;
    std::vector<float> y;

    Inputs() {
        std::mt19937 random(1);
        const float infinity = INFINITY;
        const std::vector<float> edges = {0.0F,  -0.0F,  1.0F,   -1.0F,  2.0F,      -2.0F,     3.0F,
                                          -3.0F, 0.5F,   -0.5F,  1.5F,   -2.5F,     infinity,  -infinity,
                                          NAN,   1e30F,  -1e30F, 1e-40F, 16777215,  -16777215, 16777216,
                                          1e-3F, -1e-3F, 0.4F,   2.42F,  0.999999F, 1.000001F, -0.999999F};
        for (const float a : edges) {
            for (const float b : edges) add(a, b);
        }
        const auto any = [&] { return static_cast<float>(ir::number_of(ir::Scalar::F32, random())); };
        while (x.size() < 5001) add(any(), any());
        const auto moderate = [&] { return static_cast<float>(random()) / 0x1p25F - 64; };
        while (x.size() < 9000) add(moderate(), moderate());
        while (x.size() < 13000) add(moderate() / 64, moderate() / 8);
    }

  private:
    void add(float a, float b) {
        x.push_back(a);
        y.push_back(b);
    }
};

double called(double (*reference)(double), double x, double) { return reference(x); }
double called(double (*reference)(double, double), double x, double y) { return reference(x, y); }

TEST(DeviceMaths, ErrorsAndBits) {
    Inputs in;
    const auto check = [&](const std::string& name, int operands, auto reference, double limit) {
        std::vector<uint32_t> first;
        for (const int lanes : {1, 2, 4, 8, 16}) {
            std::vector<float> out(in.x.size());
            testing::Kernel(kernel(name, operands), {"llvm-cpu", 2, true, lanes})
                .run(testing::Arguments().array(in.x).array(in.y).array(out), {static_cast<int64_t>(in.x.size())});
            std::vector<uint32_t> bits(out.size());
            for (size_t i = 0; i < out.size(); ++i) {
                const double wanted = called(reference, in.x[i], in.y[i]);
                EXPECT_LE(error(out[i], wanted), std::fabs(in.x[i]) < limit ? 0.51 : 1.0)
                    << name << " of " << in.x[i] << ", " << in.y[i] << " is " << out[i] << " with " << lanes
                    << " lanes, not " << wanted;
                EXPECT_TRUE(wanted != 0.0 || std::signbit(out[i]) == std::signbit(wanted)) << name << " of " << in.x[i];
                if (!std::isnan(out[i])) std::memcpy(&bits[i], &out[i], 4);
            }
            if (lanes == 1) first = bits;
            EXPECT_EQ(bits, first) << name << " with " << lanes << " lanes";
        }
    };
    using One = double (*)(double);
    using Two = double (*)(double, double);
#define SIGNATURE_1 One
#define SIGNATURE_2 Two
#define REFERENCE_Device(name, operands) check(#name, operands, static_cast<SIGNATURE_##operands>(std::name), INFINITY);
#define REFERENCE_Bounded(name, operands) check(#name, operands, static_cast<SIGNATURE_##operands>(std::name), 1e6);
#define REFERENCE_Exact(name, operands)
#define REFERENCE_Library(name, operands)
#define MATH(Name, name, operands, kind) REFERENCE_##kind(name, operands)
#include "ir/math.def"
#undef MATH
}

}  // namespace
}  // namespace weft
