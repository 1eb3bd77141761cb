// Kernels from IR to their effect, without Python: what parameters read and write, map kernels, launches.
#include "runtime/launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "ir/text.h"
#include "runtime/access.h"
#include "runtime/array.h"
#include "runtime/device.h"
#include "runtime/map_kernel.h"

namespace weft::runtime {
namespace {

TEST(Access, FollowsViewsAndCalls) {
    const auto module = ir::parse(R"(
func @put(%t: array<f32, 1>, %x: f32) {
  %0 = const 0 : i32
  %1 = at(%t, %0) : ref<f32>
  store(%1, %x)
  return()
}
kernel @k(%a: array<f32, 2>, %b: array<f32, 1>, %c: array<f32, 1>, %n: i32) {
  %row = view(%a, %n) : array<f32, 1>
  %0 = at(%row, %n) : ref<f32>
  %x = load(%0) : f32
  call(%b, %x) "put"
  return()
}
)");
    const auto access = parameter_access(*module, *module->find("k"));
    ASSERT_EQ(access.size(), 4U);
    EXPECT_TRUE(access[0].read && !access[0].write);
    EXPECT_TRUE(!access[1].read && access[1].write);
    EXPECT_TRUE(!access[2].read && !access[2].write);
    EXPECT_TRUE(contains(*module, *module->find("k"), ir::Opcode::Store));
    EXPECT_FALSE(contains(*module, *module->find("k"), ir::Opcode::Assert));
}

class MapKernels : public ::testing::Test {
  protected:
    Device& host = *devices().front();
};

TEST_F(MapKernels, ApplyABuiltinByElement) {
    const std::vector<MapOperand> operands = {{ir::f32(), 1, {false}}, {ir::f32(), 0, {}}};
    const MapKernel made = make_map_kernel(frontend::BuiltinName{"mul"}, "mul", operands, 1);
    ASSERT_EQ(made.results, std::vector<ir::Type>{ir::f32()});
    Kernel kernel("mul", made.source, {});
    Code& code = kernel.instance({}).forward();
    ASSERT_EQ(code.parameters().size(), 3U);
    EXPECT_TRUE(code.parameters()[0].access.read && !code.parameters()[0].access.write);
    EXPECT_TRUE(code.parameters()[2].access.write);

    const std::vector<int64_t> shape = {1000};
    const Array in(ir::f32(), shape, host, false);
    const Array out(ir::f32(), shape, host, true);
    for (int i = 0; i < 1000; ++i) reinterpret_cast<float*>(in.data())[i] = static_cast<float>(i);
    std::vector<std::byte> block(static_cast<size_t>(code.block_bytes()));
    in.write_descriptor(block.data() + code.parameters()[0].offset);
    const float factor = 0.5F;
    std::memcpy(block.data() + code.parameters()[1].offset, &factor, sizeof(factor));
    out.write_descriptor(block.data() + code.parameters()[2].offset);

    codegen::LaunchShape launch;
    launch.dims[0] = 1000;
    run_on_host(code, block.data(), launch);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(reinterpret_cast<float*>(out.data())[i], 0.5F * static_cast<float>(i));

    launch.dims[0] = -1;
    EXPECT_THROW(run_on_host(code, block.data(), launch), UserError);
    launch.dims[0] = (int64_t{1} << 31) + 1;
    EXPECT_THROW(run_on_host(code, block.data(), launch), UserError);
    launch.dims[0] = 0;
    run_on_host(code, block.data(), launch);
    EXPECT_NO_THROW(kernel.instance({}).adjoint().wait());
}

TEST_F(MapKernels, RefuseTypesThatTheBuiltinDoesNotTake) {
    const std::vector<MapOperand> operands = {{ir::f32(), 1, {false}}, {ir::i32(), 0, {}}};
    EXPECT_THROW(make_map_kernel(frontend::BuiltinName{"add"}, "add", operands, 1), UserError);
}

}  // namespace
}  // namespace weft::runtime
