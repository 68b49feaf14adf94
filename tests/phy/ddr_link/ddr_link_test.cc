// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/ddr_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft::phy {
namespace {

DdrLinkOptions usual_ddr_link(std::size_t transmit = 3, std::size_t receive = 4) {
  DdrLinkOptions options;
  for (unsigned side = 0; side < 2; ++side) {
    options.settings[side] = {default_transmit_settings(transmit),
                              default_receive_settings(receive)};
    options.ends[side].first_id = 0x1000 * (side + 1);
  }
  return options;
}

std::unique_ptr<DdrLink> make_ddr_link(const DdrLinkOptions& options) {
  auto link = DdrLink::make(options);
  EXPECT_TRUE(link) << link.error().message;
  return *std::move(link);
}

// Until nothing is due any more that can change the outcome, a minute at most. How long it took.
Duration run_until_settled(DdrLink& link, Time from) {
  const Time end = from + 60s;
  Time now = from;
  for (auto due = link.deadline(); due && *due < end; due = link.deadline()) {
    now = std::max(now, *due);
    link.run(now);
    if (link.up()) break;
  }
  return now - from;
}

TEST(DdrLinks, ComeUpAtDdrOverAShortCable) {
  const auto link = make_ddr_link(usual_ddr_link());
  EXPECT_FALSE(link->deadline());
  link->start(Time{});
  EXPECT_FALSE(link->up());
  run_until_settled(*link, Time{});
  ASSERT_EQ(link->up(), LinkSpeed::kDdr);
  for (unsigned side = 0; side < 2; ++side) {
    const auto result = link->end(side).result();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->reason, NegotiationReason::kAgreed);
    // Each sends as the other one has chosen.
    const auto far = link->end(1 - side).result();
    EXPECT_EQ(result->transmit, far->receive->iteration % 3);
    EXPECT_EQ(link->line(side).transmit, *result->transmit);
    EXPECT_LT(link->bit_error_rate(side), 1e-9);
  }
}

TEST(DdrLinks, TakeTheTimeOfTheirSweep) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->start(Time{});
  // Three iterations of soak, four configurations of 50 ms, soak.
  const Duration sweep = 3 * (150ms + 4 * 50ms + 150ms);
  const Duration taken = run_until_settled(*link, Time{});
  // And of three trainings, of which Config.Debounce is the most.
  EXPECT_GT(taken, sweep + 3 * 100ms);
  EXPECT_LT(taken, sweep + 3 * 210ms);
}

TEST(DdrLinks, StayAtSdrOverACableThatIsTooLongForDdr) {
  DdrLinkOptions options = usual_ddr_link();
  options.channel.length_m = 14;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  run_until_settled(*link, Time{});
  ASSERT_EQ(link->up(), LinkSpeed::kSdr);
  EXPECT_EQ(link->end(0).result()->reason, NegotiationReason::kNoneFoundHere);
}

TEST(DdrLinks, DoNotComeUpWhereNotEvenSdrGetsAcross) {
  DdrLinkOptions options = usual_ddr_link();
  options.channel.length_m = 100;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  run_until_settled(*link, Time{});
  EXPECT_FALSE(link->up());
  EXPECT_FALSE(link->deadline()) << "and nobody tries in vain";
}

TEST(DdrLinks, StayAtSdrBesideAPortThatHasNoOtherSpeed) {
  DdrLinkOptions options = usual_ddr_link();
  options.ends[1].mode = SpeedMode::kSdrOnly;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  const Duration taken = run_until_settled(*link, Time{});
  ASSERT_EQ(link->up(), LinkSpeed::kSdr);
  EXPECT_LT(taken, 210ms) << "nothing is swept";
}

// With settings that nobody has tried: the first ones, which are for short cables.
DdrLinkOptions short_ddr_link() {
  DdrLinkOptions options = usual_ddr_link();
  options.channel.length_m = 0.5;
  return options;
}

TEST(DdrLinks, OfPortsThatAreDdrOnlyComeUpWithoutAWord) {
  DdrLinkOptions options = short_ddr_link();
  for (NegotiationOptions& end : options.ends)
    end.mode = SpeedMode::kDdrOnly;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  run_until_settled(*link, Time{});
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_EQ(link->flow().size(), 2u) << flow_text(link->flow(), link->started_at());
}

TEST(DdrLinks, GoToDdrAtOnceWhereOnePortAsksForNoSweep) {
  DdrLinkOptions options = short_ddr_link();
  options.ends[1].no_sweep = true;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  const Duration taken = run_until_settled(*link, Time{});
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_LT(taken, 2 * 210ms);
}

TEST(DdrLinks, FallBackToSdrWhereSettingsThatNobodyTriedDoNotWork) {
  DdrLinkOptions options = usual_ddr_link();
  options.ends[1].no_sweep = true;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  const Duration taken = run_until_settled(*link, Time{});
  EXPECT_EQ(link->up(), LinkSpeed::kSdr);
  EXPECT_EQ(link->end(0).result()->reason, NegotiationReason::kDdrTimeOut);
  EXPECT_GT(taken, options.ends[0].ddr_time_out);
  EXPECT_EQ(link->width(), LinkWidth::k4x) << "rather than DDR on one lane";
}

