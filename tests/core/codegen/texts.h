// Kernels in the text of the IR that several tests of code generation compile.
#pragma once

namespace weft::testing {

// o[i] = o[i] * gain + o[i]
constexpr const char* kMultiplyAdd = R"(kernel @k(%o: array<f32, 1>, %gain: f32) {
  %i = thread.index [0] : i32
  %r = at(%o, %i) : ref<f32>
  %x = load(%r) : f32
  %m = mul(%x, %gain) : f32
  %s = add(%m, %x) : f32
  store(%r, %s)
  return
}
)";

}  // namespace weft::testing
