// SPDX-License-Identifier: Apache-2.0
#include "wan/line/stack/line_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
}  // namespace
}  // namespace weft::wan
