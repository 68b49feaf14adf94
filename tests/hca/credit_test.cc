// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hca/credit_pacer.h"
#include "hca/ud_granter.h"

namespace weft::hca {
namespace {

constexpr std::uint32_t kSmall = 1124;  // what a lone datagram of 64 bytes costs

TEST(Credit, IsWhatWasWritten) {
  const Credit credit{.seen = Psn{0xABCDEF}, .receives = 1, .bytes = 0x80000000, .lost = 77};
  std::array<std::byte, Credit::kSize> wire{};
  credit.write(wire);
  const auto read = Credit::parse(wire);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->seen, credit.seen);
  EXPECT_EQ(read->receives, credit.receives);
  EXPECT_EQ(read->bytes, credit.bytes);
  EXPECT_EQ(read->lost, credit.lost);
  EXPECT_FALSE(Credit::parse(Bytes(wire).first(15)));
  wire[0] = std::byte{1};
  EXPECT_FALSE(Credit::parse(wire)) << "a reserved byte that is not zero";
}

class Pacer : public ::testing::Test {
 protected:
  // Sends all that may go, up to `most` packets; returns the stamps.
  std::vector<CreditPacer::Stamp> send(std::uint32_t cost = kSmall, std::size_t most = 1000) {
    std::vector<CreditPacer::Stamp> stamps;
    while (stamps.size() < most && pacer.allowance(cost, now) > 0)
      stamps.push_back(pacer.stamp(cost));
    return stamps;
  }
  CreditPacer pacer{Psn{0xFFFFF0}};  // numbers wrap within every test
  Time now{1s};
};

TEST_F(Pacer, BeginsWithASmallWindowAndAsksAtOnceAndAgain) {
  const auto stamps = send();
  EXPECT_EQ(stamps.size(), CreditPacer::kInitialBytes / kSmall);
  EXPECT_TRUE(stamps.front().ack_request);
  EXPECT_TRUE(stamps.back().ack_request) << "the last of a window always asks";
  const auto asked = std::count_if(stamps.begin(), stamps.end(),
                                   [](const CreditPacer::Stamp& s) { return s.ack_request; });
  EXPECT_GE(asked, 3);
  EXPECT_LE(asked, 4);
  for (std::uint32_t i = 0; i < stamps.size(); ++i)
    EXPECT_EQ(stamps[i].psn, Psn{0xFFFFF0} + i);
  EXPECT_EQ(pacer.stalls(), 1u);
  EXPECT_EQ(pacer.deadline(), now + CreditPacer::kPatience);
}

TEST_F(Pacer, SendsAsManyPacketsAsWereGranted) {
  send();
  pacer.credit({.seen = Psn{0xFFFFF0} + 27, .receives = 100, .bytes = 1 << 20}, now);
  EXPECT_FALSE(pacer.deadline());
  const std::uint32_t in_flight = pacer.in_flight();
  EXPECT_EQ(send().size(), 100 - in_flight);
}

TEST_F(Pacer, SendsAsManyBytesAsWereGranted) {
  const auto stamps = send();
  pacer.credit({.seen = stamps.back().psn, .receives = 10'000, .bytes = 1 << 20}, now);
  EXPECT_EQ(send().size(), (1u << 20) / kSmall);
}

TEST_F(Pacer, LetsOneGoThatIsLargerThanTheWindowWhenNothingElseIsInFlight) {
  EXPECT_EQ(pacer.allowance(70'000, now), 1u);
  pacer.stamp(70'000);
  EXPECT_EQ(pacer.allowance(70'000, now), 0u);
}

TEST_F(Pacer, BelievesNoOldOrImpossibleCredit) {
  const auto stamps = send();
  pacer.credit({.seen = stamps[20].psn, .receives = 50, .bytes = 1 << 20, .lost = 3}, now);
  const std::uint32_t in_flight = pacer.in_flight();
  pacer.credit({.seen = stamps[10].psn, .receives = 1, .bytes = 1, .lost = 1}, now);
  EXPECT_EQ(pacer.in_flight(), in_flight) << "overtaken by a newer one";
  EXPECT_EQ(pacer.lost(), 3u);
  pacer.credit({.seen = stamps.back().psn + 1, .receives = 9999, .bytes = 1 << 30}, now);
  EXPECT_EQ(pacer.in_flight(), in_flight) << "never sent";
  EXPECT_EQ(send().size(), 50 - in_flight);
}

TEST_F(Pacer, KeepsTheLargerOfTwoCreditsWithTheSameNews) {
  const auto stamps = send();
  pacer.credit({.seen = stamps.back().psn, .receives = 0, .bytes = 0}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
  pacer.credit({.seen = stamps.back().psn, .receives = 8, .bytes = 1 << 20}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 8u);
  pacer.credit({.seen = stamps.back().psn, .receives = 0, .bytes = 0}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 8u) << "the duplicate of the first";
}

TEST_F(Pacer, GoesBlindWhenNoCreditEverCame) {
  send();
  Duration waited{};
  for (std::uint32_t wait = 1; wait < CreditPacer::kWaitsUntilBlind; ++wait) {
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    EXPECT_GT(*pacer.deadline() - now, waited) << "each wait is longer than the one before";
    waited = *pacer.deadline() - now;
    now = *pacer.deadline() - 1ns;
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    now += 1ns;
    EXPECT_LE(send(kSmall, 1000).size(), CreditPacer::kInitialReceives) << "a little at a time";
    EXPECT_FALSE(pacer.blind());
  }
  EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
  now = *pacer.deadline();
  const auto stamps = send(kSmall, 1000);
  EXPECT_EQ(stamps.size(), 1000u);
  EXPECT_TRUE(pacer.blind());
  EXPECT_TRUE(stamps.front().ack_request) << "and keeps asking";
  const auto asked = std::count_if(stamps.begin(), stamps.end(),
                                   [](const CreditPacer::Stamp& s) { return s.ack_request; });
  EXPECT_GT(asked, 20);
  pacer.credit({.seen = stamps.back().psn, .receives = 5, .bytes = 1 << 20}, now);
  EXPECT_FALSE(pacer.blind());
  EXPECT_EQ(send().size(), 5u);
}

TEST_F(Pacer, StaysBlindOverMoreThanAllSequenceNumbers) {
  send();
  while (!pacer.blind()) {
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    now = *pacer.deadline();
    send();
  }
  for (std::uint32_t i = 0; i < (1u << 24) + 1000; i += 1000)
    ASSERT_EQ(send(kSmall, 1000).size(), 1000u);
  EXPECT_LE(pacer.in_flight(), 1u << 20);
}

TEST_F(Pacer, SendsALittleAtATimeWhenNewsStops) {
  const auto first = send();
  pacer.credit({.seen = first.back().psn, .receives = 64, .bytes = 1 << 20}, now);
  send();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    now = *pacer.deadline();
    const auto more = send();
    EXPECT_GE(more.size(), 20u);
    EXPECT_LE(more.size(), CreditPacer::kInitialReceives);
    EXPECT_TRUE(more.front().ack_request);
    EXPECT_FALSE(pacer.blind());
  }
}

TEST_F(Pacer, WaitsLongerForAPeerThatTakesLonger) {
  const auto first = send();
  now += 1ms;
  EXPECT_EQ(pacer.deadline(), now - 1ms + CreditPacer::kPatience);
  now += 9ms;
  pacer.credit({.seen = first.back().psn, .receives = 20, .bytes = 1 << 20}, now);
  const auto second = send();
  EXPECT_EQ(pacer.deadline(), now + 20ms) << "twice of what the credit took";
  now += 1s;
  pacer.credit({.seen = second.back().psn, .receives = 20, .bytes = 1 << 20}, now);
  Psn last = send().back().psn;
  EXPECT_EQ(pacer.deadline(), now + CreditPacer::kMostPatience);
  for (int i = 0; i < 100; ++i) {
    now += 10us;
    pacer.credit({.seen = last, .receives = 20, .bytes = 1 << 20}, now);
    last = send().back().psn;
  }
  EXPECT_EQ(pacer.deadline(), now + CreditPacer::kPatience) << "it is as fast as ever again";
}

// As in unreliable connections: some packets use a receive request up, others do not.
TEST_F(Pacer, CountsReceivesApartFromPackets) {
  std::vector<CreditPacer::Stamp> stamps;
  for (int i = 0; i < 40; ++i)
    stamps.push_back(pacer.stamp(100, i % 4 == 0 ? 1 : 0));
  pacer.credit({.seen = stamps[19].psn, .receives = 7, .bytes = 1 << 20}, now);
  // Five of those behind the 20th use one: two more may.
  EXPECT_EQ(pacer.room(100, 1), 2u);
  EXPECT_GT(pacer.room(100, 0), 1000u);
  pacer.stamp(100, 1);
  pacer.stamp(100, 1);
  EXPECT_FALSE(pacer.admits(100, 1));
  EXPECT_TRUE(pacer.admits(100, 0));
  EXPECT_EQ(pacer.allowance(100, now, 1), 0u);
  EXPECT_TRUE(pacer.deadline());
}

TEST_F(Pacer, BelievesNoCreditAfterAPause) {
  const auto first = send();
  pacer.credit({.seen = first.back().psn, .receives = 1000, .bytes = 1 << 22}, now);
  EXPECT_EQ(send(kSmall, 10).size(), 10u);
  now += CreditPacer::kIdle + 1ns;
  EXPECT_EQ(send().size(), CreditPacer::kInitialBytes / kSmall);
}

TEST_F(Pacer, TakesBackWhatDidNotGo) {
  const auto first = send(kSmall, 5);
  const auto before = pacer.checkpoint();
  const auto taken = send(kSmall, 5);
  pacer.roll_back(before);
  const auto again = send(kSmall, 5);
  ASSERT_EQ(again.size(), taken.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].psn, taken[i].psn);
    EXPECT_EQ(again[i].ack_request, taken[i].ack_request);
  }
  EXPECT_EQ(pacer.in_flight(), 10u);
}

TEST_F(Pacer, SurvivesACreditForWhatIsThenTakenBack) {
  send(kSmall, 5);
  const auto before = pacer.checkpoint();
  const auto taken = send(kSmall, 5);
  pacer.credit({.seen = taken.back().psn, .receives = 7, .bytes = 1 << 20}, now);
  pacer.roll_back(before);
  EXPECT_EQ(pacer.in_flight(), 0u);
  EXPECT_EQ(send().size(), 7u);
}

class Granter : public ::testing::Test {
 protected:
  static FlowKey flow(std::uint32_t n) { return {Gid::from_ipv4(n), Qpn{5}}; }
  static constexpr std::uint32_t kBudget = 266'240;
  // The flow sends and asks until its share does not grow any more.
  Credit settle(const FlowKey& key, Psn& psn, std::uint32_t packets) {
    Credit credit{};
    for (int i = 0; i < 20; ++i) {
      granter.arrived(key, psn, now, 4000);
      ++psn;
      now += 200us;
      credit = *granter.grant(key, packets, kBudget, now);
    }
    return credit;
  }
  UdGranter granter;
  Time now{1s};
};

TEST_F(Granter, GivesTheOnlyFlowEverythingInTheEnd) {
  Psn psn{100};
  granter.arrived(flow(1), psn, now, 4000);
  const auto first = granter.grant(flow(1), 500, kBudget, now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->seen, Psn{100});
  EXPECT_EQ(first->bytes, CreditPacer::kInitialBytes) << "others may have begun at the same time";
  const Credit credit = settle(flow(1), ++psn, 500);
  EXPECT_EQ(credit.receives, 500u);
  EXPECT_EQ(credit.bytes, kBudget);
  EXPECT_FALSE(granter.grant(flow(2), 500, kBudget, now)) << "nobody";
}

TEST_F(Granter, NeverOwesMoreThanThereIs) {
  Psn a{0};
  Psn b{0};
  EXPECT_EQ(settle(flow(1), a, 400).receives, 400u);
  granter.arrived(flow(2), b, now, 4000);
  const Credit newcomer = *granter.grant(flow(2), 400, kBudget, now);
  EXPECT_EQ(newcomer.receives, 0u) << "all is owed to the first flow";
  for (int i = 0; i < 40; ++i) {
    granter.arrived(flow(1), a = a + 10, now, 4000);
    const Credit first = *granter.grant(flow(1), 400, kBudget, now);
    EXPECT_LE(first.receives, 200u);
    granter.arrived(flow(2), b = b + 1, now, 4000);
    now += 200us;
  }
  const Credit even = settle(flow(2), b, 400);
  EXPECT_GT(even.receives, 150u);
  EXPECT_LE(even.receives, 200u);
  EXPECT_LE(even.bytes, kBudget / 2);
}

TEST_F(Granter, ForgetsWhatItOwesToTheSilent) {
  Psn a{0};
  Psn b{0};
  settle(flow(1), a, 400);
  now += UdGranter::kActive + 1ns;
  EXPECT_EQ(settle(flow(2), b, 400).receives, 400u);
}

TEST_F(Granter, GrantsNothingWhenNoReceiveIsPosted) {
  granter.arrived(flow(1), Psn{0}, now, 100);
  EXPECT_EQ(granter.grant(flow(1), 0, kBudget, now)->receives, 0u);
  EXPECT_EQ(granter.grant(flow(1), 1, kBudget, now)->receives, 1u);
}

TEST_F(Granter, CountsGapsAndTakesBackWhatWasOnlyLate) {
  granter.arrived(flow(1), Psn{0xFFFFFE}, now);
  granter.arrived(flow(1), Psn{3}, now);
  EXPECT_EQ(granter.lost(), 4u);
  granter.arrived(flow(1), Psn{0}, now);
  granter.arrived(flow(1), Psn{0xFFFFFF}, now);
  EXPECT_EQ(granter.lost(), 2u);
  granter.arrived(flow(1), Psn{0}, now);
  granter.arrived(flow(1), Psn{3}, now);
  EXPECT_EQ(granter.lost(), 2u) << "a duplicate arrived once";
  granter.arrived(flow(1), Psn{0xFFFFFD}, now);
  EXPECT_EQ(granter.lost(), 2u) << "what was before the first is not ours to miss";
}

TEST_F(Granter, BelievesAnotherNumberingOnlyFromTwoInSequence) {
  granter.arrived(flow(1), Psn{1'000'000}, now);
  granter.arrived(flow(1), Psn{10}, now);
  EXPECT_EQ(granter.grant(flow(1), 10, kBudget, now)->seen, Psn{1'000'000});
  granter.arrived(flow(1), Psn{1'000'001}, now);
  granter.arrived(flow(1), Psn{11}, now);
  EXPECT_EQ(granter.grant(flow(1), 10, kBudget, now)->seen, Psn{1'000'001});
  granter.arrived(flow(1), Psn{12}, now);
  EXPECT_EQ(granter.grant(flow(1), 10, kBudget, now)->seen, Psn{12});
  EXPECT_EQ(granter.lost(), 0u);
}

TEST_F(Granter, RemembersNoMoreThanItsLimitOfFlows) {
  for (std::uint32_t i = 0; i < 3 * UdGranter::kMaxFlows; ++i)
    granter.arrived(flow(i), Psn{0}, now);
  EXPECT_EQ(granter.flows(), UdGranter::kMaxFlows);
  EXPECT_FALSE(granter.grant(flow(0), 1, 1, now));
  EXPECT_TRUE(granter.grant(flow(3 * UdGranter::kMaxFlows - 1), 1, 1, now));
}

}  // namespace
}  // namespace weft::hca
