// SPDX-License-Identifier: Apache-2.0
// Links whose symbols can be wrong, and that train again when too many are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = PortState;

// Up at once, and again after a time if it is told so. Of the packets to end 1 it spoils as many as
// it is told to.
class StubTrainer final : public LinkTrainer {
 public:
  void start(Time) override { up_ = true; }
  void stop(Time) override {
    up_ = false;
    recovers_until_.reset();
  }
  void run(Time now) override {
    if (!recovers_until_ || now < *recovers_until_) return;
    recovers_until_.reset();
    up_ = succeeds;
  }
  [[nodiscard]] std::optional<Time> deadline() const override { return recovers_until_; }
  [[nodiscard]] bool up() const override { return up_ && !recovers_until_; }
  void retrain(std::size_t, Time now) override { recovers_until_ = now + kRecovery; }
  [[nodiscard]] bool recovering() const override { return recovers_until_.has_value(); }
  [[nodiscard]] bool has_errors(std::size_t) const override { return errs; }
  std::uint64_t wrong_symbols(std::size_t to, std::size_t symbols, Time) override {
    if (to == 0 || spoils == 0) return 0;
    --spoils;
    last_symbols = symbols;
    wrong += each;
    return each;
  }
  [[nodiscard]] std::uint64_t symbol_errors(std::size_t to, Time now) const override {
    if (to == 0) return 0;
    return wrong + static_cast<std::uint64_t>((now - Time{1s}) / 1s);  // and of idle data
  }
  void set_tap(LinkTap*) override {}

  static constexpr Duration kRecovery = 2ms;
  bool errs = true;
  bool succeeds = true;
  int spoils = 0;
  std::uint64_t each = 1;
  std::uint64_t wrong = 0;
  std::size_t last_symbols = 0;

 private:
  bool up_ = false;
  std::optional<Time> recovers_until_;
};

// Its link is joined before it can have a trainer, so this is a rig of its own.
struct TrainedRig {
  explicit TrainedRig(const PortOptions& options = {.vl_buffer = 60'000, .credit_period = 1s})
      : link(pool), a(worker, options), b(worker, options) {
    link.set_trainer(&trainer);
    link.join(a.port, b.port, now());
    worker.settle();
    for (const State state : {State::kArmed, State::kActive}) {
      for (Station* const each : {&a, &b})
        each->port.set_state(state, now());
      worker.run_for(1ms);
    }
    a.changes.clear();
    b.changes.clear();
  }
  ~TrainedRig() {
    a.port.connect(nullptr, now());
    b.port.connect(nullptr, now());
  }
  [[nodiscard]] Time now() const { return worker.now(); }
  void send(Station& from, std::uint32_t number, std::size_t payload = 64) {
    from.port.transmit(pool.copy(make_packet({.payload = payload, .number = number})), Vl{0},
                       now());
    worker.settle();
  }
  // One packet more than the usual threshold.
  void spoil_too_many() {
    trainer.spoils = kUsualLocalPhyErrors + 1;
    for (std::uint32_t i = 0; i <= kUsualLocalPhyErrors; ++i)
      send(a, 1000 + i);
  }

  BufferPool payloads{PacketPool::kPayloadBlock, 100'000};
  PacketPool pool{100'000, payloads};
  Worker worker;
  StubTrainer trainer;
  DirectLink link;
  Station a;
  Station b;
};

TEST(LinkErrors, OfAPacketMakeThePortDropItByItsCrc) {
  TrainedRig rig;
  rig.trainer.spoils = 1;
  rig.send(rig.a, 1);
  rig.send(rig.a, 2);
  EXPECT_THAT(rig.b.numbers, ElementsAre(2));
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxBadVcrc), 1U);
  EXPECT_EQ(port_rcv_errors(rig.b.port.counters()), 1U);
  EXPECT_EQ(rig.link.counters().get(LinkCounter::kDamaged), 1U);
  EXPECT_EQ(rig.trainer.last_symbols, 8 + 12 + 64 + 4 + 2 + 2U) << "SDP and EGP with it";
}

TEST(LinkErrors, OfManySymbolsInAPacketDoNotUndoEachOther) {
  TrainedRig rig;
  rig.b.port.set_local_phy_errors(15);
  for (std::uint64_t wrong = 1; wrong < 100; ++wrong) {
    rig.trainer.spoils = 1;
    rig.trainer.each = wrong;
    rig.send(rig.a, 1, 4);
    rig.send(rig.a, 2);
    ASSERT_EQ(count(rig.b.port, PortCounter::kRxBadVcrc), wrong);
  }
}

TEST(LinkErrors, OfSymbolsAreCountedWhetherOrNotAPacketIsHit) {
  TrainedRig rig;
  EXPECT_EQ(rig.b.port.symbol_errors(rig.now()), 0U);
  rig.trainer.spoils = 1;
  rig.trainer.each = 3;
  rig.send(rig.a, 1);
  EXPECT_EQ(rig.b.port.symbol_errors(rig.now()), 3U);
  rig.worker.run_for(10s);
  EXPECT_EQ(rig.b.port.symbol_errors(rig.now()), 13U);
  EXPECT_EQ(rig.a.port.symbol_errors(rig.now()), 0U);
  rig.b.port.connect(nullptr, rig.now());
  EXPECT_EQ(rig.b.port.symbol_errors(rig.now() + 100s), 13U) << "of a cable that is gone";
}

TEST(LinkErrors, AreNoneWhereNoneAreToBeExpected) {
  TrainedRig rig;
  rig.trainer.errs = false;
  rig.link.set_emulation({}, rig.now());
  rig.trainer.spoils = 1;
  rig.send(rig.a, 1);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1)) << "nobody asks";
}

