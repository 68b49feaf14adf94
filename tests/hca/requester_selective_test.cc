// SPDX-License-Identifier: Apache-2.0
// What a Weft peer allows: windows, bitmaps, probes.
#include <gmock/gmock.h>

#include <set>

#include "hca/credit.h"
#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Syndrome;

class RequesterSelective : public RequesterTest {
 protected:
  // Packets 0 to 9 are on their way, and a round trip of `round_trip` is known.
  void ten_packets(Duration round_trip = 1ms) {
    start_weft();
    ASSERT_EQ(send(100, 1), std::errc{});
    transmit();
    now += round_trip;
    weft_ack(0);
    ASSERT_THAT(completed_ids(), ElementsAre(100));
    completions.all.clear();
    for (std::uint64_t i = 1; i <= 10; ++i)
      ASSERT_EQ(send(i, kMtu), std::errc{});
    ASSERT_EQ(transmit().size(), 10u);
  }
};

TEST_F(RequesterSelective, SendsOnlyThePacketsThatAreLost) {
  ten_packets();
  now += 1ms;
  weft_ack(1, {3, 4, 6, 7, 8, 9});
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_THAT(transmit(), IsEmpty()) << "2 and 5 may only be late";
  now += 400us;
  weft_ack(1, {3, 4, 6, 7, 8, 9, 10});
  const auto again = transmit();
  ASSERT_THAT(numbers(again), ElementsAre(2, 5));
  EXPECT_TRUE(again.back().bth.ack_request);
  weft_ack(10);
  EXPECT_EQ(completed_ids().size(), 10u);
  EXPECT_EQ(requester->in_flight(), 0u);
  EXPECT_EQ(count(ConnectedCounter::kTxRetransmitted), 2u);
}

// The older one may have been answered together with it because the peer waited.
TEST_F(RequesterSelective, MeasuresTheRoundTripOfTheNewestPacketThatIsAcknowledged) {
  start_weft();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  now += 20ms;
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  now += 2ms;
  weft_ack(1);
  ASSERT_EQ(send(3, 1), std::errc{});
  transmit();
  ASSERT_TRUE(requester->deadline().has_value());
  EXPECT_LE(*requester->deadline() - now, 10ms) << "a probe after three round trips";
}

TEST_F(RequesterSelective, NoticesALossByItsTimerWhenNothingElseComes) {
  ten_packets();
  now += 1ms;
  weft_ack(1, {3, 4, 5, 6, 7, 8, 9, 10});
  const Time heard = now;
  ASSERT_TRUE(wait());
  EXPECT_LE(now - heard, 300us);
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
}

TEST_F(RequesterSelective, WaitsForPacketsThatFewHaveOvertaken) {
  ten_packets();
  now += 1ms;
  weft_ack(1, {3, 4});
  now += 400us;
  requester->expire(now);
  EXPECT_THAT(transmit(), IsEmpty());
  weft_ack(1, {3, 4, 5});
  requester->expire(now);
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
}

