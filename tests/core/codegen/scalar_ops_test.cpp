// Every scalar op on every scalar type at the edges of its range, against values computed here in wider arithmetic.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/small_float.h"
#include "codegen/run.h"

namespace weft {
namespace {

using ir::Scalar;
using testing::Arguments;
using testing::Kernel;

class ScalarOps : public testing::EveryBackend {};
INSTANTIATE_TEST_SUITE_P(All, ScalarOps, ::testing::ValuesIn(testing::every_backend()), testing::config_name);

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

std::vector<Scalar> all_types() {
    std::vector<Scalar> out;
    for (int i = 0; i < ir::kScalarCount; ++i) out.push_back(static_cast<Scalar>(i));
    return out;
}

int width(Scalar s) { return ir::scalar_bits(s); }
uint64_t mask(Scalar s) { return width(s) == 64 ? ~uint64_t{0} : (uint64_t{1} << width(s)) - 1; }

Wide integer(Scalar s, uint64_t bits) {
    if (!ir::is_signed_int(s)) return static_cast<Wide>(bits);
    const int shift = 64 - width(s);
    return static_cast<int64_t>(bits << shift) >> shift;
}

double number(Scalar s, uint64_t bits) {
    switch (s) {
        case Scalar::F16:
            return f16_to_double(static_cast<uint16_t>(bits));
        case Scalar::BF16:
            return bf16_to_double(static_cast<uint16_t>(bits));
        case Scalar::F32:
            return std::bit_cast<float>(static_cast<uint32_t>(bits));
        case Scalar::F64:
            return std::bit_cast<double>(bits);
        default:
            return static_cast<double>(integer(s, bits));
    }
}

uint64_t rounded(Scalar s, double value) {
    switch (s) {
        case Scalar::F16:
            return f16_from_double(value);
        case Scalar::BF16:
            return bf16_from_double(value);
        case Scalar::F32:
            return std::bit_cast<uint32_t>(static_cast<float>(value));
        default:
            return std::bit_cast<uint64_t>(value);
    }
}

std::vector<uint64_t> edge_values(Scalar s) {
    std::vector<uint64_t> out;
    if (s == Scalar::Bool) return {0, 1};
    if (ir::is_float(s)) {
        for (const double v : {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               -0.5,
                               1.5,
                               2.5,
                               -2.5,
                               3.0,
                               -7.0,
                               1.0 / 3.0,
                               100.25,
                               -1234.5,
                               65504.0,
                               65519.0,
                               65520.0,
                               2049.0,
                               257.0,
                               6.1e-5,
                               5.9e-8,
                               3.4e38,
                               1e-40,
                               1e300,
                               -1e300,
                               4e-320,
                               2147483647.0,
                               -2147483648.0,
                               2147483648.0,
                               4294967295.0,
                               9.3e18,
                               1.9e19,
                               127.6,
                               -128.9,
                               255.5,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
            out.push_back(rounded(s, v));
        }
        return out;
    }
    const uint64_t top = uint64_t{1} << (width(s) - 1);
    for (const uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{7}, uint64_t{31},
                             uint64_t{33}, uint64_t{100}, top, top - 1, top + 1, ~uint64_t{0}, ~uint64_t{0} - 1,
                             ~uint64_t{0} - 6, uint64_t{0x1000001}, uint64_t{0x20000000000001}}) {
        out.push_back(v & mask(s));
    }
    return out;
}

// Arrays of any scalar type, as bytes.
struct Column {
    std::vector<unsigned char> bytes;
    Scalar type;
    Column(Scalar s, size_t n) : bytes(n * static_cast<size_t>(width(s)) / 8), type(s) {}
    void set(size_t i, uint64_t bits) { std::memcpy(bytes.data() + i * size(), &bits, size()); }
    uint64_t get(size_t i) const {
        uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * size(), size());
        return bits;
    }
    size_t size() const { return static_cast<size_t>(width(type)) / 8; }
    size_t count() const { return bytes.size() / size(); }
    void pass(Arguments& arguments) {
        arguments.array(bytes.data(), {static_cast<int64_t>(count())}, static_cast<int64_t>(size()));
    }
};

struct Line {
    std::string name;  // of the op, for messages
    std::string code;  // defines %r from %x and %y, with the help of %q
    Scalar result;
    std::function<uint64_t(uint64_t, uint64_t)> expected;
};

bool same(Scalar s, uint64_t a, uint64_t b) {
    return a == b || (ir::is_float(s) && std::isnan(number(s, a)) && std::isnan(number(s, b)));
}

std::string type_name(Scalar s) { return std::string(ir::scalar_name(s)); }

// One kernel computes all lines for all pairs of values.
void check(const testing::Config& config, Scalar type, const std::vector<uint64_t>& values,
           const std::vector<Line>& lines) {
    const std::string t = type_name(type);
    std::string text = "kernel @k(%a: array<" + t + ", 1>, %b: array<" + t + ", 1>";
    for (size_t i = 0; i < lines.size(); ++i)
        text += ", %o" + std::to_string(i) + ": array<" + type_name(lines[i].result) + ", 1>";
    text += ") {\n  %i = thread.index [0] : i32\n  %ra = at(%a, %i) : ref<" + t + ">\n  %rb = at(%b, %i) : ref<" + t +
            ">\n";
    text += "  %x = load(%ra) : " + t + "\n  %y = load(%rb) : " + t + "\n";
    for (size_t i = 0; i < lines.size(); ++i) {
        const std::string n = std::to_string(i);
        std::string code = lines[i].code;
        for (const char* own : {"%r", "%q"}) {
            for (size_t at = 0; (at = code.find(own, at)) != std::string::npos; at += 2) code.insert(at + 2, n);
        }
        text += "  " + code + "\n  %p" + n + " = at(%o" + n + ", %i) : ref<" + type_name(lines[i].result) +
                ">\n  store(%p" + n + ", %r" + n + ")\n";
    }
    text += "  return\n}\n";
    const size_t n = values.size() * values.size();
    Column a(type, n);
    Column b(type, n);
    for (size_t i = 0; i < n; ++i) {
        a.set(i, values[i / values.size()]);
        b.set(i, values[i % values.size()]);
    }
    std::vector<Column> outputs;
    for (const Line& line : lines) outputs.emplace_back(line.result, n);
    Arguments arguments;
    a.pass(arguments);
    b.pass(arguments);
    for (Column& column : outputs) column.pass(arguments);
    const Kernel kernel(text, config);
    kernel.run(arguments, {static_cast<int64_t>(n)});
    for (size_t k = 0; k < lines.size(); ++k) {
        int failures = 0;
        for (size_t i = 0; i < n && failures < 3; ++i) {
            const uint64_t want = lines[k].expected(a.get(i), b.get(i));
            const uint64_t got = outputs[k].get(i);
            if (same(lines[k].result, got, want)) continue;
            ++failures;
            ADD_FAILURE() << lines[k].name << " of " << t << ": x = " << number(type, a.get(i))
                          << ", y = " << number(type, b.get(i)) << std::hex << ", got 0x" << got << ", expected 0x"
                          << want;
        }
    }
}

uint64_t integer_op(Scalar s, const std::string& op, uint64_t a, uint64_t b) {
    const Wide x = integer(s, a);
    const Wide y = integer(s, b);
    const auto low = [&](Wide v) { return static_cast<uint64_t>(v) & mask(s); };
    if (op == "add") return low(x + y);
    if (op == "sub") return low(x - y);
    if (op == "mul") return low(static_cast<Wide>(static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y)));
    if (op == "div") return y == 0 ? 0 : low(x / y);
    if (op == "rem") return y == 0 ? 0 : low(x % y);
    if (op == "floordiv") return y == 0 ? 0 : low(x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
    if (op == "min") return low(y < x ? y : x);
    if (op == "max") return low(y > x ? y : x);
    if (op == "and") return low(x & y);
    if (op == "or") return low(x | y);
    if (op == "xor") return low(x ^ y);
    const auto count = static_cast<int>(b & static_cast<uint64_t>(width(s) - 1));
    if (op == "shl") return low(static_cast<Wide>(static_cast<UnsignedWide>(x) << count));
    return low(x >> count);
}

double float_op(Scalar s, const std::string& op, double x, double y) {
    if (op == "add") return x + y;
    if (op == "sub") return x - y;
    if (op == "mul") return x * y;
    if (op == "div") return x / y;
    // The quotient is rounded before its floor is taken, in f32 for all but f64.
    if (op == "floordiv") return std::floor(s == Scalar::F64 ? x / y : static_cast<double>(static_cast<float>(x / y)));
    if (op == "rem") return std::fmod(x, y);
    if (op == "min") return std::isnan(x) ? y : y < x ? y : x;
    return std::isnan(x) ? y : y > x ? y : x;
}

TEST_P(ScalarOps, Binary) {
    for (const Scalar s : all_types()) {
        std::vector<Line> lines;
        std::vector<std::string> ops = {"add", "sub", "mul", "div", "rem", "floordiv", "min", "max"};
        if (s == Scalar::Bool) ops.clear();
        if (!ir::is_float(s)) ops.insert(ops.end(), {"and", "or", "xor"});
        if (ir::is_int(s)) ops.insert(ops.end(), {"shl", "shr"});
        for (const std::string& op : ops) {
            lines.push_back({op, "%r = " + op + "(%x, %y) : " + type_name(s), s, [s, op](uint64_t a, uint64_t b) {
                                 if (!ir::is_float(s)) return integer_op(s, op, a, b);
                                 return rounded(s, float_op(s, op, number(s, a), number(s, b)));
                             }});
        }
        for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
            lines.push_back(
                {op, "%r = " + op + "(%x, %y) : bool", Scalar::Bool, [s, op](uint64_t a, uint64_t b) -> uint64_t {
                     const auto holds = [&](auto x, auto y) {
                         if (op == "eq") return x == y;
                         if (op == "ne") return x != y;
                         if (op == "lt") return x < y;
                         if (op == "le") return x <= y;
                         if (op == "gt") return x > y;
                         return x >= y;
                     };
                     return ir::is_float(s) ? holds(number(s, a), number(s, b)) : holds(integer(s, a), integer(s, b));
                 }});
        }
        check(GetParam(), s, edge_values(s), lines);
    }
}

