// SPDX-License-Identifier: Apache-2.0
// Paths that are slower than the port (IBA 9.11).
#include "hca/static_rate.h"

#include <gtest/gtest.h>

#include "connected_fixture.h"
#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

constexpr std::uint8_t kSlow = 2;  // 2.5 Gb/s: 3.2 ns for a byte

constexpr Duration time_of(std::size_t bytes) {
  return Duration(bytes * 16 / 5);
}

TEST(StaticRate, HoldsWhatComesBeforeThePathIsFree) {
  StaticRate rate;
  const Path slow{.static_rate = kSlow};
  const Time start{1s};
  EXPECT_TRUE(rate.admits(slow, start));
  rate.sent(slow, 1000, start);
  EXPECT_FALSE(rate.admits(slow, start + 3199ns));
  EXPECT_EQ(rate.until(), start + 3200ns);
  EXPECT_TRUE(rate.admits(slow, start + 3200ns));
  EXPECT_FALSE(rate.until());
}

TEST(StaticRate, LeavesOtherPathsAndThePortsOwnRateAlone) {
  StaticRate rate;
  const Time start{1s};
  const Path slow{.dlid = Lid{4}, .static_rate = kSlow};
  rate.sent({.dlid = Lid{3}, .static_rate = kSlow}, 60'000, start);
  EXPECT_TRUE(rate.admits({.dlid = Lid{3}}, start));
  EXPECT_TRUE(rate.admits(slow, start));
  rate.sent({.dlid = Lid{5}, .static_rate = 1}, 60'000, start);  // no code of a rate
  EXPECT_TRUE(rate.admits({.dlid = Lid{5}, .static_rate = 1}, start));
}

TEST(StaticRate, MakesUpForSomeLateness) {
  StaticRate rate;
  const Path slow{.static_rate = kSlow};
  const Time start{1s};
  rate.sent(slow, 60'000, start);
  ASSERT_FALSE(rate.admits(slow, start));
  const Time late = start + time_of(60'000) + 100us;
  ASSERT_TRUE(rate.admits(slow, late));
  rate.sent(slow, 60'000, late);
  EXPECT_FALSE(rate.admits(slow, late));
  EXPECT_EQ(rate.until(), late + time_of(60'000) - 100us);

  const Time very_late = late + 1s;
  ASSERT_TRUE(rate.admits(slow, very_late));
  rate.sent(slow, 60'000, very_late);
  EXPECT_TRUE(rate.admits(slow, very_late));  // 1 ms is more than a burst takes
  for (int more = 0; more < 4; ++more)
    rate.sent(slow, 60'000, very_late);
  ASSERT_FALSE(rate.admits(slow, very_late));
}

TEST(StaticRate, GivesNoCreditForSilence) {
  StaticRate rate;
  const Path slow{.static_rate = kSlow};
  rate.sent(slow, 60'000, Time{1s});
  ASSERT_TRUE(rate.admits(slow, Time{2s}));
  rate.sent(slow, 60'000, Time{2s});
  EXPECT_FALSE(rate.admits(slow, Time{2s}));
  EXPECT_EQ(rate.until(), Time{2s} + time_of(60'000));
}

class SlowConnection : public ConnectedQp {
 protected:
  void to_rts_slowly() {
    QpAttributes slow = attributes();
    slow.path.static_rate = kSlow;
    to_init();
    ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), slow));
    ASSERT_TRUE(move(QpState::kRts, rts_mask()));
  }
  // What leaves from now until `end`, bytes with ICRC, when it is asked at each deadline.
  std::size_t sent_until(Time end) {
    std::size_t bytes = 0;
    while (now < end) {
      for (const Sent& packet : flush())
        bytes += wire::Bth::kSize + packet.payload.size() + 4;
      now = std::min(end, qp->deadline().value_or(end));
    }
    return bytes;
  }
};

TEST_F(SlowConnection, SendsAsFastAsThePathIs) {
  ConnectedConfig uc = config(QpType::kUc);
  uc.max_sends = 2000;
  start(uc);
  to_rts_slowly();
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(post_send(static_cast<std::uint64_t>(i), 1000), std::errc{});
  const Duration time = 3ms;
  const std::size_t bytes = sent_until(now + time);
  EXPECT_GE(time_of(bytes), time);
  EXPECT_LE(time_of(bytes), time + time_of(Burst::kMaxBytes));
}

TEST_F(SlowConnection, SaysWhenItGoesOn) {
  to_rts_slowly();
  ASSERT_EQ(post_send(1, 1000), std::errc{});
  ASSERT_EQ(flush().size(), 1u);
  ASSERT_EQ(post_send(2, 1000), std::errc{});
  EXPECT_TRUE(flush().empty());
  EXPECT_EQ(qp->deadline(), now + time_of(wire::Bth::kSize + 1000 + 4));
  now = *qp->deadline();
  EXPECT_EQ(flush().size(), 1u);
}

TEST_F(SlowConnection, HoldsAnswersButNoAcknowledgements) {
  to_rts_slowly();
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive(read_request(1000));
  ASSERT_EQ(flush().size(), 1u);
  arrive({.psn = Psn{201}, .payload = "hello"});
  qp->end_run(now);
  const auto acknowledged = flush();
  ASSERT_EQ(acknowledged.size(), 1u);
  EXPECT_EQ(acknowledged[0].bth.opcode, wire::Opcode::rc_acknowledge);
  Packet second = read_request(1000);
  second.psn = Psn{202};
  arrive(second);
  EXPECT_TRUE(flush().empty());
  ASSERT_TRUE(qp->deadline());
  now = *qp->deadline();
  EXPECT_EQ(flush().size(), 1u);
}

class SlowDatagrams : public UdTest {};

TEST_F(SlowDatagrams, WaitWhereTheirPathIsSlow) {
  to_rts();
  path.static_rate = kSlow;
  ASSERT_EQ(send(1, 0, 1000), std::errc{});
  transmit();
  ASSERT_EQ(send(2, 0, 1000), std::errc{});
  transmit();
  ASSERT_EQ(sink.datagrams().size(), 1u);
  ASSERT_TRUE(qp->deadline());
  EXPECT_EQ(*qp->deadline(), now + time_of(wire::Bth::kSize + wire::Deth::kSize + 1000 + 4));
  now = *qp->deadline();
  transmit();
  ASSERT_EQ(sink.datagrams().size(), 2u);
  path.dgid = kGroup;
  ASSERT_EQ(send(3, 0, 1000), std::errc{});
  transmit();
  EXPECT_EQ(sink.datagrams().size(), 3u);
}

}  // namespace
}  // namespace weft::hca::test
