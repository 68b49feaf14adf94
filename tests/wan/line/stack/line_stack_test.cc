// SPDX-License-Identifier: Apache-2.0
#include "wan/line/stack/line_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace weft::wan {
namespace {

using ::testing::HasSubstr;

std::string stack_refusal(std::string_view text) {
  const auto stack = LineStack::parse(text);
  return stack ? std::string() : stack.error().message;
}

TEST(LineStack, ReadsWhatItWrites) {
  for (const char* text : {"ppp", "ipv6/ppp/stm64", "udp/ipv6/ethernet/10gbase-r", "aal5/stm1",
                           "ethernet/gfp/stm16", "gfp", "ipv4/aal5", "dccp/ipv6/ppp/stm1"}) {
    const auto stack = LineStack::parse(text);
    ASSERT_TRUE(stack) << stack.error().message;
    EXPECT_EQ(stack->to_string(), text);
    EXPECT_TRUE(LineStack::is_one(text));
  }
  EXPECT_EQ(LineStack::parse("udp/ipv6/ppp/stm4")->packets(), "udp/ipv6");
  EXPECT_EQ(LineStack::parse("gfp/stm4")->packets(), "null");
  for (const char* text : {"udp/ipv6", "null", "ethernet", ""})
    EXPECT_FALSE(LineStack::is_one(text)) << text;
}

TEST(LineStack, KnowsHowFastItsLinesAre) {
  EXPECT_EQ(LineStack::parse("ppp/stm1")->octets_per_s() * 8, 155'520'000);
  EXPECT_EQ(LineStack::parse("ppp/stm64")->octets_per_s() * 8, 9'953'280'000);
  EXPECT_EQ(LineStack::parse("ethernet/10gbase-r")->octets_per_s() * 8, 10'312'500'000);
  EXPECT_EQ(LineStack::parse("ethernet/10gbase-w")->octets_per_s() * 8, 9'953'280'000);
}

TEST(LineStack, SaysWhatCannotBeAndWhatWouldBeRight) {
  EXPECT_THAT(stack_refusal("ipv6/stm64"), HasSubstr("as in ipv6/ppp/stm64"));
  EXPECT_THAT(stack_refusal("ipv6"), HasSubstr("one of aal5, gfp, ppp"));
  EXPECT_THAT(stack_refusal("ethernet/ppp"),
              HasSubstr("ethernet has no place in ppp, which takes null"));
  EXPECT_THAT(stack_refusal("udp/ppp"), HasSubstr("udp has no place in ppp"));
  EXPECT_THAT(stack_refusal("mpls/aal5"), HasSubstr("mpls has no place in aal5"));
  EXPECT_THAT(stack_refusal("dccp/ppp"), HasSubstr("dccp has no place in ppp"));
  EXPECT_THAT(stack_refusal("ppp/gfp"), HasSubstr("ppp puts packets into octets"));
  EXPECT_THAT(stack_refusal("stm1/ppp"), HasSubstr("stm1 is a line itself"));
  EXPECT_THAT(stack_refusal("ipv6/10gbase-w"), HasSubstr("say ethernet/10gbase-w"));
  EXPECT_THAT(stack_refusal("ethernet/gfp/10gbase-r"), HasSubstr("without gfp around them"));
}

// The same one for ever, and how often it has come.
struct Again final : PacketSource, PacketSink {
  Bytes next() override { return bytes; }
  void packet(Bytes) override { ++came; }
  const std::vector<std::byte> bytes = std::vector<std::byte>(1514, std::byte{0x5A});
  std::size_t came = 0;
};

// What a MAC of 10 Gbit/s leaves between frames for the rate of an STS-192c its PCS takes out.
TEST(LineStack, LeavesNoMoreBetweenFramesInsideOfAnSts192cThanElsewhere) {
  constexpr std::size_t kFrame = 155'520;
  constexpr std::size_t kPayload = 9 * 16'640;  // octets of a frame
  constexpr int kFrames = 20;
  constexpr double kOnLanes = 8 + 1514 + 4 + 12;
  Again packets;
  const auto line =
      LineStack::parse("ethernet/10gbase-w")->make(Carried{}, nullptr, packets, packets);
  std::vector<std::byte> octets(kFrame);
  const auto carry = [&](int frames) {
    for (int i = 0; i < frames; ++i) {
      line->out().fill(octets);
      line->in().take(octets);
    }
  };
  carry(8);
  EXPECT_GT(packets.came, 0U);
  packets.came = 0;
  carry(kFrames);
  EXPECT_NEAR(static_cast<double>(packets.came), kFrames * kPayload * 64.0 / 66 / kOnLanes, 2);
}

}  // namespace
}  // namespace weft::wan