TEST_F(RequesterSelective, NoticesThatARepetitionIsLostToo) {
  ten_packets();
  now += 1300us;
  weft_ack(1, {3, 4, 5, 6});
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
  for (std::uint64_t i = 11; i <= 14; ++i)
    ASSERT_EQ(send(i, kMtu), std::errc{});
  now += 500us;
  EXPECT_THAT(numbers(transmit()), ElementsAre(11, 12, 13, 14));
  now += 1ms;
  weft_ack(1, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  EXPECT_THAT(numbers(transmit()), ElementsAre(2)) << "11 to 14 were sent long after it";
}

TEST_F(RequesterSelective, NoticesWhatElseIsLostThoughTheOldestHasJustGoneAgain) {
  ten_packets();
  now += 1300us;
  weft_ack(1, {3, 4, 5});
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
  now += 100us;  // too soon for the repetition to have been answered
  weft_ack(1, {3, 4, 5, 7, 8, 9});
  EXPECT_THAT(numbers(transmit()), ElementsAre(6));
  EXPECT_EQ(count(ConnectedCounter::kTxRetransmitted), 2u);
}

TEST_F(RequesterSelective, NoticesWhatIsLostBetweenRepetitionsAndWhatIsOnItsWay) {
  ten_packets();
  now += 1300us;
  weft_ack(1, {3, 5, 6, 7});
  EXPECT_THAT(numbers(transmit()), ElementsAre(2, 4));
  now += 100us;
  weft_ack(3, {5, 6, 7, 9, 10});
  EXPECT_THAT(transmit(), IsEmpty()) << "4 has been overtaken by nobody, 8 by too few";
  now += 500us;
  for (std::uint64_t i = 11; i <= 14; ++i)
    ASSERT_EQ(send(i, kMtu), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(11, 12, 13, 14));
  now += 500us;
  weft_ack(3, {5, 6, 7, 9, 10, 11, 12, 13});
  EXPECT_THAT(numbers(transmit()), ElementsAre(4, 8)) << "14 may yet come";
}

TEST_F(RequesterSelective, HoldsToTheWindowThatThePeerGrants) {
  start_weft();
  ASSERT_EQ(send(1, 1024 * 1024), std::errc{});
  const auto first = transmit();
  EXPECT_LE(requester->in_flight(), CongestionWindow::kInitial);  // less than is taken for granted
  EXPECT_GT(requester->in_flight(), CongestionWindow::kInitial * 9 / 10);
  std::size_t cost = 0;
  for (const Seen& packet : first)
    cost += packet.payload.size() + 12 + packet.extended.size() + 4;
  EXPECT_EQ(requester->in_flight(), cost + bursts.size() * kPacketCost);
  weft_ack(-1, {}, 8 * 1024);
  EXPECT_THAT(transmit(), IsEmpty());
  weft_ack(static_cast<std::int32_t>(first.size()) - 1, {}, 8 * 1024);
  transmit();
  EXPECT_LE(requester->in_flight(), 8u * 1024);
  EXPECT_GT(requester->in_flight(), 6u * 1024);
}

TEST_F(RequesterSelective, WaitsForRoomThatIsWorthARun) {
  start_weft();
  ASSERT_EQ(send(1, 1024 * 1024), std::errc{});
  const auto first = transmit();
  const std::uint32_t eighth = requester->window() / 8 / (kMtu + 16);  // packets
  ASSERT_GT(first.size(), 2 * eighth);
  bursts.clear();
  for (std::int32_t i = 0; bursts.empty() && i < static_cast<std::int32_t>(first.size()); ++i) {
    weft_ack(i, {});
    transmit();
  }
  ASSERT_FALSE(bursts.empty()) << "it waits for more than there can be";
  EXPECT_GE(bursts.front(), eighth * 3 / 4) << "packets in one call";
  EXPECT_LE(bursts.front(), eighth * 2);  // the window has grown
}

TEST_F(RequesterSelective, SendsOnePacketHoweverSmallTheWindow) {
  start_weft();
  ASSERT_EQ(send(1, 2 * kMtu), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  weft_ack(-1, {}, 1);
  const auto first = transmit();
  EXPECT_THAT(numbers(first), ElementsAre(0));
  EXPECT_TRUE(first[0].bth.ack_request);
  weft_ack(0, {}, 1);
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
}

TEST_F(RequesterSelective, ProbesLongBeforeTheTimeoutAndSpendsNoRetry) {
  connection.retry_count = 0;
  ten_packets(200us);
  const Time sent_at = now;
  ASSERT_TRUE(wait());
  EXPECT_EQ(now - sent_at, Requester::kLeastProbe);
  auto probe = transmit();
  EXPECT_THAT(numbers(probe), ElementsAre(1));
  EXPECT_TRUE(probe[0].bth.ack_request);
  ASSERT_TRUE(wait());
  EXPECT_EQ(now - sent_at, 3 * Requester::kLeastProbe) << "the next one twice as late";
  EXPECT_EQ(transmit().size(), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxProbes), 2u);
  EXPECT_FALSE(requester->failed());
  now += 100us;
  weft_ack(10);
  EXPECT_EQ(completed_ids().size(), 10u);
}

// The answers lie in the socket. Nobody has had a processor to read them, and a program that posts
// comes first.
TEST_F(RequesterSelective, ProbesForNothingWhereItIsRunTooLateToHaveHeardAnything) {
  ten_packets(200us);
  now = *requester->deadline() + 3ms;
  ASSERT_EQ(send(11, kMtu), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(11));
  weft_ack(11);
  EXPECT_EQ(completed_ids().size(), 11u);
  EXPECT_EQ(count(ConnectedCounter::kTxRetransmitted), 0u);
}

TEST_F(RequesterSelective, ProbesAfterAllWhenItHasHeardNothingSinceItWasRunLate) {
  ten_packets(200us);
  now = *requester->deadline() + 3ms;
  EXPECT_THAT(transmit(), IsEmpty());
  const Time late = now;
  ASSERT_TRUE(wait());
  EXPECT_EQ(now - late, Requester::kLeastProbe);
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
  now = *requester->deadline() + 3ms;
  EXPECT_THAT(numbers(transmit()), ElementsAre(1)) << "once only";
}

TEST_F(RequesterSelective, LearnsFromTheAnswerToAProbeThatAllTheRestIsLost) {
  ten_packets(1ms);
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
  now += 1ms;
  weft_ack(1);
  EXPECT_THAT(numbers(transmit()), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST_F(RequesterSelective, DrawsNoConclusionFromAnAnswerToTheFirstTransmission) {
  ten_packets(1ms);
  now += 1300us;
  weft_ack(1, {3, 4, 5, 6});
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
  now += 10us;  // too soon for the repetition to have been answered
  weft_ack(6);
  EXPECT_THAT(transmit(), IsEmpty());
}

TEST_F(RequesterSelective, LearnsFromAProbeThatIsAnsweredSoonerThanAnyRun) {
  ten_packets(1ms);
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
  now += 100us;  // one packet alone takes less time than the runs that were measured
  weft_ack(1);
  EXPECT_THAT(numbers(transmit()), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(count(ConnectedCounter::kTxProbes), 1u);
}

TEST_F(RequesterSelective, GivesUpByTheLocalAckTimeoutAsTheStandardHasIt) {
  connection.retry_count = 1;
  ten_packets();
  const Time from = now;
  while (!requester->failed()) {
    ASSERT_TRUE(wait());
    transmit();
    ASSERT_LE(now - from, 300ms);
  }
  EXPECT_EQ(now - from, 2 * Duration{4096} * (1 << 14));
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kTransportRetryExceeded)));
}

TEST_F(RequesterSelective, CompletesNothingThatOnlyTheBitmapNames) {
  ten_packets();
  weft_ack(0, {2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_THAT(completions.all, IsEmpty());
  // The gap closes, but the receiver has no receive request for the second message.
  weft_ack(2, {4, 5, 6, 7, 8, 9, 10}, 0, Syndrome::rnr_nak(1));
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  ASSERT_TRUE(wait());
  EXPECT_EQ(numbers(transmit()).front(), 2u);
  weft_ack(10);
  EXPECT_EQ(completed_ids().size(), 10u);
}

TEST_F(RequesterSelective, SurvivesABitmapThatLies) {
  ten_packets();
  weft_ack(0, {2, 3, 500, 2000});
  weft_ack(0, {2, 3, 4, 5, 6, 7, 8, 9, 10});
  std::array<std::byte, 7> odd{};
  respond(wire::Opcode::weft_rc_acknowledge, 0, {}, odd);
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 1u);
  weft_ack(11);
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 1u);
  // It claimed to have them, and never acknowledges: the timer sends them all again.
  weft_ack(1, {3, 4});
  const Time from = now;
  while (count(ConnectedCounter::kTxTimeouts) == 0) {
    ASSERT_TRUE(wait());
    transmit();
    ASSERT_LE(now - from, 100ms);
  }
  weft_ack(10);
  EXPECT_EQ(completed_ids().size(), 10u);
  EXPECT_EQ(requester->in_flight(), 0u);
}

TEST_F(RequesterSelective, AcceptsStandardAcknowledgementsToo) {
  ten_packets();
  ack(4);
  nak(7, wire::NakCode::psn_sequence_error);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(numbers(transmit()).front(), 7u);
}

TEST_F(RequesterSelective, TakesAWeftAcknowledgementBeforeItHasHeardOfTheAgreement) {
  start();
  for (std::uint64_t i = 0; i < 5; ++i)
    ASSERT_EQ(send(i, kMtu), std::errc{});
  transmit();
  weft_ack(0, {}, 1 << 20);
  EXPECT_THAT(completed_ids(), ElementsAre(0));
  for (int i = 0; i < 20; ++i)
    weft_ack(0, {2, 3, 4});
  EXPECT_THAT(numbers(transmit()), ElementsAre(1, 2, 3, 4)) << "as after a NAK";
  now += 1ms;
  for (int i = 0; i < 20; ++i) {
    weft_ack(0, {2, 3, 4});
    transmit();
    now += 1ms;
  }
  EXPECT_FALSE(requester->failed()) << "nobody refuses anything";
  weft_ack(4);
  EXPECT_THAT(completed_ids(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(RequesterSelective, BeginsInMidConnectionWhenNoReadIsOutstanding) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  connection.config.extensions = true;
  ASSERT_EQ(read(3, 300 * 1024), std::errc{});
  transmit();
  read_response(1, wire::Opcode::rc_read_response_middle, text(0, kMtu));
  EXPECT_THAT(numbers(transmit()), ElementsAre(0, 3, 4)) << "still in order";
  read_response(0, wire::Opcode::rc_read_response_first, text(0, kMtu));
  read_response(1, wire::Opcode::rc_read_response_middle, text(0, kMtu));
  read_response(2, wire::Opcode::rc_read_response_last, text(0, kMtu));
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterSelective, ReachesAMegabyteInFlightWithinAFewRoundTrips) {
  connection.mtu = 4096;
  start_weft();
  for (std::uint64_t i = 0; i < 64; ++i)
    ASSERT_EQ(send(i, 1024 * 1024), std::errc{});
  std::uint32_t sent = 0;
  int rounds = 0;
  while (requester->window() < 1024 * 1024) {
    sent += static_cast<std::uint32_t>(transmit().size());
    now += 1ms;
    weft_ack(static_cast<std::int32_t>(sent) - 1, {}, 8 << 20);
    ASSERT_LE(++rounds, 6);
  }
}

TEST_F(RequesterSelective, NeverRunsFurtherAheadOfAGapThanAPeerKeeps) {
  start_weft();
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_EQ(send(i, 1024 * 1024), std::errc{});
  weft_ack(-1, {}, 8 << 20);
  std::uint32_t sent = 0;
  for (int round = 0; round < 200; ++round) {
    for (const std::uint32_t n : numbers(transmit()))
      sent = std::max(sent, n + 1);
    now += 100us;
    std::vector<std::uint32_t> after;
    for (std::uint32_t n = 1; n < sent; ++n)
      after.push_back(n);
    weft_ack(-1, after, 8 << 20);  // the first one never arrives
  }
  EXPECT_LE(sent, Requester::kMostSpan);
  EXPECT_GE(sent, Requester::kMostSpan - 64);
}

TEST_F(RequesterSelective, NeedsNoProbeAfterRunsOfWhichOnlyTheFirstPacketArrived) {
  start_weft();
  std::set<std::uint32_t> beyond;  // arrived after a gap
  std::int32_t through = -1;
  std::uint64_t posted = 0;
  int runs = 0;
  while (completions.all.size() < 2000) {
    for (; requester->room() > 512 - 128; ++posted)
      ASSERT_EQ(send(posted, 1 + posted % 100), std::errc{});
    bool asked = false;
    bool any = false;
    while (requester->fill(scratch, now)) {
      ++runs;
      std::size_t n = 0;
      for (const OutPacket& packet : scratch.packets()) {
        const auto bth = *wire::Bth::parse(packet.header);
        if (n++ > 0 && runs > 4 && runs <= 12) continue;  // lost
        beyond.insert(static_cast<std::uint32_t>(Psn::diff(bth.psn, kFirstPsn)));
        asked = asked || bth.ack_request;
        any = true;
      }
      requester->sent(scratch, {}, now);
    }
    now += any ? 40us + Duration(scratch.size()) * 1000 : 10us;
    while (beyond.erase(static_cast<std::uint32_t>(through + 1)) > 0)
      ++through;
    while (!beyond.empty() && static_cast<std::int32_t>(*beyond.begin()) <= through)
      beyond.erase(beyond.begin());
    if (any && (asked || !beyond.empty())) {
      weft_ack(through, {beyond.begin(), beyond.end()}, 256 * 1024);
    } else {
      ASSERT_TRUE(wait());
    }
  }
  EXPECT_LE(count(ConnectedCounter::kTxProbes), 3u) << "one where nothing else can tell";
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 0u);
}

}  // namespace
}  // namespace weft::hca::test
