// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_drops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace weft::daemon {
namespace {

// Of what is dropped and is usual.
constexpr std::array<std::string_view, 3> kUsual{"tx_no_member", "rx_own", "rx_own_bond"};

// Whoever adds a counter of what is dropped says so in both places.
template <class Enum, class Info, std::size_t N>
void expect_said(const Info& info, const std::array<Enum, N>& drops) {
  for (std::size_t row = 0; row < info.size(); ++row) {
    const std::string_view name = info[row].name;
    const bool says = info[row].help.find("dropped") != std::string_view::npos;
    const bool is = std::ranges::find(drops, static_cast<Enum>(row)) != drops.end();
    EXPECT_EQ(is, says && std::ranges::find(kUsual, name) == kUsual.end()) << name;
  }
}

TEST(LanDrops, AreTheCountersThatSaySo) {
  expect_said(lan::kLanCounters, kLanDrops);
  expect_said(kLanDriverCounters, kLanDriverDrops);
  expect_said(kResidentCounters, kResidentDrops);
  expect_said(hca::kUdCounters, kUdDrops);
  // Those of reliable connections are not of the LAN.
  for (const auto drop : kConnectedDrops) {
    const auto& help = hca::kConnectedCounters[static_cast<std::size_t>(drop)].help;
    EXPECT_NE(help.find("dropped"), std::string_view::npos) << help;
  }
}

}  // namespace
}  // namespace weft::daemon
