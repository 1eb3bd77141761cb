// Random programs give the same bits however they are compiled: both backends, optimised or not.
#include <map>
#include <random>

#include "codegen/run.h"

namespace weft {
namespace {

const std::vector<std::string> kTypes = {"i32", "i64", "i16", "u8", "u32", "u64", "f32", "f64", "f16", "bf16", "bool"};

bool is_float(const std::string& t) { return t[0] == 'f' || t == "bf16"; }

// Writes a program that computes values from %x: i32 and the item's index, and gives the last ones of each type away.
class Generator {
  public:
    explicit Generator(uint32_t seed) : random_(seed) {}

    std::string program() {
        text_ =
            "kernel @k(%n: array<i32, 1>, %o: array<i64, 2>) {\n  %i = thread.index [0] : i32\n  %rn = at(%n, %i) : "
            "ref<i32>\n"
            "  %x = load(%rn) : i32\n";
        known_["i32"] = {"%i", "%x"};
        for (const std::string& t : kTypes) {
            if (t != "i32") known_[t].push_back(value("cast(%x)", t));
        }
        block(25, 0);
        int row = 0;
        for (const std::string& t : kTypes) {
            std::string v = known_[t].back();
            if (is_float(t)) {
                // The bits of a NaN are no one's business.
                const std::string good = value("eq(" + v + ", " + v + ")", "bool");
                v = value("select(" + good + ", " + v + ", " + value("zero", t) + ")", t);
                v = value("bitcast(" + v + ")", t == "f64" ? "i64" : t == "f32" ? "i32" : "i16");
            }
            if (t != "i64" && t != "f64") v = value("cast(" + v + ")", "i64");
            const std::string k = value("const " + std::to_string(row++), "i32");
            const std::string r = value("at(%o, " + k + ", %i)", "ref<i64>");
            text_ += "  store(" + r + ", " + v + ")\n";
        }
        return text_ + "  return\n}\n";
    }

  private:
    uint32_t below(uint32_t n) { return random_() % n; }
    std::string name() { return "%v" + std::to_string(next_++); }
    std::string pick(const std::string& t) {
        const auto& all = known_[t];
        return all[all.size() - 1 - below(static_cast<uint32_t>(std::min<size_t>(all.size(), 5)))];
    }
    std::string value(const std::string& expression, const std::string& t) {
        const std::string n = name();
        text_ += "  " + n + " = " + expression + " : " + t + "\n";
        return n;
    }

    void block(int count, int depth) {
        for (int i = 0; i < count; ++i) statement(depth);
    }

    void statement(int depth) {
        const std::string& t = kTypes[below(static_cast<uint32_t>(kTypes.size()))];
        const uint32_t kind = below(depth < 2 ? 12 : 10);
        std::string v;
        if (kind < 5 && t != "bool") {
            std::vector<std::string> ops = {"add", "sub", "mul", "div", "min", "max", "rem", "floordiv"};
            if (!is_float(t)) ops.insert(ops.end(), {"and", "or", "xor", "shl", "shr"});
            v = value(ops[below(static_cast<uint32_t>(ops.size()))] + "(" + pick(t) + ", " + pick(t) + ")", t);
        } else if (kind < 5) {
            const std::string& u = kTypes[below(static_cast<uint32_t>(kTypes.size()))];
            const char* compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
            v = value(compares[below(6)] + ("(" + pick(u) + ", " + pick(u) + ")"), t);
        } else if (kind == 5) {
            v = t == "bool" ? value("not(" + pick(t) + ")", t)
                            : value((below(2) == 0 ? "neg(" : "abs(") + pick(t) + ")", t);
        } else if (kind == 6) {
            v = value("select(" + pick("bool") + ", " + pick(t) + ", " + pick(t) + ")", t);
        } else if (kind == 7 && t != "bool") {
            v = value("const " + std::to_string(below(100)), t);
        } else if (kind == 8 && is_float(t)) {
            const char* fns[] = {"sqrt", "sin", "exp", "floor", "ceil", "trunc", "round", "rint"};
            v = value(std::string("math.") + fns[below(8)] + "(" + pick(t) + ")", t);
        } else if (kind < 10) {
            v = value("cast(" + pick(kTypes[below(static_cast<uint32_t>(kTypes.size()))]) + ")", t);
        } else {
            v = kind == 10 ? conditional(t, depth) : loop(t, depth);
        }
        known_[t].push_back(v);
    }