TEST(DdrLinks, BeginAnewWhenTheyAreStartedAgain) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->start(Time{});
  const Duration taken = run_until_settled(*link, Time{});
  ASSERT_TRUE(link->up());
  const std::size_t steps = link->flow().size();
  const Time again = Time{} + taken + 10s;
  link->stop(again);
  EXPECT_FALSE(link->up());
  EXPECT_FALSE(link->deadline());
  link->start(again);
  EXPECT_FALSE(link->up());
  EXPECT_EQ(run_until_settled(*link, again), taken);
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_EQ(link->flow().size(), steps);
}

TEST(DdrLinks, SweepEachWhatTheOtherPortSends) {
  DdrLinkOptions options = usual_ddr_link();
  options.settings = {SerdesSettings{default_transmit_settings(2), default_receive_settings(6)},
                      SerdesSettings{default_transmit_settings(5), default_receive_settings(3)}};
  const auto link = make_ddr_link(options);
  link->start(Time{});
  run_until_settled(*link, Time{});
  ASSERT_EQ(link->up(), LinkSpeed::kDdr);
  for (unsigned side = 0; side < 2; ++side) {
    // The smallest eye of its lanes with the pair that it has chosen is the largest there is.
    const auto chosen = link->end(side).result()->receive;
    const auto& far = options.settings[1 - side].transmit;
    EyeMatrix& eyes = link->cable().eyes(side);
    double best = 0, here = 1e9;
    for (std::size_t transmit = 0; transmit < far.size(); ++transmit) {
      double smallest = 1e9;
      for (std::size_t lane = 0; lane < link->cable().lanes(); ++lane) {
        double widest = 0;
        for (std::size_t receive = 0; receive < eyes.receive().size(); ++receive)
          widest = std::max(widest, eyes.quality(lane, transmit, receive).worst_eye_mv);
        smallest = std::min(smallest, widest);
      }
      best = std::max(best, smallest);
    }
    for (std::size_t lane = 0; lane < link->cable().lanes(); ++lane) {
      const double eye =
          eyes.quality(lane, chosen->iteration % far.size(), chosen->receive[lane]).worst_eye_mv;
      here = std::min(here, eye);
    }
    EXPECT_EQ(here, best) << side;
  }
}

TEST(DdrLinks, CountTheCopiesThatArrive) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->start(Time{});
  run_until_settled(*link, Time{});
  int whole = 0;
  for (const FlowStep& step : link->flow()) {
    if (step.kind == FlowStep::Kind::kMessage && step.arrived == step.copies) ++whole;
  }
  EXPECT_GT(whole, 2);
  EXPECT_EQ(link->flow_lost(), 0u);
}

TEST(DdrLinks, TellMessagesOfAnotherModeFromThoseOfBefore) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->start(Time{});
  const Duration taken = run_until_settled(*link, Time{});
  const std::uint32_t before = link->end(1).variables().own_id;
  Time now = Time{} + taken + 1s;
  link->stop(now);
  link->set_mode(1, SpeedMode::kSdrOnly);
  link->start(now);
  now += run_until_settled(*link, now);
  EXPECT_EQ(link->up(), LinkSpeed::kSdr);
  link->stop(now);
  link->set_mode(1, SpeedMode::kAuto);
  link->start(now);
  run_until_settled(*link, now);
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_GT(link->end(1).variables().own_id, before);
}

TEST(DdrLinks, DoTheSameHoweverLateTheyAreRun) {
  const auto text = [](Duration late) {
    const auto link = make_ddr_link(usual_ddr_link());
    link->start(Time{});
    for (Time now{}; now < Time{} + 5s && !link->up(); now += late)
      link->run(now);
    return flow_text(link->flow(), link->started_at());
  };
  EXPECT_EQ(text(50us), text(40ms));
}

TEST(DdrLinks, AreUpAtOneSpeedThoughMadsAreLost) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    DdrLinkOptions options = usual_ddr_link(2, 2);
    options.loss = 0.4;
    options.seed = seed;
    for (NegotiationOptions& end : options.ends)
      end.delta = 1ms;
    const auto link = make_ddr_link(options);
    link->start(Time{});
    run_until_settled(*link, Time{});
    ASSERT_TRUE(link->up()) << "seed " << seed << "\n"
                            << flow_text(link->flow(), link->started_at());
  }
}

// What has still to be waited for once the link is up.
Time let_rest(DdrLink& link, Time now) {
  for (auto due = link.deadline(); due; due = link.deadline())
    link.run(now = std::max(now, *due));
  return now;
}

