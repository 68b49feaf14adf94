// SPDX-License-Identifier: Apache-2.0
// What stands in a line passes what the ends say, and what others do besides.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "equipment_world.h"
#include "wire/grh.h"

namespace weft::wan {
namespace {

struct Case {
  const char* name;
  const char* stack;
  const char* equipment;
};

class LinesWithEquipment : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static bool has(std::string_view word) {
    return std::string_view(GetParam().equipment).find(word) != std::string_view::npos;
  }
  // As a packet of the stack begins.
  static LineWorld::Packet packet(LineWorld& world) {
    const std::string_view stack = GetParam().stack;
    LineWorld::Packet out = world.make_packet(64 + world.random() % 1500);
    if (stack.starts_with("ipv6")) {
      wire::Grh{.payload_length = static_cast<std::uint16_t>(out.size() - wire::Grh::kSize),
                .hop_limit = 64}
          .write(out);
    }
    if (stack.starts_with("ethernet")) out[6] = std::byte{2};  // the source's, no group's
    return out;
  }
  // An end of an Ethernet sees frames to hosts that no bridge has heard of.
  static bool is_of_others(const LineWorld::Packet& packet) {
    constexpr std::array kBegin{std::byte{2}, std::byte{0xFF}, std::byte{0xFF}};
    return has("bridge") && std::equal(kBegin.begin(), kBegin.end(), packet.begin());
  }
  // What a packet is when it has come.
  static LineWorld::Packet come(LineWorld::Packet packet) {
    const auto hops = static_cast<std::uint8_t>(
        std::string_view(GetParam().stack).starts_with("ipv6") && has("router") ? 2 : 0);
    if (hops != 0) packet[7] = static_cast<std::byte>(64 - hops);
    return packet;
  }
};

TEST_P(LinesWithEquipment, CarryEveryPacketAndTheTrafficOfOthers) {
  EquipmentWorld world(GetParam().stack, GetParam().equipment, 5);
  ASSERT_TRUE(world.run_until_up(20s));
  world.run(100ms);
  std::array<std::vector<LineWorld::Packet>, 2> wanted;
  for (int i = 0; i < 40; ++i) {
    for (std::size_t from = 0; from < 2; ++from) {
      world.ends[from].waiting.push_back(packet(world));
      wanted[1 - from].push_back(come(world.ends[from].waiting.back()));
    }
    world.run(5ms);
  }
  world.run(50ms);
  for (std::size_t end = 0; end < 2; ++end) {
    auto& came = world.ends[end].came;
    std::erase_if(came, is_of_others);
    EXPECT_TRUE(came == wanted[end]) << end << ": " << came.size();
  }
  EXPECT_TRUE(world.up());
  auto counters = world.counters();
  if (!has("foreign")) return;
  EXPECT_GT(counters["foreign_whole"], 300U);
  EXPECT_GE(counters["foreign_sent"], counters["foreign_whole"]);
  EXPECT_EQ(counters["foreign_spoilt"], 0U);
  EXPECT_EQ(counters["foreign_lost"], 0U);
  EXPECT_EQ(counters["foreign_out_of_order"], 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, LinesWithEquipment,
    ::testing::Values(
        Case{"Sections", "ipv6/ppp/stm1", "regenerator:stm1,add-drop:stm1,regenerator:stm1"},
        Case{"Cells", "ipv6/aal5/stm1",
             "cell-mux:stm1:channel=1/100:foreign=10Mb/s,regenerator:stm1,"
             "cell-switch:stm1:connect=0/32-0/32:connect=1/100-2/200,"
             "cell-mux:stm1:channel=2/200:foreign=10Mb/s"},
        Case{"BareCells", "aal5",
             "cell-mux:cells:channel=0/77:foreign=10Mb/s,"
             "cell-switch:cells:connect=0/32-0/32:connect=0/77-0/78,"
             "cell-mux:cells:channel=0/78:foreign=10Mb/s"},
        Case{"RoutersOfPpp", "ipv6/ppp/stm1",
             "router:ipv6/ppp/stm1:foreign=20Mb/s,regenerator:stm1,"
             "router:ipv6/ppp/stm1:foreign=20Mb/s"},
        Case{"RoutersOfAtm", "ipv6/aal5", "router:ipv6/aal5,router:ipv6/aal5"},
        Case{"BridgesOfGfp", "ethernet/gfp/stm1",
             "bridge:ethernet/gfp/stm1:foreign=20Mb/s,add-drop:stm1,"
             "bridge:ethernet/gfp/stm1:foreign=20Mb/s"},
        Case{"BridgesOf10Gbase", "ethernet/10gbase-r",
             "bridge:ethernet/10gbase-r:foreign=20Mb/s,bridge:ethernet/10gbase-r:foreign=20Mb/s"},
        Case{"Relay", "gfp", "relay:gfp"}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace weft::wan
