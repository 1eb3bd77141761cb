#include "runtime/xla/calls.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "runtime/cuda/cuda_device.h"

namespace weft::runtime::xla {
namespace {

class Calls {
  public:
    int64_t add(std::shared_ptr<Call> call) {
        const std::lock_guard lock(mutex_);
        calls_.emplace(++last_, std::move(call));
        return last_;
    }
    Call* find(int64_t number) {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(number);
        return found == calls_.end() ? nullptr : found->second.get();
    }

  private:
    std::mutex mutex_;
    int64_t last_ = 0;
    std::unordered_map<int64_t, std::shared_ptr<Call>> calls_;
};

Calls& calls() {
    static Calls& instance = *new Calls;  // never destroyed: XLA's threads may outlive main()
    return instance;
}

Error* make_error(const CallFrame& frame, ErrorCode code, const std::string& message) {
    ErrorCreate create{sizeof(ErrorCreate), nullptr, message.c_str(), code};
    return frame.api->error_create(&create);
}

// XLA asks what a handler is when it is registered.
bool answer_metadata(CallFrame& frame, bool recordable) {
    Extension* const extension = frame.extensions;
    if (extension == nullptr || extension->type != kMetadataExtension) return false;
    Metadata& metadata = *reinterpret_cast<MetadataExtension*>(extension)->metadata;
    // What is used here has been the same since version 0.1.
    metadata.version = {sizeof(Version), nullptr, kMajorVersion, 1};
    metadata.traits = recordable ? kRecordable : 0;
    return true;
}

Call& find_call(const CallFrame& frame) {
    const Attributes& attributes = frame.attributes;
    for (int64_t i = 0; i < attributes.size; ++i) {
        const std::string_view name(attributes.names[i]->data, attributes.names[i]->size);
        if (name != "call" || attributes.kinds[i] != kScalarAttribute) continue;
        const auto& scalar = *static_cast<const Scalar*>(attributes.values[i]);
        if (scalar.dtype != kS64) continue;
        int64_t number = 0;
        std::memcpy(&number, scalar.value, sizeof(number));
        if (Call* const call = calls().find(number)) return *call;
    }
    throw UserError(ErrorKind::Runtime,
                    "this program was compiled in another process, whose Warp kernels are not known here: compiled "
                    "programs that call kernels cannot be stored");
}

std::vector<const Buffer*> buffers_of(const Operands& operands) {
    std::vector<const Buffer*> out;
    for (int64_t i = 0; i < operands.size; ++i) {
        if (operands.kinds[i] != kBufferKind) throw UserError(ErrorKind::Runtime, "XLA passed what is no buffer");
        out.push_back(static_cast<const Buffer*>(operands.values[i]));
    }
    return out;
}

Device& device_of(const CallFrame& frame, bool cuda) {
    if (!cuda) return *devices().front();
    constexpr size_t kNeeded = offsetof(Api, device_ordinal_get) + sizeof(void*);
    if (frame.api->struct_size < kNeeded) {
        // XLA makes the context of its device current before it calls.
        if (Device* const device = cuda::device_of_current_context()) return *device;
        throw UserError(ErrorKind::Runtime,
                        "this jaxlib does not tell on which GPU a call runs: a newer one is needed");
    }
    DeviceOrdinalGet get{sizeof(DeviceOrdinalGet), nullptr, frame.context, 0};
    if (frame.api->device_ordinal_get(&get) != nullptr) {
        throw UserError(ErrorKind::Runtime, "XLA did not tell on which GPU the call runs");
    }
    const auto& all = cuda::cuda_devices();
    const auto found = std::ranges::find(all, get.ordinal, &Device::ordinal);
    if (found == all.end()) {
        throw UserError(ErrorKind::Runtime,
                        "XLA runs on GPU " + std::to_string(get.ordinal) +
                            ", which Warp does not have: this process does not include CUDA support "
                            "for it");
    }
    return **found;
}

void* stream_of(const CallFrame& frame, bool cuda) {
    if (!cuda) return nullptr;
    StreamGet get{sizeof(StreamGet), nullptr, frame.context, nullptr};
    if (frame.api->stream_get(&get) != nullptr) throw UserError(ErrorKind::Runtime, "XLA gave no stream");
    return get.stream;
}

// What fails is told by the execution, where it happens again.
void prepare(const CallFrame& frame, bool cuda) {
    try {
        find_call(frame).prepare(device_of(frame, cuda));
    } catch (const std::exception&) {
        return;
    }
}

template <bool cuda, bool recordable>
Error* handle_by_number(CallFrame* frame) {
    return handle(frame, cuda, recordable, nullptr);
}

}  // namespace

int64_t add_call(std::shared_ptr<Call> call) { return calls().add(std::move(call)); }

Error* handle(CallFrame* frame, bool cuda, bool recordable, Call* call) {
    if (answer_metadata(*frame, recordable)) return nullptr;
    if (frame->stage == kInitialize && call == nullptr) prepare(*frame, cuda);
    if (frame->stage != kExecute) return nullptr;
    try {
        Call& wanted = call != nullptr ? *call : find_call(*frame);
        Device& device = device_of(*frame, cuda);
        const std::vector<const Buffer*> inputs = buffers_of(frame->arguments);
        const std::vector<const Buffer*> outputs = buffers_of(frame->results);
        const Execution execution{device, stream_of(*frame, cuda), inputs, outputs, &frame->attributes};
        wanted.run(execution);
        return nullptr;
    } catch (const UserError& error) {
        return make_error(*frame, kInvalidArgument, error.what());
    } catch (const std::exception& error) {
        return make_error(*frame, kInternal, error.what());
    }
}

Handler* handler(bool cuda, bool recordable) {
    if (cuda) return recordable ? handle_by_number<true, true> : handle_by_number<true, false>;
    return recordable ? handle_by_number<false, true> : handle_by_number<false, false>;
}

}  // namespace weft::runtime::xla
