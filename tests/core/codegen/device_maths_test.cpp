// The functions of device/maths.h against the C library in double precision, one by one and in lanes: errors in units
// in the last place, and the same bits however many lanes there are.
#include <cmath>
#include <random>

#include "codegen/run.h"
#include "ir/builder.h"

namespace weft {
namespace {

std::string kernel(const std::string& name) {
    return "kernel @k(%a: array<f32, 1>, %o: array<f32, 1>) {\n  %i = thread.index [0] : i32\n"
           "  %r = at(%a, %i) : ref<f32>\n  %x = load(%r) : f32\n  %y = math." +
           name + "(%x) : f32\n  %q = at(%o, %i) : ref<f32>\n  store(%q, %y)\n  return\n}\n";
}

double error(float got, double want) {
    const auto rounded = static_cast<float>(want);
    if (std::isnan(rounded) || std::isinf(rounded)) {
        return std::isnan(got) == std::isnan(rounded) && (std::isnan(got) || got == rounded) ? 0 : 1e9;
    }
    const float size = std::max(std::fabs(rounded), 0x1p-126F);
    return std::fabs(static_cast<double>(got) - want) / (std::nextafter(size, INFINITY) - size);
}

TEST(DeviceMaths, ErrorsAndBits) {
    std::mt19937 random(1);
    std::vector<float> in = {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, 0.5F, INFINITY, -INFINITY, NAN, 1e30F, -1e30F, 1e-40F};
    while (in.size() < 4001) in.push_back(static_cast<float>(ir::number_of(ir::Scalar::F32, random())));
    while (in.size() < 8000) in.push_back(static_cast<float>(random()) / 0x1p25F - 64);
    const auto check = [&](const std::string& name, double (*reference)(double)) {
        std::vector<uint32_t> first;
        for (const int lanes : {1, 2, 4, 8, 16}) {
            std::vector<float> out(in.size());
            testing::Kernel(kernel(name), {"llvm-cpu", 2, true, lanes})
                .run(testing::Arguments().array(in).array(out), {static_cast<int64_t>(in.size())});
            std::vector<uint32_t> bits(out.size());
            for (size_t i = 0; i < out.size(); ++i) {
                EXPECT_LE(error(out[i], reference(in[i])), std::fabs(in[i]) < 1e6 ? 0.51 : 1.0)
                    << name << " of " << in[i] << " is " << out[i] << " with " << lanes << " lanes";
                if (!std::isnan(out[i])) std::memcpy(&bits[i], &out[i], 4);
            }
            if (lanes == 1) first = bits;
            EXPECT_EQ(bits, first) << name << " with " << lanes << " lanes";
        }
    };
#define REFERENCE_Device(name) check(#name, [](double x) { return std::name(x); });
#define REFERENCE_Exact(name)
#define REFERENCE_Library(name)
#define MATH(Name, name, operands, kind) REFERENCE_##kind(name)
#include "ir/math.def"
#undef MATH
}

}  // namespace
}  // namespace weft
