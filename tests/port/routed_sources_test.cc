// SPDX-License-Identifier: Apache-2.0
#include "port/udp/routed_sources.h"

#include <gtest/gtest.h>

namespace weft::port {
namespace {

const Gid kPeer = Gid::from_ipv4(0x0A000001);
const Gid kOther = Gid::from_ipv4(0x0A000002);
constexpr Time kRoutedSourcesStart{1h};

unsigned asked = 0;
std::optional<Gid> source;

std::optional<Gid> answer(const io::SocketAddress&) {
  ++asked;
  return source;
}

class RoutedSourcesTest : public testing::Test {
 protected:
  void SetUp() override {
    asked = 0;
    source = Gid::from_ipv4(0x0A0000FE);
  }
  RoutedSources sources_{answer};
};

TEST_F(RoutedSourcesTest, AsksTheKernelOnceForAllWhoGoToOnePeer) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(sources_.to(kPeer, 0, kRoutedSourcesStart), source);
  EXPECT_EQ(asked, 1u);
}

TEST_F(RoutedSourcesTest, AsksForEachDestination) {
  sources_.to(kPeer, 0, kRoutedSourcesStart);
  sources_.to(kOther, 0, kRoutedSourcesStart);
  sources_.to(kPeer, 3, kRoutedSourcesStart);
  EXPECT_EQ(asked, 3u);
}

TEST_F(RoutedSourcesTest, AsksAgainSinceRoutesChange) {
  sources_.to(kPeer, 0, kRoutedSourcesStart);
  source = kOther;
  EXPECT_NE(sources_.to(kPeer, 0, kRoutedSourcesStart + RoutedSources::kBelieved - 1ns), kOther);
  EXPECT_EQ(sources_.to(kPeer, 0, kRoutedSourcesStart + RoutedSources::kBelieved), kOther);
}

TEST_F(RoutedSourcesTest, RemembersThatThereIsNoRoute) {
  source.reset();
  EXPECT_EQ(sources_.to(kPeer, 0, kRoutedSourcesStart), std::nullopt);
  EXPECT_EQ(sources_.to(kPeer, 0, kRoutedSourcesStart), std::nullopt);
  EXPECT_EQ(asked, 1u);
}

TEST_F(RoutedSourcesTest, RemembersNoMoreThanSoMany) {
  for (std::uint32_t i = 0; i <= RoutedSources::kMost; ++i)
    sources_.to(kPeer, i, kRoutedSourcesStart);
  sources_.to(kPeer, 0, kRoutedSourcesStart);
  EXPECT_EQ(asked, RoutedSources::kMost + 2);
}

}  // namespace
}  // namespace weft::port
