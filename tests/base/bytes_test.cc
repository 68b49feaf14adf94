// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>

#include "base/counters.h"
#include "base/error.h"

namespace weft {
namespace {

TEST(ByteCursor, HandsOutTheBytesInOrderAndNothingBeyondTheEnd) {
  const std::array<std::byte, 5> data{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                      std::byte{5}};
  ByteCursor cursor(data);
  const auto first = cursor.take(2);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->data(), data.data());
  EXPECT_FALSE(cursor.take(4).has_value());
  EXPECT_FALSE(cursor.take(SIZE_MAX).has_value());
  EXPECT_EQ(cursor.remaining(), 3u);  // a refused take moves nothing
  EXPECT_EQ(cursor.take(3)->back(), std::byte{5});
  EXPECT_TRUE(cursor.take(0).has_value());
  EXPECT_TRUE(cursor.rest().empty());
}

TEST(ByteSink, WritesWhatFitsAndNothingOfWhatDoesNot) {
  std::array<std::byte, 4> room{};
  const std::array<std::byte, 3> three{std::byte{7}, std::byte{8}, std::byte{9}};
  ByteSink sink(room);
  EXPECT_TRUE(sink.put(three));
  EXPECT_FALSE(sink.put(three));
  EXPECT_EQ(sink.size(), 3u);
  EXPECT_EQ(room[3], std::byte{0});
  EXPECT_FALSE(sink.reserve(SIZE_MAX).has_value());
  const auto last = sink.reserve(1);
  ASSERT_TRUE(last.has_value());
  (*last)[0] = std::byte{1};
  EXPECT_EQ(sink.written().size(), 4u);
  EXPECT_EQ(sink.written()[3], std::byte{1});
  EXPECT_TRUE(sink.put({}));
}

TEST(Error, NamesTheCallAndTheReason) {
  const Expected<int> result = fail_errno(EADDRINUSE, "bind [::]:4791");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, std::errc::address_in_use);
  EXPECT_EQ(result.error().message, "bind [::]:4791: Address already in use");
}

enum class Thing { kGood, kBad, kCount };
constexpr std::array<CounterInfo, 2> kThingInfo{
    {{"good", "things that went well"}, {"bad", "things that did not"}}};

TEST(CounterSet, CountsByNameAndAddsUpSets) {
  CounterSet<Thing, kThingInfo> a;
  CounterSet<Thing, kThingInfo> b;
  a.add(Thing::kGood);
  b.add(Thing::kGood, 41);
  EXPECT_EQ(a.get(Thing::kGood), 1u);
  auto total = a.snapshot();
  accumulate(total, b.snapshot());
  ASSERT_EQ(total.size(), 2u);
  EXPECT_EQ(total[0].value, 42u);
  const std::string text = format_counters(total);
  EXPECT_NE(text.find("42  # things that went well"), std::string::npos) << text;
  EXPECT_EQ(text.find("bad"), std::string::npos);
  EXPECT_NE(format_counters(total, true).find("bad"), std::string::npos);
}

}  // namespace
}  // namespace weft