TEST_P(ScalarOps, Unary) {
    for (const Scalar s : all_types()) {
        std::vector<Line> lines;
        const std::string t = type_name(s);
        if (s != Scalar::Bool) {
            lines.push_back({"neg", "%r = neg(%x) : " + t, s, [s](uint64_t a, uint64_t) {
                                 return ir::is_float(s) ? rounded(s, -number(s, a))
                                                        : static_cast<uint64_t>(-integer(s, a)) & mask(s);
                             }});
            lines.push_back({"abs", "%r = abs(%x) : " + t, s, [s](uint64_t a, uint64_t) {
                                 if (ir::is_float(s)) return rounded(s, std::fabs(number(s, a)));
                                 const Wide v = integer(s, a);
                                 return static_cast<uint64_t>(v < 0 ? -v : v) & mask(s);
                             }});
        }
        if (!ir::is_float(s)) {
            lines.push_back({"not", "%r = not(%x) : " + t, s,
                             [s](uint64_t a, uint64_t) { return s == Scalar::Bool ? a ^ 1 : ~a & mask(s); }});
        }
        check(GetParam(), s, edge_values(s), lines);
    }
}

uint64_t cast(Scalar to, Scalar from, uint64_t bits) {
    if (to == Scalar::Bool) return ir::is_float(from) ? number(from, bits) != 0 : bits != 0;
    if (ir::is_float(to)) {
        if (to == Scalar::F32 && !ir::is_float(from)) {
            const Wide v = integer(from, bits);
            return std::bit_cast<uint32_t>(v < 0 ? static_cast<float>(static_cast<int64_t>(v))
                                                 : static_cast<float>(static_cast<uint64_t>(v)));
        }
        return rounded(to, number(from, bits));
    }
    if (!ir::is_float(from)) return static_cast<uint64_t>(integer(from, bits)) & mask(to);
    const double v = number(from, bits);
    const bool wide = width(to) == 64 || to == Scalar::U32;
    const double limit = wide ? 0x1p63 : 0x1p31;
    if (to == Scalar::U64 && v >= 0x1p63) return v < 0x1p64 ? static_cast<uint64_t>(v) : uint64_t{1} << 63;
    const double whole = std::trunc(v);
    if (!(whole >= -limit && whole < limit)) return (wide ? uint64_t{1} << 63 : uint64_t{1} << 31) & mask(to);
    return static_cast<uint64_t>(static_cast<int64_t>(whole)) & mask(to);
}

