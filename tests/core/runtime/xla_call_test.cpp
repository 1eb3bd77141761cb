// Frames as XLA makes them, without XLA: what the handler answers, and what a call gets.
#include "runtime/xla/calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace weft::runtime::xla {
namespace {

std::string g_message;
ErrorCode g_code;

Error* create_error(ErrorCreate* create) {
    g_message = create->message;
    g_code = create->code;
    return reinterpret_cast<Error*>(&g_message);
}

class Recorder : public Call {
  public:
    void run(const Execution& execution) override {
        ++runs;
        ASSERT_EQ(execution.inputs.size(), 1U);
        ASSERT_EQ(execution.outputs.size(), 1U);
        EXPECT_EQ(execution.device.alias(), "cpu");
        EXPECT_EQ(execution.stream, nullptr);
        const Buffer& in = *execution.inputs[0];
        EXPECT_EQ(in.rank, 2);
        std::memcpy(execution.outputs[0]->data, in.data, sizeof(float) * static_cast<size_t>(in.dims[0] * in.dims[1]));
        if (fails) throw std::runtime_error("it broke");
    }
    void prepare(Device& device) override {
        EXPECT_EQ(device.alias(), "cpu");
        ++preparations;
    }
    int runs = 0;
    int preparations = 0;
    bool fails = false;
};

// A frame with one input and one output of 2 x 3 floats, and the attribute "call".
class Frame {
  public:
    explicit Frame(int64_t number) : number_(number) {
        api_.struct_size = sizeof(Api);
        api_.error_create = create_error;
        frame_.struct_size = sizeof(CallFrame);
        frame_.api = &api_;
        frame_.stage = kExecute;
        frame_.arguments = {sizeof(Operands), nullptr, 1, &buffer_kind_, &in_place_};
        frame_.results = {sizeof(Operands), nullptr, 1, &buffer_kind_, &out_place_};
        frame_.attributes = {sizeof(Attributes), nullptr, 1, &scalar_kind_, &name_place_, &scalar_place_};
    }
    CallFrame* operator->() { return &frame_; }
    CallFrame* get() { return &frame_; }
    float out[6] = {};

  private:
    int64_t number_;
    int64_t dims_[2] = {2, 3};
    float numbers_[6] = {1, 2, 3, 4, 5, 6};
    Buffer in_{sizeof(Buffer), nullptr, kF32, numbers_, 2, dims_};
    Buffer out_{sizeof(Buffer), nullptr, kF32, out, 2, dims_};
    Scalar scalar_{kS64, &number_};
    ByteSpan name_{"call", 4};
    int32_t buffer_kind_ = kBufferKind;
    int32_t scalar_kind_ = kScalarAttribute;
    void* in_place_ = &in_;
    void* out_place_ = &out_;
    void* scalar_place_ = &scalar_;
    ByteSpan* name_place_ = &name_;
    Api api_{};
    CallFrame frame_{};
};

TEST(XlaCall, TellsItsVersionAndWhetherItMayBeRecorded) {
    for (const bool recordable : {false, true}) {
        Metadata metadata{};
        MetadataExtension extension{{sizeof(MetadataExtension), kMetadataExtension, nullptr}, &metadata};
        Frame frame(0);
        frame->extensions = &extension.base;
        EXPECT_EQ(handler(false, recordable)(frame.get()), nullptr);
        EXPECT_EQ(metadata.version.major, 0);
        EXPECT_EQ(metadata.traits, recordable ? kRecordable : 0U);
    }
}

TEST(XlaCall, FindsTheCallByItsNumber) {
    const auto recorder = std::make_shared<Recorder>();
    const int64_t number = add_call(recorder);
    EXPECT_NE(number, add_call(std::make_shared<Recorder>()));
    Frame frame(number);
    frame->stage = kInitialize;
    EXPECT_EQ(handler(false, true)(frame.get()), nullptr);
    EXPECT_EQ(recorder->runs, 0);
    EXPECT_EQ(recorder->preparations, 1);
    frame->stage = kExecute;
    EXPECT_EQ(handler(false, true)(frame.get()), nullptr);
    EXPECT_EQ(recorder->runs, 1);
    EXPECT_EQ(frame.out[5], 6.0F);
}

TEST(XlaCall, FailuresBecomeErrorsOfXla) {
    const auto recorder = std::make_shared<Recorder>();
    recorder->fails = true;
    Frame frame(add_call(recorder));
    EXPECT_NE(handler(false, true)(frame.get()), nullptr);
    EXPECT_EQ(g_message, "it broke");
    EXPECT_EQ(g_code, kInternal);
    // A program that was compiled elsewhere.
    Frame unknown(int64_t{1} << 60);
    EXPECT_NE(handler(false, true)(unknown.get()), nullptr);
    EXPECT_NE(g_message.find("compiled in another process"), std::string::npos);
    EXPECT_EQ(g_code, kInvalidArgument);
}

TEST(XlaCall, SaysWhereAGpuOrItsNumberIsMissing) {
    Frame frame(add_call(std::make_shared<Recorder>()));
    Api old{};
    old.struct_size = offsetof(Api, device_ordinal_get);
    old.error_create = create_error;
    frame->api = &old;
    EXPECT_NE(handler(true, true)(frame.get()), nullptr);
    EXPECT_NE(g_message.find("does not tell on which GPU"), std::string::npos);
    old.struct_size = sizeof(Api);
    old.device_ordinal_get = [](DeviceOrdinalGet* get) {
        get->ordinal = 63;
        return static_cast<Error*>(nullptr);
    };
    EXPECT_NE(handler(true, true)(frame.get()), nullptr);
    EXPECT_NE(g_message.find("XLA runs on GPU 63, which Warp does not have"), std::string::npos);
}

}  // namespace
}  // namespace weft::runtime::xla