TEST(LinkRecovery, ComesWhenFaultsExceedLocalPhyErrorsAndKeepsTheLinkState) {
  TrainedRig rig;
  rig.spoil_too_many();
  for (Station* const each : {&rig.a, &rig.b}) {
    EXPECT_EQ(each->port.physical_state(), PortPhysicalState::kLinkErrorRecovery);
    EXPECT_EQ(each->port.state(), State::kActive);
  }
  EXPECT_FALSE(rig.link.up(rig.now()));
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkIntegrity), 1U);
  EXPECT_EQ(count(rig.a.port, PortCounter::kLinkIntegrity), 0U);
  rig.worker.run_for(StubTrainer::kRecovery);
  for (Station* const each : {&rig.a, &rig.b}) {
    EXPECT_EQ(each->port.physical_state(), PortPhysicalState::kLinkUp);
    EXPECT_EQ(count(each->port, PortCounter::kLinkErrorRecoveries), 1U);
    EXPECT_EQ(count(each->port, PortCounter::kLinkDowned), 0U);
    EXPECT_THAT(each->changes, IsEmpty());
  }
  rig.send(rig.a, 7);
  EXPECT_THAT(rig.b.numbers, ElementsAre(7));
}

TEST(LinkRecovery, ComesAsSoonAsAPortPutsUpWithLess) {
  TrainedRig rig;
  rig.b.port.set_local_phy_errors(0);
  rig.trainer.spoils = 1;
  rig.send(rig.a, 1);
  EXPECT_EQ(rig.b.port.physical_state(), PortPhysicalState::kLinkErrorRecovery);
}

TEST(LinkRecovery, HoldsBackWhatIsToBeSentMeanwhile) {
  TrainedRig rig;
  rig.spoil_too_many();
  const auto down = rig.link.counters().get(LinkCounter::kDown);
  rig.send(rig.a, 1);
  rig.send(rig.b, 2);
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 1U);
  rig.worker.run_for(StubTrainer::kRecovery);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1));
  EXPECT_THAT(rig.a.numbers, ElementsAre(2));
  EXPECT_EQ(rig.link.counters().get(LinkCounter::kDown), down);
}

