// What kernels ask of their block of threads: barriers, numbers, memory that its threads share. Each is a native
// snippet, so that one text serves every backend. Not here: snippets of the user's (native_functions.cpp).
#include <algorithm>
#include <numeric>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "ir/layout.h"
#include "ir/snippet_header.h"

namespace weft::frontend {

using builtins::user_name;
using ir::TypeKind;

std::vector<ir::Value*> FunctionLowering::call_snippet(const std::string& name, const std::string& header,
                                                       const std::string& text, std::vector<Type> results,
                                                       const std::vector<Value*>& operands, const Expr& e) {
    instances_.use_blocks();
    auto made = std::make_unique<ir::Function>();
    made->name = instances_.unique_name(name);
    made->location = source_.location(e.span);
    made->results = std::move(results);
    ir::Builder b(instances_.module(), *made);
    b.set_location(made->location);
    std::vector<Value*> parameters;
    for (const Value* operand : operands) parameters.push_back(b.parameter(operand->type, "value"));
    b.return_(b.snippet(header + "\n" + std::string(ir::kOwnSnippet) + name + "\n" + text, ir::SnippetUse::Call,
                        instances_.options().assertions, made->results, parameters));
    const ir::Function& function = *made;
    instances_.add(std::move(made));
    at(e.span);
    return builder_.call(function, operands);
}

// sync_threads, thread_idx and block_idx.
Entity FunctionLowering::special_block(const Expr& e, std::vector<Argument> a) {
    const std::string& name = e.child(0).text;
    if (!a.empty()) fail(ErrorKind::Argument, e.span, "wp." + name + "() takes no arguments");
    if (name == "sync_threads") {
        call_snippet(name, ">", "__syncthreads();", {}, {}, e);
        return Unknown{};
    }
    const std::string number = name == "thread_idx" ? "threadIdx.x" : "blockIdx.x";
    return call_snippet(name, "> return", "return int(" + number + ");", {ir::i32()}, {}, e).front();
}

// shared_array(shape, dtype): zeroed by the threads that come here, each time they do.
Entity FunctionLowering::special_shared_array(const Expr& e, std::vector<Argument> a) {
    auto shape = take(a, "shape");
    auto dtype = take(a, "dtype");
    for (auto* slot : {&shape, &dtype}) {
        if (*slot || a.empty()) continue;
        *slot = a[0];
        a.erase(a.begin());
    }
    if (!shape || !dtype || !a.empty())
        fail(ErrorKind::Argument, e.span, "shared_array(...) takes `shape` and `dtype`, as in dtype=float");
    if (kind_ != ir::FunctionKind::Kernel) {
        fail(ErrorKind::Syntax, e.span,
             "wp.shared_array() can be called in kernels only: two calls of a function would share one array; pass "
             "the array to the function");
    }
    const Type element = type_argument(*dtype);
    if (element.contains_array() || element.is(TypeKind::Tuple))
        fail(ErrorKind::Type, dtype->span, "a shared array cannot have elements of type " + user_name(element));
    const std::vector<int64_t> sizes = local_shape(*shape);
    const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    const auto n = std::to_string(count);
    // The name makes each array one of its own, though the texts be equal.
    std::string memory = instances_.unique_name("shared");
    std::ranges::replace(memory, '.', '_');
    std::string text =
        "using element = weft_native::without_reference<decltype(value)>;\n"
        "__shared__ __attribute__((aligned(16))) unsigned char " +
        memory + "[" + n +
        " * sizeof(element)];\n"
        "element* const first = (element*)" +
        memory +
        ";\n"
        "const int threads = __syncthreads_count(1);\n"
        "for (int i = int(threadIdx.x); i < " +
        n +
        "; i += threads) first[i] = value;\n"
        "__syncthreads();\n"
        "wp::array_t<element> made;\n"
        "made.data = first;\n"
        "made.ndim = " +
        std::to_string(sizes.size()) + ";\n";
    int64_t stride = ir::size_of(element);
    for (size_t d = sizes.size(); d-- > 0;) {
        const std::string at = "[" + std::to_string(d) + "] = ";
        text +=
            "made.shape.dims" + at + std::to_string(sizes[d]) + ";\nmade.strides" + at + std::to_string(stride) + ";\n";
        stride *= sizes[d];
    }
    text += "return made;";
    const Type array = Type::array(element, static_cast<int>(sizes.size()));
    return call_snippet("shared_array", "value > return", text, {array}, {builder_.zero(element)}, e).front();
}

}  // namespace weft::frontend
