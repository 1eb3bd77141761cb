#include "runtime/graph.h"

#include <cstring>

#include "runtime/launch.h"

namespace weft::runtime {
namespace {

bool holds(const Array& condition) {
    int32_t value = 0;
    std::memcpy(&value, condition.data(), sizeof(value));
    return value != 0;
}

}  // namespace

void Graph::add(std::function<void()> step, std::vector<Array> written) {
    if (written.empty()) {
        steps_.push_back(std::move(step));
        return;
    }
    steps_.emplace_back([step = std::move(step), written = std::move(written)] {
        for (const Array& array : written) array.before_write();
        step();
    });
}

void Graph::add_launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                       std::vector<Array> written, std::shared_ptr<void> keep) {
    // The block is aligned as kernels expect it.
    const auto bytes = static_cast<size_t>(code.block_bytes());
    auto block = std::make_shared<std::vector<double>>(bytes / sizeof(double) + 2);
    std::memcpy(block->data(), arguments, bytes);
    add([&code, block, shape,
         keep = std::move(keep)] { run_on_host(code, reinterpret_cast<const std::byte*>(block->data()), shape); },
        std::move(written));
}

void Graph::add_branch(Array condition, std::shared_ptr<Graph> yes, std::shared_ptr<Graph> no) {
    steps_.emplace_back([condition = std::move(condition), yes = std::move(yes), no = std::move(no)] {
        const std::shared_ptr<Graph>& chosen = holds(condition) ? yes : no;
        if (chosen != nullptr) chosen->run();
    });
}

void Graph::add_loop(Array condition, std::shared_ptr<Graph> body) {
    steps_.emplace_back([condition = std::move(condition), body = std::move(body)] {
        while (holds(condition)) body->run();
    });
}

void Graph::run() const {
    for (const std::function<void()>& step : steps_) step();
}

}  // namespace weft::runtime