TEST(LinkRecovery, MakesUpForTheCreditOfWhatItLost) {
  // Room for two of the largest packets: the credit of those that are lost is missed at once.
  TrainedRig rig({.mtu_code = 1, .vl_buffer = 12, .credit_period = 1s});
  rig.b.port.set_local_phy_errors(2);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    rig.trainer.spoils = 3;
    for (std::uint32_t i = 0; i < 3; ++i)
      rig.send(rig.a, i);
    rig.worker.run_for(StubTrainer::kRecovery);
    ASSERT_EQ(count(rig.a.port, PortCounter::kLinkErrorRecoveries), round);
  }
  const auto before = rig.b.numbers.size();
  for (std::uint32_t i = 0; i < 50; ++i)
    rig.send(rig.a, i, 256);
  EXPECT_EQ(rig.b.numbers.size(), before + 50);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxCreditProbes), 0U) << "nobody had to ask";
}

TEST(LinkRecovery, ThatFailsTakesTheLinkDown) {
  TrainedRig rig;
  rig.trainer.succeeds = false;
  rig.spoil_too_many();
  rig.send(rig.a, 1);
  rig.worker.run_for(StubTrainer::kRecovery);
  for (Station* const each : {&rig.a, &rig.b}) {
    EXPECT_EQ(each->port.state(), State::kDown);
    EXPECT_EQ(each->port.physical_state(), PortPhysicalState::kPolling);
    EXPECT_EQ(count(each->port, PortCounter::kLinkDowned), 1U);
    EXPECT_EQ(count(each->port, PortCounter::kLinkErrorRecoveries), 0U);
  }
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxLinkLost), 1U) << "what waited";
}

TEST(LinkRecovery, EndsWithTheCable) {
  TrainedRig rig;
  rig.spoil_too_many();
  rig.link.set_plugged(false, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.b.port.state(), State::kDown);
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkDowned), 1U);
  rig.link.set_plugged(true, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.b.port.state(), State::kInitialize);
  EXPECT_EQ(rig.b.port.physical_state(), PortPhysicalState::kLinkUp);
}

TEST(LinkRecovery, IsKnownToAPortThatRunsWhenItIsOver) {
  TrainedRig rig;
  rig.spoil_too_many();
  // Again, and neither port runs until it has come to its end.
  rig.worker.run_for(StubTrainer::kRecovery);
  rig.trainer.retrain(0, rig.now());
  rig.link.set_emulation({}, rig.now());
  rig.worker.run_for(10 * StubTrainer::kRecovery);
  EXPECT_EQ(count(rig.a.port, PortCounter::kLinkErrorRecoveries), 2U);
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkErrorRecoveries), 2U);
}

TEST(LinkRecovery, DoesNotComeWhereNothingTrains) {
  Rig rig({.vl_buffer = 60'000, .credit_period = 1s});
  rig.activate();
  rig.link.set_emulation({.bit_errors = 1}, rig.now());
  for (std::uint32_t i = 0; i < 18; ++i)
    rig.send(rig.a, {.number = i});
  rig.worker.run_for(1ms);
  EXPECT_EQ(rig.b.port.physical_state(), PortPhysicalState::kLinkUp);
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkIntegrity), 2U) << "but the port counts";
}

TEST(LinkRecovery, IsNoMatterForTheWatchdogOfCredit) {
  PortOptions options{.vl_buffer = 60'000, .credit_updates = CreditUpdates::kPeriodic};
  options.credit_period = kStandardCreditPeriod;
  TrainedRig rig(options);
  rig.spoil_too_many();
  rig.worker.run_for(20ms);
  EXPECT_EQ(count(rig.b.port, PortCounter::kCreditWatchdog), 0U);
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkErrorRecoveries), 1U);
  EXPECT_EQ(rig.b.port.state(), State::kActive);
}

}  // namespace
}  // namespace weft::link
