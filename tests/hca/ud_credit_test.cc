// SPDX-License-Identifier: Apache-2.0
#include "hca/ud_credit.h"

#include <gtest/gtest.h>

namespace weft::hca {
namespace {

constexpr std::uint32_t kSmall = 1124;  // what a lone datagram of 64 bytes costs

TEST(UdCredit, IsWhatWasWritten) {
  const UdCredit credit{.seen = Psn{0xABCDEF}, .packets = 1, .bytes = 0x80000000, .lost = 77};
  std::array<std::byte, UdCredit::kSize> wire{};
  credit.write(wire);
  const auto read = UdCredit::parse(wire);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->seen, credit.seen);
  EXPECT_EQ(read->packets, credit.packets);
  EXPECT_EQ(read->bytes, credit.bytes);
  EXPECT_EQ(read->lost, credit.lost);
  EXPECT_FALSE(UdCredit::parse(Bytes(wire).first(15)));
  wire[0] = std::byte{1};
  EXPECT_FALSE(UdCredit::parse(wire)) << "a reserved byte that is not zero";
}

class Pacer : public ::testing::Test {
 protected:
  // Sends all that may go, up to `most` packets; returns the stamps.
  std::vector<UdPacer::Stamp> send(std::uint32_t cost = kSmall, std::size_t most = 1000) {
    std::vector<UdPacer::Stamp> stamps;
    while (stamps.size() < most && pacer.allowance(cost, now) > 0)
      stamps.push_back(pacer.stamp(cost));
    return stamps;
  }
  UdPacer pacer{Psn{0xFFFFF0}};  // numbers wrap within every test
  Time now{1s};
};

TEST_F(Pacer, BeginsWithASmallWindowAndAsksAtOnceAndAgain) {
  const auto stamps = send();
  EXPECT_EQ(stamps.size(), UdPacer::kInitialBytes / kSmall);
  EXPECT_TRUE(stamps.front().ack_request);
  EXPECT_TRUE(stamps.back().ack_request) << "the last of a window always asks";
  const auto asked = std::count_if(stamps.begin(), stamps.end(),
                                   [](const UdPacer::Stamp& s) { return s.ack_request; });
  EXPECT_GE(asked, 3);
  EXPECT_LE(asked, 4);
  for (std::uint32_t i = 0; i < stamps.size(); ++i)
    EXPECT_EQ(stamps[i].psn, Psn{0xFFFFF0} + i);
  EXPECT_EQ(pacer.stalls(), 1u);
  EXPECT_EQ(pacer.deadline(), now + UdPacer::kPatience);
}

TEST_F(Pacer, SendsAsManyPacketsAsWereGranted) {
  send();
  pacer.credit({.seen = Psn{0xFFFFF0} + 27, .packets = 100, .bytes = 1 << 20}, now);
  EXPECT_FALSE(pacer.deadline());
  const std::uint32_t in_flight = pacer.in_flight();
  EXPECT_EQ(send().size(), 100 - in_flight);
}

TEST_F(Pacer, SendsAsManyBytesAsWereGranted) {
  const auto stamps = send();
  pacer.credit({.seen = stamps.back().psn, .packets = 10'000, .bytes = 1 << 20}, now);
  EXPECT_EQ(send().size(), (1u << 20) / kSmall);
}

TEST_F(Pacer, LetsOneGoThatIsLargerThanTheWindowWhenNothingElseIsInFlight) {
  EXPECT_EQ(pacer.allowance(70'000, now), 1u);
  pacer.stamp(70'000);
  EXPECT_EQ(pacer.allowance(70'000, now), 0u);
}

TEST_F(Pacer, BelievesNoOldOrImpossibleCredit) {
  const auto stamps = send();
  pacer.credit({.seen = stamps[20].psn, .packets = 50, .bytes = 1 << 20, .lost = 3}, now);
  const std::uint32_t in_flight = pacer.in_flight();
  pacer.credit({.seen = stamps[10].psn, .packets = 1, .bytes = 1, .lost = 1}, now);
  EXPECT_EQ(pacer.in_flight(), in_flight) << "overtaken by a newer one";
  EXPECT_EQ(pacer.lost(), 3u);
  pacer.credit({.seen = stamps.back().psn + 1, .packets = 9999, .bytes = 1 << 30}, now);
  EXPECT_EQ(pacer.in_flight(), in_flight) << "never sent";
  EXPECT_EQ(send().size(), 50 - in_flight);
}

TEST_F(Pacer, KeepsTheLargerOfTwoCreditsWithTheSameNews) {
  const auto stamps = send();
  pacer.credit({.seen = stamps.back().psn, .packets = 0, .bytes = 0}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
  pacer.credit({.seen = stamps.back().psn, .packets = 8, .bytes = 1 << 20}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 8u);
  pacer.credit({.seen = stamps.back().psn, .packets = 0, .bytes = 0}, now);
  EXPECT_EQ(pacer.allowance(kSmall, now), 8u) << "the duplicate of the first";
}

TEST_F(Pacer, GoesBlindWhenNoCreditEverCame) {
  send();
  Duration waited{};
  for (std::uint32_t wait = 1; wait < UdPacer::kWaitsUntilBlind; ++wait) {
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    EXPECT_GT(*pacer.deadline() - now, waited) << "each wait is longer than the one before";
    waited = *pacer.deadline() - now;
    now = *pacer.deadline() - 1ns;
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    now += 1ns;
    EXPECT_LE(send(kSmall, 1000).size(), UdPacer::kInitialPackets) << "a little at a time";
    EXPECT_FALSE(pacer.blind());
  }
  EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
  now = *pacer.deadline();
  const auto stamps = send(kSmall, 1000);
  EXPECT_EQ(stamps.size(), 1000u);
  EXPECT_TRUE(pacer.blind());
  EXPECT_TRUE(stamps.front().ack_request) << "and keeps asking";
  const auto asked = std::count_if(stamps.begin(), stamps.end(),
                                   [](const UdPacer::Stamp& s) { return s.ack_request; });
  EXPECT_GT(asked, 20);
  pacer.credit({.seen = stamps.back().psn, .packets = 5, .bytes = 1 << 20}, now);
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
  pacer.credit({.seen = first.back().psn, .packets = 64, .bytes = 1 << 20}, now);
  send();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pacer.allowance(kSmall, now), 0u);
    now = *pacer.deadline();
    const auto more = send();
    EXPECT_GE(more.size(), 20u);
    EXPECT_LE(more.size(), UdPacer::kInitialPackets);
    EXPECT_TRUE(more.front().ack_request);
    EXPECT_FALSE(pacer.blind());
  }
}

TEST_F(Pacer, BelievesNoCreditAfterAPause) {
  const auto first = send();
  pacer.credit({.seen = first.back().psn, .packets = 1000, .bytes = 1 << 22}, now);
  EXPECT_EQ(send(kSmall, 10).size(), 10u);
  now += UdPacer::kIdle + 1ns;
  EXPECT_EQ(send().size(), UdPacer::kInitialBytes / kSmall);
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
  pacer.credit({.seen = taken.back().psn, .packets = 7, .bytes = 1 << 20}, now);
  pacer.roll_back(before);
  EXPECT_EQ(pacer.in_flight(), 0u);
  EXPECT_EQ(send().size(), 7u);
}

class Granter : public ::testing::Test {
 protected:
  static FlowKey flow(std::uint32_t n) { return {Gid::from_ipv4(n), Qpn{5}}; }
  static constexpr std::uint32_t kBudget = 266'240;
  // The flow sends and asks until its share does not grow any more.
  UdCredit settle(const FlowKey& key, Psn& psn, std::uint32_t packets) {
    UdCredit credit{};
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
  EXPECT_EQ(first->bytes, UdPacer::kInitialBytes) << "others may have begun at the same time";
  const UdCredit credit = settle(flow(1), ++psn, 500);
  EXPECT_EQ(credit.packets, 500u);
  EXPECT_EQ(credit.bytes, kBudget);
  EXPECT_FALSE(granter.grant(flow(2), 500, kBudget, now)) << "nobody";
}

TEST_F(Granter, NeverOwesMoreThanThereIs) {
  Psn a{0};
  Psn b{0};
  EXPECT_EQ(settle(flow(1), a, 400).packets, 400u);
  granter.arrived(flow(2), b, now, 4000);
  const UdCredit newcomer = *granter.grant(flow(2), 400, kBudget, now);
  EXPECT_EQ(newcomer.packets, 0u) << "all is owed to the first flow";
  for (int i = 0; i < 40; ++i) {
    granter.arrived(flow(1), a = a + 10, now, 4000);
    const UdCredit first = *granter.grant(flow(1), 400, kBudget, now);
    EXPECT_LE(first.packets, 200u);
    granter.arrived(flow(2), b = b + 1, now, 4000);
    now += 200us;
  }
  const UdCredit even = settle(flow(2), b, 400);
  EXPECT_GT(even.packets, 150u);
  EXPECT_LE(even.packets, 200u);
  EXPECT_LE(even.bytes, kBudget / 2);
}

TEST_F(Granter, ForgetsWhatItOwesToTheSilent) {
  Psn a{0};
  Psn b{0};
  settle(flow(1), a, 400);
  now += UdGranter::kActive + 1ns;
  EXPECT_EQ(settle(flow(2), b, 400).packets, 400u);
}

TEST_F(Granter, GrantsNothingWhenNoReceiveIsPosted) {
  granter.arrived(flow(1), Psn{0}, now, 100);
  EXPECT_EQ(granter.grant(flow(1), 0, kBudget, now)->packets, 0u);
  EXPECT_EQ(granter.grant(flow(1), 1, kBudget, now)->packets, 1u);
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