TEST_P(ScalarOps, CastsAndBitcasts) {
    for (const Scalar from : all_types()) {
        std::vector<Line> lines;
        for (const Scalar to : all_types()) {
            lines.push_back({"cast to " + type_name(to), "%r = cast(%x) : " + type_name(to), to,
                             [=](uint64_t a, uint64_t) { return cast(to, from, a); }});
            if (width(from) != width(to)) continue;
            lines.push_back({"bitcast to " + type_name(to), "%r = bitcast(%x) : " + type_name(to), to,
                             [=](uint64_t a, uint64_t) { return to == Scalar::Bool ? uint64_t{a != 0} : a; }});
        }
        check(GetParam(), from, edge_values(from), lines);
    }
}

TEST_P(ScalarOps, DivisionByConstants) {
    for (const Scalar s : {Scalar::I8, Scalar::I32, Scalar::I64, Scalar::U32}) {
        std::vector<Line> lines;
        for (const int64_t divisor : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{3}, int64_t{-7}, int64_t{64}}) {
            if (divisor < 0 && !ir::is_signed_int(s)) continue;
            for (const std::string op : {"div", "floordiv", "rem"}) {
                const std::string t = type_name(s);
                const auto bits = static_cast<uint64_t>(divisor) & mask(s);
                lines.push_back(
                    {op + " by " + std::to_string(divisor),
                     "%q = const " + std::to_string(divisor) + " : " + t + "\n  %r = " + op + "(%x, %q) : " + t, s,
                     [=](uint64_t a, uint64_t) { return integer_op(s, op, a, bits); }});
            }
        }
        check(GetParam(), s, edge_values(s), lines);
    }
}

