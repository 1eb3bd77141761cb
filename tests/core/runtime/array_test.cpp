// Arrays, storages and copies: strides, extents, versions.
#include "runtime/array.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "runtime/copy.h"
#include "runtime/device.h"

namespace weft::runtime {
namespace {

Device& host() { return *devices().front(); }

Array counted(std::vector<int64_t> shape) {
    Array array(ir::i32(), shape, host(), false);
    std::iota(reinterpret_cast<int32_t*>(array.data()), reinterpret_cast<int32_t*>(array.data()) + array.size(), 0);
    return array;
}

std::vector<int32_t> values(const Array& array) {
    const Array dense(array.element(), array.shape(), host(), false);
    copy(dense, array);
    const auto* data = reinterpret_cast<const int32_t*>(dense.data());
    return {data, data + dense.size()};
}

TEST(Array, IsAlignedZeroedAndContiguous) {
    const std::vector<int64_t> shape = {3, 5};
    const Array array(ir::f64(), shape, host(), true);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0U);
    EXPECT_EQ(array.strides()[0], 40);
    EXPECT_EQ(array.strides()[1], 8);
    EXPECT_TRUE(array.is_contiguous());
    for (int64_t i = 0; i < array.size(); ++i) EXPECT_EQ(reinterpret_cast<const double*>(array.data())[i], 0.0);
}

TEST(Array, RefusesShapesThatCannotBe) {
    const std::vector<int64_t> negative = {2, -1};
    const std::vector<int64_t> large = {int64_t{1} << 40, int64_t{1} << 40};
    EXPECT_THROW(Array(ir::f32(), negative, host(), false), UserError);
    EXPECT_THROW(Array(ir::f32(), large, host(), false), UserError);
}

TEST(Array, ViewsKeepTheirStorageAlive) {
    const std::vector<int64_t> shape = {2};
    const std::vector<int64_t> strides = {8};
    Array view;
    {
        const Array base = counted({4});
        view = Array(ir::i32(), shape, strides, base.data() + 4, base.storage());
    }
    EXPECT_EQ(values(view), (std::vector<int32_t>{1, 3}));
    EXPECT_FALSE(view.is_contiguous());
    const auto [begin, end] = view.extent();
    EXPECT_EQ(end - begin, 12);
}

TEST(Copy, TransposesAndOverlaps) {
    const Array a = counted({2, 3});
    const std::vector<int64_t> shape = {3, 2};
    const std::vector<int64_t> strides = {4, 12};
    const Array transposed(ir::i32(), shape, strides, a.data(), a.storage());
    EXPECT_EQ(values(transposed), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
    const Array row = counted({5});
    const std::vector<int64_t> four = {4};
    const std::vector<int64_t> dense = {4};
    const Array head(ir::i32(), four, dense, row.data(), row.storage());
    const Array tail(ir::i32(), four, dense, row.data() + 4, row.storage());
    copy(tail, head);
    EXPECT_EQ(values(row), (std::vector<int32_t>{0, 0, 1, 2, 3}));
}

TEST(Copy, FillsStridedArrays) {
    const Array a = counted({2, 3});
    const std::vector<int64_t> shape = {2};
    const std::vector<int64_t> strides = {12};
    const Array column(ir::i32(), shape, strides, a.data() + 4, a.storage());
    const int32_t nine = 9;
    fill(column, reinterpret_cast<const std::byte*>(&nine));
    EXPECT_EQ(values(a), (std::vector<int32_t>{0, 9, 2, 3, 9, 5}));
    fill_zero(column);
    EXPECT_EQ(values(a), (std::vector<int32_t>{0, 0, 2, 3, 0, 5}));
}

struct Told : WriteWatcher {
    std::vector<int> tags;
    std::vector<int> exports;
    void before_write(int tag) noexcept override { tags.push_back(tag); }
    void before_export(int tag) noexcept override { exports.push_back(tag); }
};

TEST(Storage, TellsWatchersOnceBeforeTheirBytesAreWritten) {
    const Array a = counted({8});
    Storage& storage = *a.storage();
    const std::byte* base = a.data();
    const auto told = std::make_shared<Told>();
    storage.before_write(base, base + 32);  // nobody watches yet
    storage.watch(base, base + 8, told, 1);
    storage.watch(base + 4, base + 16, told, 2);
    storage.watch(base + 20, base + 24, told, 3);
    storage.before_write(base + 16, base + 20);
    EXPECT_TRUE(told->tags.empty());
    storage.before_write(base + 4, base + 8);
    EXPECT_EQ(told->tags, (std::vector<int>{1, 2}));
    storage.before_write(base, base + 32);
    EXPECT_EQ(told->tags, (std::vector<int>{1, 2, 3}));
}

TEST(Storage, TellsWatchersWhenTheFirstViewLeaves) {
    const Array a = counted({8});
    Storage& storage = *a.storage();
    const auto told = std::make_shared<Told>();
    storage.watch(a.data(), a.data() + 8, told, 7);
    storage.export_view("here:1");
    storage.export_view("there:2");
    EXPECT_EQ(told->exports, std::vector<int>{7});
    storage.release_view();
    EXPECT_TRUE(storage.exported());
    storage.release_view();
    EXPECT_FALSE(storage.exported());
    EXPECT_EQ(storage.export_place(), "there:2");
    EXPECT_TRUE(told->tags.empty());
}

TEST(Storage, ForgetsWatchersThatDied) {
    const Array a = counted({8});
    for (int i = 0; i < 100000; ++i) a.storage()->watch(a.data(), a.data() + 4, std::make_shared<Told>(), i);
    a.before_write();
}

}  // namespace
}  // namespace weft::runtime
