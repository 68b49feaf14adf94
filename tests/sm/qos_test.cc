// SPDX-License-Identifier: Apache-2.0
// The options of OpenSM that begin with "qos_".
#include "sm/qos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Qos parsed_qos(const std::string& text) {
  auto qos = Qos::parse(text, "qos.conf");
  if (!qos) {
    ADD_FAILURE() << qos.error().message;
    return {};
  }
  return *qos;
}

std::string qos_error_of(const std::string& text) {
  const auto qos = Qos::parse(text, "qos.conf");
  return qos ? "no error" : qos.error().message;
}

TEST(Qos, IsAsInOpenSmWhereAFileSaysNothing) {
  const Qos qos = parsed_qos("qos TRUE\n");
  EXPECT_TRUE(qos.on);
  EXPECT_EQ(qos.adapters, QosProfile{});
  EXPECT_EQ(qos.adapters.max_vls, 15);
  EXPECT_EQ(qos.adapters.sl_to_vl.vls[14], Vl{14});
  EXPECT_EQ(qos.adapters.sl_to_vl.vls[15], Vl{7});
  EXPECT_EQ(qos.adapters.high[0].weight, 4);
  EXPECT_EQ(qos.adapters.high[1].weight, 0);
  EXPECT_EQ(qos.adapters.low[0].weight, 0);
  EXPECT_EQ(qos.adapters.low[14].weight, 4);
}

TEST(Qos, HoldsForAllPortsButThoseOfAKindThatHasItsOwn) {
  const Qos qos = parsed_qos(
      "# OpenSM writes them so\n"
      "qos_max_vls 4\n"
      "qos_high_limit 3\n"
      "qos_vlarb_high 0:64, 1:32\n"
      "qos_vlarb_low 2:1,3:255\n"
      "qos_sl2vl 0,1,2,3,0,1,2,3,15\n"
      "qos_sw0_max_vls=2\n"
      "qos_ca_sl2vl=0,1,\n"
      "qos_swe_high_limit=0\n"
      "qos_rtr_vlarb_low (null)\n");
  EXPECT_EQ(qos.adapters.max_vls, 4);
  EXPECT_EQ(qos.switch_port0.max_vls, 2);
  EXPECT_EQ(qos.adapters.high_limit, 3);
  EXPECT_EQ(qos.switch_ports.high_limit, 0);
  EXPECT_EQ(qos.adapters.sl_to_vl.vls[1], Vl{1});
  EXPECT_EQ(qos.adapters.sl_to_vl.vls[2], Vl{0});
  EXPECT_EQ(qos.switch_ports.sl_to_vl.vls[8], Vl{15});
  EXPECT_EQ(qos.switch_ports.sl_to_vl.vls[9], Vl{0});
  using Entry = wire::VlArbitrationBlock::Entry;
  EXPECT_THAT(qos.routers.low, ElementsAre(Entry{Vl{2}, 1}, Entry{Vl{3}, 255}));
  EXPECT_THAT(qos.routers.high, ElementsAre(Entry{Vl{0}, 64}, Entry{Vl{1}, 32}));
}

TEST(Qos, TakesZeroLanesAsNotGiven) {
  EXPECT_EQ(parsed_qos("qos_max_vls 4\nqos_ca_max_vls 0x0\n").adapters.max_vls, 4);
  EXPECT_EQ(parsed_qos("qos_max_vls 0\n").adapters.max_vls, 15);
}

TEST(Qos, MayBeSwitchedOff) {
  EXPECT_FALSE(parsed_qos("qos FALSE\nqos_max_vls 2\n").on);
}

TEST(Qos, SaysWhatItDoesNotRead) {
  const Qos qos = parsed_qos("guid 0x0\nqos_policy_file /etc/opensm/qos-policy.conf\nqos TRUE\n");
  ASSERT_THAT(qos.notes, SizeIs(1));
  EXPECT_THAT(qos.notes[0], HasSubstr("2 other options are not read"));
}

TEST(Qos, SaysWhereAFileIsWrongAndWhatWouldBeRight) {
  EXPECT_THAT(qos_error_of("\nqos_max_vls 16"),
              HasSubstr("qos.conf:2: 'qos_max_vls': '16': want 1"));
  EXPECT_THAT(qos_error_of("qos_high_limit 256"), HasSubstr("want 0 to 255"));
  EXPECT_THAT(qos_error_of("qos_sl2vl 0,16"), HasSubstr("'16': want up to 16 VLs"));
  EXPECT_THAT(qos_error_of("qos_sl2vl 0,,1"), HasSubstr("want up to 16 VLs"));
  EXPECT_THAT(qos_error_of("qos_sl2vl 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1"), HasSubstr("up to 16"));
  EXPECT_THAT(qos_error_of("qos_vlarb_low 0:4,15:4"), HasSubstr("'15:4': want up to 64 pairs"));
  EXPECT_THAT(qos_error_of("qos_vlarb_low 0"), HasSubstr("want up to 64 pairs"));
  EXPECT_THAT(qos_error_of("qos_vlarb_low 0:256"), HasSubstr("want up to 64 pairs"));
  EXPECT_THAT(qos_error_of("qos_ca_lanes 3"), HasSubstr("no such option"));
}

}  // namespace
}  // namespace weft::sm