struct MathRow {
    std::string name;
    int operands;
    std::function<double(double, double)> reference;
};

TEST_P(ScalarOps, Maths) {
    std::vector<MathRow> rows;
#define REFERENCE_1(name) [](double x, double) { return std::name(x); }
#define REFERENCE_2(name) [](double x, double y) { return std::name(x, y); }
#define MATH(Name, name, operands, kind) rows.push_back({#name, operands, REFERENCE_##operands(name)});
#include "ir/math.def"
#undef MATH
    for (const Scalar s : {Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
        const std::string t = type_name(s);
        std::string text = "kernel @k(%a: array<" + t + ", 1>, %b: array<" + t + ", 1>, %o: array<" + t +
                           ", 2>) {\n  %i = thread.index [0] : i32\n";
        text += "  %ra = at(%a, %i) : ref<" + t + ">\n  %x = load(%ra) : " + t + "\n  %rb = at(%b, %i) : ref<" + t +
                ">\n  %y = load(%rb) : " + t + "\n";
        for (size_t k = 0; k < rows.size(); ++k) {
            const std::string n = std::to_string(k);
            text += "  %k" + n + " = const " + n + " : i32\n  %r" + n + " = math." + rows[k].name +
                    (rows[k].operands == 2 ? "(%x, %y)" : "(%x)") + " : " + t + "\n  %p" + n + " = at(%o, %k" + n +
                    ", %i) : ref<" + t + ">\n  store(%p" + n + ", %r" + n + ")\n";
        }
        text += "  return\n}\n";
        std::vector<double> xs = {0.0, -0.0, 0.25, -0.5, 0.75, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 7.25, -8.0, 0.5, 20.0};
        Column a(s, xs.size());
        Column b(s, xs.size());
        for (size_t i = 0; i < xs.size(); ++i) {
            a.set(i, rounded(s, xs[i]));
            b.set(i, rounded(s, xs[xs.size() - 1 - i]));
        }
        Column out(s, xs.size() * rows.size());
        Arguments arguments;
        a.pass(arguments);
        b.pass(arguments);
        arguments.array(out.bytes.data(), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(xs.size())},
                        static_cast<int64_t>(out.size()));
        const Kernel kernel(text, GetParam());
        kernel.run(arguments, {static_cast<int64_t>(xs.size())});
        const double tolerance = s == Scalar::F64 ? 1e-15 : s == Scalar::F32 ? 3e-7 : s == Scalar::F16 ? 5e-4 : 4e-3;
        for (size_t k = 0; k < rows.size(); ++k) {
            for (size_t i = 0; i < xs.size(); ++i) {
                const double want = number(s, rounded(s, rows[k].reference(xs[i], xs[xs.size() - 1 - i])));
                const double got = number(s, out.get(k * xs.size() + i));
                if (std::isnan(want) && std::isnan(got)) continue;
                const bool close =
                    std::isfinite(want) ? std::fabs(got - want) <= tolerance * std::fabs(want) + 1e-30 : got == want;
                EXPECT_TRUE(close) << rows[k].name << " of " << t << " at " << xs[i] << ": got " << got << ", expected "
                                   << want;
            }
        }
    }
}

}  // namespace
}  // namespace weft
