// SPDX-License-Identifier: Apache-2.0
// Links of labs whose ports negotiate DDR.
#include "fabric/negotiated_link.h"

#include <gtest/gtest.h>

#include <string>

#include "lab_text.h"
#include "mgmt/mad_packet.h"
#include "phy/negotiation/advertisement.h"
#include "running_lab.h"

namespace weft::fabric {
namespace {

constexpr const char* kOneSwitch = R"(
[switch]
s = { ports = 4 }
[node]
a = {}
b = { speed = "ddr" }
slow = { speed = "sdr" }
)";

std::string with_negotiated_link(const std::string& end, const std::string& more = "") {
  return std::string(kOneSwitch) + "[[link]]\nends = [\"" + end +
         ":1\", \"s:1\"]\nspeed = \"auto\"\n" + more;
}

wire::PortInfo port_info_of(RunningLab& lab, const std::string& node) {
  return lab.fabric.find_node(node)->port(1).port_info();
}

TEST(NegotiatedLinks, ComeUpAtDdrAndTellTheSubnetManagerSo) {
  RunningLab lab(lab_of(with_negotiated_link("a")));
  lab.run_for(5s);
  for (const char* node : {"a", "s"}) {
    const wire::PortInfo info = port_info_of(lab, node);
    EXPECT_EQ(info.physical_state, wire::PortPhysicalState::kLinkUp) << node;
    EXPECT_EQ(info.state, wire::PortState::kInitialize) << node;
    // DDR auto-negotiation specification, table 3.
    EXPECT_EQ(info.link_speed_supported, 3) << node;
    EXPECT_EQ(info.link_speed_enabled, 3) << node;
    EXPECT_EQ(info.link_speed_active, 2) << node;
    EXPECT_EQ(info.link_speed_ext_supported, 0) << node;
  }
}

TEST(NegotiatedLinks, AreDownAndPollUntilTheNegotiationHasEnded) {
  RunningLab lab(lab_of(with_negotiated_link("a")));
  // The sweep: three iterations of soak, four receive configurations, soak.
  const Duration sweep = 3 * (150ms + 4 * 50ms + 150ms);
  for (Duration past = 10ms; past < sweep; past += 100ms) {
    lab.run_for(100ms);
    const wire::PortInfo info = port_info_of(lab, "a");
    ASSERT_EQ(info.physical_state, wire::PortPhysicalState::kPolling) << past.count();
    ASSERT_EQ(info.state, wire::PortState::kDown);
  }
  lab.run_for(700ms);  // three times the lanes are trained
  EXPECT_EQ(port_info_of(lab, "a").physical_state, wire::PortPhysicalState::kLinkUp);
}

TEST(NegotiatedLinks, AreSdrWhereANodeHasNoOtherSpeed) {
  RunningLab lab(lab_of(with_negotiated_link("slow")));
  lab.run_for(50ms);
  EXPECT_EQ(port_info_of(lab, "slow").physical_state, wire::PortPhysicalState::kTraining);
  EXPECT_EQ(port_info_of(lab, "s").physical_state, wire::PortPhysicalState::kPolling)
      << "that negotiates";
  lab.run_for(1s);
  const wire::PortInfo info = port_info_of(lab, "slow");
  EXPECT_EQ(info.physical_state, wire::PortPhysicalState::kLinkUp);
  EXPECT_EQ(info.link_speed_supported, 1);
  EXPECT_EQ(info.link_speed_active, 1);
  EXPECT_EQ(port_info_of(lab, "s").link_speed_active, 1);
}

TEST(NegotiatedLinks, AreSdrOverACableThatIsTooLong) {
  RunningLab lab(lab_of(with_negotiated_link("a", "channel = { length_m = 14 }\n")));
  lab.run_for(5s);
  EXPECT_EQ(port_info_of(lab, "a").link_speed_active, 1);
  EXPECT_EQ(port_info_of(lab, "a").link_speed_supported, 3);
}

TEST(NegotiatedLinks, NegotiateAnewWithTheSpeedsThatTheManagerEnables) {
  RunningLab lab(lab_of(with_negotiated_link("a")));
  lab.run_for(5s);
  ASSERT_EQ(port_info_of(lab, "a").link_speed_active, 2);
  NodePort& port = lab.fabric.find_node("a")->port(1);
  wire::PortInfo info = port.port_info();
  info.link_speed_enabled = 1;
  port.set_port_info(info, lab.now);
  EXPECT_EQ(port_info_of(lab, "a").link_speed_active, 2) << "until it trains again";
  link::Link& cable = lab.fabric.link(0);
  cable.set_plugged(false, lab.now);
  lab.run_for(1s);
  EXPECT_EQ(port_info_of(lab, "a").state, wire::PortState::kDown);
  cable.set_plugged(true, lab.now);
  lab.run_for(5s);
  EXPECT_EQ(port_info_of(lab, "a").physical_state, wire::PortPhysicalState::kLinkUp);
  EXPECT_EQ(port_info_of(lab, "a").link_speed_active, 1);
}

class AdvertisementCount final : public link::LinkTap {
 public:
  void sent(std::size_t from, const link::Packet& packet, Time) override {
    std::vector<std::byte> bytes(packet.size());
    packet.copy_to(bytes);
    const auto mad = mgmt::parse_mad_packet(bytes, 1);
    ASSERT_TRUE(mad);
    EXPECT_EQ(mad->envelope.dlid, wire::kPermissiveLid);
    EXPECT_EQ(mad->envelope.dest_qp, kQp0);
    const auto parsed = phy::parse_advertisement_mad(mad->mad);
    seen[from] += std::holds_alternative<phy::AdvertisementMad>(parsed);
  }
  void sent(std::size_t, const wire::FlowControl&, Time) override { ++flow_control; }
  std::array<int, 2> seen{};
  int flow_control = 0;
};

TEST(NegotiatedLinks, ShowTheirMessagesToWhoWatches) {
  RunningLab lab(lab_of(with_negotiated_link("a")));
  AdvertisementCount tap;
  lab.fabric.link(0).set_tap(&tap);
  lab.run_for(250ms);
  EXPECT_GE(tap.seen[0], 4) << "a burst";
  EXPECT_GE(tap.seen[1], 4);
  EXPECT_EQ(tap.flow_control, 0) << "the link is not up";
  lab.fabric.link(0).set_tap(nullptr);
}

TEST(NegotiatedLinks, CarryPacketsWhenTheyAreUp) {
  RunningLab lab(lab_of(with_negotiated_link("a")));
  EXPECT_FALSE(lab.get<wire::NodeInfo>(wire::SmAttribute::kNodeInfo, 0, {1}));
  lab.run_for(5s);
  EXPECT_TRUE(lab.get<wire::NodeInfo>(wire::SmAttribute::kNodeInfo, 0, {1}));
}

TEST(LabNegotiations, AreWrittenAsTheyAreRead) {
  const Lab lab = parsed(
      with_negotiated_link("a",
                           "negotiation = { transmit = [3, 5], receive = [9, 4], no_sweep = "
                           "\"second\", delta = \"20ms\", "
                           "soak = [\"10ms\", \"12.5ms\"], burst_len = [2, 3], mad_loss = 0.25 }\n"
                           "channel = { length_m = 7.5, noise_mv = 3, seed = 7 }\n"));
  ASSERT_TRUE(lab.links.at(0).negotiation);
  const LabNegotiation& out = *lab.links[0].negotiation;
  EXPECT_EQ(out.transmit, (std::array<std::uint8_t, 2>{3, 5}));
  EXPECT_EQ(out.receive, (std::array<std::uint8_t, 2>{9, 4}));
  EXPECT_FALSE(out.ends[0].no_sweep);
  EXPECT_TRUE(out.ends[1].no_sweep);
  EXPECT_EQ(out.ends[1].soak, 12500us);
  EXPECT_EQ(out.ends[0].burst_len, 2u);
  EXPECT_EQ(out.channel.length_m, 7.5);
  EXPECT_EQ(parsed(write_lab(lab)), lab);
}

TEST(LabNegotiations, AreRefusedWithTheKeyThatIsWrong) {
  EXPECT_EQ(refusal(with_negotiated_link("a", "negotiation = { transmit = 10 }\n")),
            "lab.toml:11: link.negotiation.transmit: must be a number from 1 to 9");
  EXPECT_EQ(refusal(with_negotiated_link("a", "channel = { length = 3 }\n"))
                .find("lab.toml:11: link.channel.length: there is no such key; there are length_m"),
            0u);
  EXPECT_NE(refusal(with_negotiated_link("a", "channel = { length_m = -3 }\n")).find("length_m"),
            std::string::npos);
  EXPECT_NE(refusal(with_negotiated_link("a", "width = \"2x\"\n")).find("not 2x"),
            std::string::npos);
  EXPECT_NE(refusal(std::string(kOneSwitch) +
                    "[[link]]\nends = [\"a:1\", \"s:1\"]\nchannel = { seed = 2 }\n")
                .find("speed = \"auto\""),
            std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