    // Values of inner regions are forgotten at their end.
    std::string conditional(const std::string& t, int depth) {
        const std::string condition = pick("bool");
        const std::string n = name();
        text_ += "  " + n + " = if(" + condition + ") : " + t + " {\n";
        const auto outside = known_;
        for (const char* end : {"  } {\n", "  }\n"}) {
            block(4, depth + 1);
            text_ += "  yield(" + pick(t) + ")\n" + end;
            known_ = outside;
        }
        return n;
    }

    std::string loop(const std::string& t, int depth) {
        const std::string begin = value("const " + std::to_string(below(4)), "i32");
        const std::string end = value("const " + std::to_string(below(9)), "i32");
        const std::string step = value("const " + std::to_string(static_cast<int>(below(5)) - 2), "i32");
        const std::string& u = kTypes[below(static_cast<uint32_t>(kTypes.size()))];
        const std::string a = pick(t);
        const std::string b = pick(u);
        const std::string n = name();
        const std::string m = name();
        const std::string index = name();
        const std::string carried = name();
        const std::string other = name();
        text_ += "  " + n + ", " + m + " = for(" + begin + ", " + end + ", " + step + ", " + a + ", " + b + ") : " + t +
                 ", " + u + " {(" + index + ": i32, " + carried + ": " + t + ", " + other + ": " + u + ")\n";
        const auto outside = known_;
        known_["i32"].push_back(index);
        known_[t].push_back(carried);
        known_[u].push_back(other);
        block(3, depth + 1);
        const char* exits[] = {"break", "continue"};
        text_ += "  if(" + pick("bool") + ") {\n  " + exits[below(2)] + "(" + pick(t) + ", " + pick(u) +
                 ")\n  } {\n  yield\n  }\n";
        block(3, depth + 1);
        text_ += "  yield(" + pick(t) + ", " + pick(u) + ")\n  }\n";
        known_ = outside;
        known_[u].push_back(m);
        return n;
    }

    std::mt19937 random_;
    std::string text_;
    std::map<std::string, std::vector<std::string>> known_;
    int next_ = 0;
};

std::vector<int64_t> outputs(const std::string& program, const testing::Config& config) {
    std::vector<int32_t> in = {0, 1, -1, 2, 7, -8, 100, 255, 256, -30000, 65536, 1 << 24, INT32_MAX, INT32_MIN};
    in.insert(in.end(),
              {3, 4, 5, -2, -3, 1000, 99, -99, 12345, 31, 32, 33, 63, 64, -64, 127, 128, 32767, -32768, 65535});
    const auto count = static_cast<int64_t>(in.size());
    const auto rows = static_cast<int64_t>(kTypes.size());
    std::vector<int64_t> out(static_cast<size_t>(rows * count));
    const testing::Kernel kernel(program, config);
    kernel.run(testing::Arguments().array(in).array(out.data(), {rows, count}, 8), {count});
    return out;
}

TEST(RandomPrograms, GiveTheSameBitsEverywhere) {
    for (uint32_t seed = 0; seed < 150; ++seed) {
        const std::string program = Generator(seed).program();
        const auto want = outputs(program, {"llvm-cpu", 2, true, 1});
        const auto module = ir::parse(program);
        codegen::Options by_lanes;
        by_lanes.lanes = 4;
        ASSERT_NE(codegen::dump(*module, codegen::backend("llvm-cpu").open(), by_lanes, "llvm").find("@k.lanes("),
                  std::string::npos)
            << "not run by lanes: seed " << seed;
        ASSERT_NE(want, std::vector<int64_t>(want.size(), want[0])) << "seed " << seed;
        const auto check = [&](const testing::Config& config) {
            ASSERT_EQ(outputs(program, config), want)
                << config.backend << config.optimize << "x" << config.lanes << " seed " << seed << "\n"
                << program;
        };
        check({"llvm-cpu", 0, true, 1});
        check({"llvm-cpu", 2, true, 1 << (1 + seed % 4)});
        check({"llvm-cpu", 0, false, 1});  // nothing folded: neither by us nor by LLVM
        if (seed % 15 == 0) check({"cxx-host", 2, false});
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace weft
