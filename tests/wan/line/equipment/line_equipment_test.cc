// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/line_equipment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weft::wan {
namespace {

using ::testing::HasSubstr;

std::string equipment_refusal(std::string_view list) {
  const auto parsed = LineEquipment::parse(list);
  return parsed ? std::string() : parsed.error().message;
}

TEST(LineEquipment, IsReadFromAList) {
  EXPECT_EQ(LineEquipment::parse("")->size(), 0);
  EXPECT_EQ(LineEquipment::parse("regenerator:stm64,add-drop:stm1")->size(), 2);
  EXPECT_EQ(LineEquipment::parse("cell-switch:cells:connect=1/100-2/200:connect=1/101-2/201,"
                                 "cell-switch:stm4")
                ->size(),
            2);
  EXPECT_EQ(LineEquipment::parse("cell-mux:stm1:channel=1/100:foreign=10Mb/s,"
                                 "cell-mux:stm1:foreign=1Mb/s:channel=2/200")
                ->size(),
            2);
  EXPECT_EQ(LineEquipment::parse("router:ipv6/ppp/stm1,router:ipv4/gfp,bridge:ethernet/gfp/stm4,"
                                 "bridge:ethernet/10gbase-w,relay:mpls/gfp,relay:aal5")
                ->size(),
            6);
}

TEST(LineEquipment, SaysWhatCannotBeAndWhatWouldBeRight) {
  for (const char* text : {"repeater:stm1", ",", "regenerators:stm1"})
    EXPECT_THAT(equipment_refusal(text), HasSubstr("there are regenerator, add-drop, cell-switch"));
  for (const char* text : {"regenerator", "add-drop:stm2", "regenerator:stm1:connect=1/32-1/32"})
    EXPECT_THAT(equipment_refusal(text), HasSubstr("stm1, stm4, stm16 or stm64"));
  EXPECT_THAT(equipment_refusal("cell-switch"), HasSubstr("cells, stm1, stm4"));
  EXPECT_THAT(equipment_refusal("cell-switch:stm1:cut=1"), HasSubstr("connect=1/100-2/200"));
  for (const char* channels : {"1/100", "1/31-1/100", "1/100-256/100", "1/100-2/200x", "-"}) {
    EXPECT_THAT(equipment_refusal(std::string("cell-switch:stm1:connect=") + channels),
                HasSubstr("VPI/VCI from VCI 32 on"));
  }
  EXPECT_THAT(equipment_refusal("cell-switch:stm1:connect=1/50-1/50:connect=1/50-1/51"),
              HasSubstr("each once"));
  EXPECT_THAT(equipment_refusal("cell-mux:stm1:channel=1/100"), HasSubstr("has a host"));
  EXPECT_THAT(equipment_refusal("cell-mux:stm1:foreign=1Mb/s"), HasSubstr("has a host"));
  EXPECT_THAT(equipment_refusal("router:stm1"), HasSubstr("one of aal5, gfp, ppp"));
  EXPECT_THAT(equipment_refusal("router:ethernet/gfp"), HasSubstr("router:ipv6/gfp"));
  EXPECT_THAT(equipment_refusal("bridge:ipv6/ppp"), HasSubstr("carry ethernet"));
  EXPECT_THAT(equipment_refusal("router:ipv6/ppp:mtu=9"), HasSubstr("mtu is no setting"));
  EXPECT_THAT(equipment_refusal("router:ipv6/ppp:mtu"), HasSubstr("mtu is no setting"));
}

TEST(LineEquipment, HasHostsOfOthersInPairs) {
  EXPECT_THAT(equipment_refusal("router:ipv6/ppp:foreign=1Mb/s"), HasSubstr("another one"));
  EXPECT_THAT(equipment_refusal("router:ipv4/ppp:foreign=1Mb/s"), HasSubstr("carry ipv6"));
  EXPECT_THAT(equipment_refusal("router:ipv6/ppp:foreign=fast"), HasSubstr("foreign=10Mb/s"));
  EXPECT_THAT(equipment_refusal("relay:ppp:foreign=1Mb/s"), HasSubstr("leave foreign out"));
}

}  // namespace
}  // namespace weft::wan
