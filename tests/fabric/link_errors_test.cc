// SPDX-License-Identifier: Apache-2.0
// Links of labs over modelled cables on which symbols are wrong now and then.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "fabric/negotiated_link.h"
#include "phy/ddr_link/modelled_cable.h"
#include "running_lab.h"

namespace weft::fabric {
namespace {

// With it the few packets that bring the lab up arrive: its bare subnet manager asks once.
constexpr std::uint64_t kSeed = 3;

// How noisy the usual cable is to be for so many bit errors at SDR, on its worst lane.
double noise_for(double bit_error_rate) {
  double low = 0;
  double high = 200;
  for (int i = 0; i < 40; ++i) {
    phy::ChannelDescription channel{.seed = kSeed};
    channel.noise_mv = (low + high) / 2;
    auto cable = phy::ModelledCable::make(
        channel, {{{phy::default_transmit_settings(1), phy::default_receive_settings(1)},
                   {phy::default_transmit_settings(1), phy::default_receive_settings(1)}}});
    std::array<phy::SerdesLine, 2> lines;
    (cable->bit_error_rate(1, lines) < bit_error_rate ? low : high) = channel.noise_mv;
  }
  return low;
}

// One port of the link has no other speed, so it stays at SDR.
std::string noisy_lab(double bit_error_rate) {
  return R"(
[switch]
s = { ports = 4 }
[node]
a = { speed = "sdr" }
b = {}
[[link]]
ends = ["b:1", "s:2"]
[[link]]
ends = ["a:1", "s:1"]
speed = "auto"
channel = { noise_mv = )" +
         std::to_string(noise_for(bit_error_rate)) + ", seed = " + std::to_string(kSeed) + " }\n";
}

struct NoisyLab : RunningLab {
  explicit NoisyLab(double bit_error_rate) : RunningLab(lab_of(noisy_lab(bit_error_rate))) {
    from = "b";
    run_for(2s);
    EXPECT_EQ(info("a").physical_state, wire::PortPhysicalState::kLinkUp);
    EXPECT_TRUE(fabric.link(1).up(now));
    bring_up();
  }
  // From a to b, so many, one in a microsecond.
  void send(int packets) {
    for (int i = 0; i < packets; ++i) {
      inject("a", {.slid = node("a").lid, .dlid = node("b").lid});
      run_for(1us);
    }
  }
  // What the switch has counted at the noisy link, by way of its performance management.
  [[nodiscard]] mgmt::PortCounts counts() {
    fabric.run(now);  // it is asked now, though nothing was to be done
    return fabric.find_node("s")->port_counts(1);
  }
  // Of what arrives at the switch over the noisy link.
  [[nodiscard]] double symbol_error_rate() {
    phy::ModelledCable& cable = fabric.negotiated_link(1)->ddr().cable();
    std::array<phy::SerdesLine, 2> lines;
    return cable.symbol_error_rate(1, cable.lanes(), lines);
  }
  [[nodiscard]] wire::PortInfo info(const std::string& name) {
    return fabric.find_node(name)->port(1).port_info();
  }
  void set_local_phy_errors(std::uint8_t most) {
    const Path path = this->node("s").path;
    auto info = *get<wire::PortInfo>(wire::SmAttribute::kPortInfo, 1, path);
    info.state = wire::PortState::kNoChange;
    info.physical_state = wire::PortPhysicalState::kNoChange;
    info.local_phy_errors = most;
    set(wire::SmAttribute::kPortInfo, 1, path, info);
  }
};

TEST(NoisyLinks, DamageAsManyPacketsAsTheChannelSays) {
  NoisyLab lab(1e-6);
  constexpr int kPackets = 40'000;
  const mgmt::PortCounts before = lab.counts();
  const auto came_before = lab.count("b", NodeCounter::kNoQueuePair);
  lab.send(kPackets);
  const mgmt::PortCounts counts = lab.counts();
  const auto damaged = counts.receive_errors - before.receive_errors;
  // A hundred symbols each, delimiters included.
  const double expected = 100.0 * kPackets * lab.symbol_error_rate();
  ASSERT_GT(expected, 10) << "or this shows little";
  EXPECT_NEAR(static_cast<double>(damaged), expected, 4 * std::sqrt(expected));
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair) - came_before + damaged, kPackets);
  EXPECT_GE(counts.symbol_errors - before.symbol_errors, damaged);
  EXPECT_EQ(counts.link_error_recovery, 0U) << "good packets in between";
  // Another lab of the same file meets the same errors.
  NoisyLab again(1e-6);
  again.send(kPackets);
  EXPECT_EQ(again.counts(), counts);
}

TEST(NoisyLinks, CountErrorsWhenTheyAreIdleAndWakeNobody) {
  NoisyLab lab(1e-9);
  lab.run_for(10s);  // until management is no longer waited for
  EXPECT_FALSE(lab.fabric.deadline()) << "nothing is to be done";
  const mgmt::PortCounts before = lab.counts();
  lab.run_for(100s);
  // 10^9 symbols in a second.
  const auto errors = static_cast<double>(lab.counts().symbol_errors - before.symbol_errors);
  const double expected = 1e11 * lab.symbol_error_rate();
  ASSERT_GT(expected, 100) << "or this shows little";
  EXPECT_NEAR(errors, expected, 4 * std::sqrt(expected));
  EXPECT_EQ(lab.counts().receive_errors, before.receive_errors);
}

TEST(NoisyLinks, RecoverWhenErrorsAreMoreThanLocalPhyErrors) {
  NoisyLab lab(1e-6);
  lab.set_local_phy_errors(0);
  const mgmt::PortCounts before = lab.counts();
  for (int i = 0; i < 40'000 && lab.counts().receive_errors == before.receive_errors; ++i)
    lab.send(1);
  ASSERT_EQ(lab.counts().receive_errors, before.receive_errors + 1);
  for (const char* const name : {"a", "s"}) {
    EXPECT_EQ(lab.info(name).physical_state, wire::PortPhysicalState::kLinkErrorRecovery) << name;
    EXPECT_EQ(lab.info(name).state, wire::PortState::kActive) << name;
  }
  lab.run_for(20ms);
  for (const char* const name : {"a", "s"}) {
    EXPECT_EQ(lab.info(name).physical_state, wire::PortPhysicalState::kLinkUp) << name;
    EXPECT_EQ(lab.info(name).state, wire::PortState::kActive) << name;
    const mgmt::PortCounts counts = lab.fabric.find_node(name)->port_counts(1);
    EXPECT_EQ(counts.link_error_recovery, 1U) << name;
    EXPECT_EQ(counts.link_downed, 0U) << name;
    EXPECT_EQ(counts.local_link_integrity_errors, *name == 's' ? 1U : 0U);
  }
  EXPECT_EQ(lab.fabric.negotiated_link(1)->ddr().up(), phy::LinkSpeed::kSdr);
}

TEST(NoisyLinks, GoDownWhereTheyCannotRecover) {
  NoisyLab lab(1e-6);
  lab.set_local_phy_errors(0);
  while (lab.counts().local_link_integrity_errors == 0)
    lab.send(1);
  lab.fabric.link(1).set_plugged(false, lab.now);
  lab.run_for(20ms);
  EXPECT_EQ(lab.info("s").state, wire::PortState::kDown);
  EXPECT_EQ(lab.counts().link_downed, 1U);
  EXPECT_EQ(lab.counts().link_error_recovery, 0U);
}

}  // namespace
}  // namespace weft::fabric
