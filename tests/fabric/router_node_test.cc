// SPDX-License-Identifier: Apache-2.0
// A router of a lab: what it hands to whoever carries it to other subnets, and what comes back.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/gid_text.h"
#include "fabric/channel_adapter.h"
#include "running_lab.h"

namespace weft::fabric {
namespace {

constexpr const char* kLab = R"(
[node]
a = { guid = "0x0002c90300000010" }
[router]
gate = { guid = "0x0002c90300000020" }
[[link]]
ends = ["a", "gate"]
)";

constexpr std::uint64_t kSubnet = 0xFD00'0000'0000'0001;
const Gid kHost = *parse_gid("fd00:0:0:1:2:c903:0:11");
const Gid kGate = *parse_gid("fd00:0:0:1:2:c903:0:21");
const Gid kFar = *parse_gid("fd00:0:0:2::1");

class RouterNode : public ::testing::Test, public Forwarder {
 protected:
  RouterNode() {
    std::uint16_t lid = 0;
    for (const char* name : {"a", "gate"}) {
      Node& node = *lab.fabric.find_node(name);
      wire::PortInfo info = node.port_info(1);
      info.lid = Lid{++lid};
      info.gid_prefix = kSubnet;
      node.set_port_info(1, info, lab.now);
    }
    for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
      for (const char* name : {"a", "gate"})
        lab.fabric.find_node(name)->set_port_state(1, state, lab.now);
      lab.settle();
    }
  }

  void from_subnet(link::PacketPtr packet, Time) override { taken.push_back(std::move(packet)); }

  static std::vector<std::byte> packet(const Gid& dgid, Qpn dest_qp = Qpn{7},
                                       PKey pkey = kDefaultPKey, Lid dlid = Lid{2}) {
    const std::size_t transport = wire::Bth::kSize + wire::Deth::kSize + 256 + wire::kIcrcSize;
    std::vector<std::byte> bytes(48 + transport + wire::kVcrcSize);
    wire::Lrh{.next_header = wire::Lnh::iba_global,
              .dlid = dlid,
              .packet_words = static_cast<std::uint16_t>((bytes.size() - 2) / 4),
              .slid = Lid{1}}
        .write(bytes);
    wire::Grh{.payload_length = static_cast<std::uint16_t>(transport),
              .hop_limit = 9,
              .sgid = kHost,
              .dgid = dgid}
        .write(MutableBytes(bytes).subspan(8));
    wire::Bth{.opcode = wire::Opcode::ud_send_only, .pkey = pkey, .dest_qp = dest_qp}.write(
        MutableBytes(bytes).subspan(48));
    wire::Deth{.qkey = kGsiQKey, .src_qp = kQp1}.write(MutableBytes(bytes).subspan(60));
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kPerf, .class_version = 1}.write(
        MutableBytes(bytes).subspan(68));
    wire::seal_link_packet(bytes);
    return bytes;
  }
  void send(const std::vector<std::byte>& bytes) {
    lab.fabric.find_node("a")->port(1).link().transmit(lab.fabric.pool().copy(bytes), Vl{0},
                                                       lab.now);
    lab.settle();
  }
  ChannelAdapter& gate() {
    for (std::size_t i = 0; i < lab.fabric.node_count(); ++i) {
      if (lab.fabric.node(i).kind() == NodeKind::kRouter) return lab.fabric.router(i);
    }
    std::abort();
  }

  RunningLab lab{lab_of(kLab)};
  std::vector<link::PacketPtr> taken;
};

TEST_F(RouterNode, DropsWhatIsForOtherSubnetsWhileNobodyCarriesIt) {
  send(packet(kFar));
  EXPECT_EQ(lab.count("gate", NodeCounter::kNotRouted), 1u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(RouterNode, HandsOverWhatIsForOtherSubnetsManagementToo) {
  gate().set_forwarder(this);
  send(packet(kFar));
  send(packet(kFar, kQp1));
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(lab.count("gate", NodeCounter::kManagement), 0u);
  send(packet(kGate, kQp1));
  EXPECT_EQ(taken.size(), 2u) << "its own";
  EXPECT_EQ(lab.count("gate", NodeCounter::kManagement), 1u);
  taken.clear();
  gate().set_forwarder(nullptr);
  send(packet(kFar));
  EXPECT_EQ(lab.count("gate", NodeCounter::kNotRouted), 1u);
}

TEST_F(RouterNode, LetsOnlyPacketsOfItsPartitionsPass) {
  gate().set_forwarder(this);
  send(packet(kFar, Qpn{7}, PKey{0x8002}));
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(lab.count("gate", NodeCounter::kBadPKey), 1u);
  send(packet(kFar, Qpn{7}, PKey{0x7FFF}));
  EXPECT_EQ(taken.size(), 1u) << "a limited member's";
  taken.clear();

  auto& pool = lab.fabric.pool();
  gate().send_routed(1, pool.copy(packet(kHost, Qpn{7}, PKey{0x8002}, Lid{1})), lab.now);
  EXPECT_EQ(lab.count("gate", NodeCounter::kOutboundPKey), 1u);
  gate().send_routed(1, pool.copy(packet(kHost, Qpn{7}, kDefaultPKey, Lid{1})), lab.now);
  lab.settle();
  EXPECT_EQ(lab.count("a", NodeCounter::kNoQueuePair), 1u) << "it has come";
  gate().set_forwarder(nullptr);
}

TEST_F(RouterNode, SendsOnTheLaneOfTheServiceLevel) {
  wire::SlToVl lanes;
  lanes.vls.fill(Vl{15});
  gate().set_sl_to_vl(0, 1, lanes);
  gate().send_routed(1, lab.fabric.pool().copy(packet(kHost, Qpn{7}, kDefaultPKey, Lid{1})),
                     lab.now);
  EXPECT_EQ(lab.count("gate", NodeCounter::kNoVl), 1u);
  lanes.vls.fill(Vl{3});
  gate().set_sl_to_vl(0, 1, lanes);
  gate().send_routed(1, lab.fabric.pool().copy(packet(kHost, Qpn{7}, kDefaultPKey, Lid{1})),
                     lab.now);
  lab.settle();
  EXPECT_EQ(lab.count("a", NodeCounter::kNoQueuePair), 1u);
}

}  // namespace
}  // namespace weft::fabric