TEST(DdrLinks, AreLeftAloneOnceTheyAreUp) {
  for (const double length : {5.0, 14.0}) {
    DdrLinkOptions options = usual_ddr_link();
    options.channel.length_m = length;
    const auto link = make_ddr_link(options);
    link->start(Time{});
    const Time rest = let_rest(*link, Time{});
    EXPECT_TRUE(link->up());
    EXPECT_LT(rest, Time{} + 10s);
  }
}

TEST(DdrLinks, TrainByTheLinkStateMachineOfEachPort) {
  DdrLinkOptions options = usual_ddr_link();
  options.ends[1].mode = SpeedMode::kSdrOnly;
  const auto link = make_ddr_link(options);
  link->start(Time{});
  link->run(Time{} + 1us);
  EXPECT_EQ(link->physical_state(1), wire::PortPhysicalState::kPolling);
  link->run(Time{} + 50ms);
  EXPECT_EQ(link->training(0).state(), TrainingState::kConfigDebounce);
  EXPECT_EQ(link->physical_state(1), wire::PortPhysicalState::kTraining);
  EXPECT_EQ(link->physical_state(0), wire::PortPhysicalState::kPolling) << "it negotiates";
  run_until_settled(*link, Time{});
  for (const unsigned side : {0U, 1U}) {
    EXPECT_EQ(link->physical_state(side), wire::PortPhysicalState::kLinkUp);
    EXPECT_EQ(link->training(side).counters().get(TrainingCounter::kLinkUps), 1U);
  }
  EXPECT_EQ(link->width(), LinkWidth::k4x);
}

TEST(DdrLinks, AreAsWideAsBothPortsEnable) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->set_widths(1, static_cast<std::uint8_t>(LinkWidth::k1x));
  link->start(Time{});
  run_until_settled(*link, Time{});
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_EQ(link->width(), LinkWidth::k1x);
}

TEST(DdrLinks, RecoverWithoutANewNegotiation) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->start(Time{});
  Time now = let_rest(*link, Time{});
  ASSERT_EQ(link->up(), LinkSpeed::kDdr);
  const std::size_t steps = link->flow().size();
  now += 10s;
  link->retrain(1, now);
  EXPECT_TRUE(link->recovering());
  EXPECT_FALSE(link->up());
  link->run(now + 100us);
  for (const unsigned side : {0U, 1U})
    EXPECT_EQ(link->physical_state(side), wire::PortPhysicalState::kLinkErrorRecovery) << side;
  EXPECT_LT(let_rest(*link, now), now + 5ms);
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
  EXPECT_FALSE(link->recovering());
  for (const unsigned side : {0U, 1U}) {
    const TrainingCounters& counters = link->training(side).counters();
    EXPECT_EQ(counters.get(TrainingCounter::kLinkErrorRecoveries), 1U);
    EXPECT_EQ(counters.get(TrainingCounter::kLinkDowned), 0U);
  }
  EXPECT_EQ(link->flow().size(), steps);
}

TEST(DdrLinks, DoNotRecoverWhatIsNotUp) {
  const auto link = make_ddr_link(usual_ddr_link());
  link->retrain(0, Time{});
  EXPECT_FALSE(link->recovering());
  link->start(Time{});
  link->run(Time{} + 300ms);
  link->retrain(0, Time{} + 300ms);
  EXPECT_FALSE(link->recovering());
  run_until_settled(*link, Time{} + 300ms);
  EXPECT_EQ(link->up(), LinkSpeed::kDdr);
}

TEST(DdrLinks, TrainAndRecoverOverLongWays) {
  for (const Duration delay : {Duration(400us), Duration(3ms)}) {
    DdrLinkOptions options = usual_ddr_link();
    options.delay = delay;
    for (NegotiationOptions& end : options.ends)
      end.xmit_time_out = 4 * delay;
    const auto link = make_ddr_link(options);
    link->start(Time{});
    const Time now = let_rest(*link, Time{});
    ASSERT_EQ(link->up(), LinkSpeed::kDdr) << flow_text(link->flow(), link->started_at());
    link->retrain(0, now);
    let_rest(*link, now);
    EXPECT_EQ(link->up(), LinkSpeed::kDdr);
    EXPECT_EQ(link->training(1).counters().get(TrainingCounter::kLinkErrorRecoveries), 1U);
  }
}

TEST(DdrLinks, NameTheOptionThatCannotBe) {
  DdrLinkOptions options = usual_ddr_link();
  options.loss = 1.5;
  EXPECT_EQ(DdrLink::make(options).error().message, "loss is from 0 to 1, not 1.5");
  options = usual_ddr_link();
  options.ends[1].burst_len = 0;
  EXPECT_TRUE(DdrLink::make(options).error().message.starts_with("end 1: "));
  options = usual_ddr_link();
  options.channel.length_m = -1;
  EXPECT_FALSE(DdrLink::make(options));
  options = usual_ddr_link();
  options.channel.lanes = 2;
  EXPECT_EQ(DdrLink::make(options).error().message, "end 0: lanes 2: it is 1, 4, 8 or 12");
}

}  // namespace
}  // namespace weft::phy
