// SPDX-License-Identifier: Apache-2.0
#include "sim/wan_path.h"

#include <gtest/gtest.h>

#include <array>

#include "wire/ip.h"

namespace weft::sim {
namespace {

wan::PathEmulation path(std::string_view list) {
  return wan::parse_path_emulation(list, {}).value();
}

TEST(WanPath, DeliversInVirtualTimeWhatTheModelLetsThrough) {
  Scheduler scheduler;
  std::vector<std::pair<Time, std::uint8_t>> arrived;
  WanPath wan(scheduler, path("rate=8Mb/s,delay=20ms,mark=1500B,mtu=1000"),
              [&](std::vector<std::byte> packet, std::uint8_t traffic_class) {
                EXPECT_EQ(packet.size(), 1000u);
                EXPECT_EQ(packet[999], std::byte{9});
                arrived.emplace_back(scheduler.now(), traffic_class);
              });
  std::array<std::byte, 1001> packet;
  packet.fill(std::byte{9});
  for (int i = 0; i < 3; ++i)
    wan.send(Bytes(packet).first(1000), wire::kEcnCapable);
  wan.send(packet);
  EXPECT_TRUE(scheduler.run_until(Time(1s)));
  ASSERT_EQ(arrived.size(), 3u);
  EXPECT_EQ(arrived[0], std::pair(Time(21ms), std::uint8_t{wire::kEcnCapable}));
  EXPECT_EQ(arrived[2], std::pair(Time(23ms), std::uint8_t{wire::kCongestionExperienced}));
  EXPECT_EQ(wan.model().counters().get(wan::PathCounter::kTooLong), 1u);
}

TEST(WanPath, DeliversTwiceWhatIsDoubledAndAWrongBitWhereOneIs) {
  Scheduler scheduler;
  std::size_t arrived = 0;
  std::size_t wrong_bits = 0;
  WanPath wan(scheduler, path("duplicate=1,bit_errors=1"),
              [&](std::vector<std::byte> packet, std::uint8_t) {
                ++arrived;
                for (const std::byte b : packet)
                  wrong_bits +=
                      static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(b)));
              });
  wan.send(std::array<std::byte, 100>{});
  scheduler.run_until(Time(1s));
  EXPECT_EQ(arrived, 2u);
  EXPECT_EQ(wrong_bits, 2u);
}

}  // namespace
}  // namespace weft::sim
