// SPDX-License-Identifier: Apache-2.0
// How an extender says on which lanes packets leave at another site.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

using ::testing::HasSubstr;

// An extender with `keys`, and a remote that has `more`.
std::string site(const std::string& keys, const std::string& more = "") {
  return "[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\n" + keys +
         "\n[extender.x.remote]\nr = { address = '192.0.2.2:7471' }\n"
         "s = { address = '192.0.2.3:7471'" +
         more + " }\n";
}

std::string refusal(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

TEST(LabEgress, IsOfAllRemotesOrOfOneAndEachLanesOwnWhereNothingIsSaid) {
  const auto lab =
      parse_lab(site("egress = { 2 = 9, 14 = 0 }", ", egress = { 2 = 3 }"), "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const LabExtender& x = lab->extenders.at(0);
  const auto& all = x.remotes.at(0).egress.value().of_vl;
  EXPECT_EQ(all[2], Vl{9});
  EXPECT_EQ(all[14], Vl{0});
  EXPECT_EQ(all[3], Vl{3});
  const auto& own = x.remotes.at(1).egress.value().of_vl;
  EXPECT_EQ(own[2], Vl{3});
  EXPECT_EQ(own[14], Vl{14});
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message << write_lab(*lab, "");
  EXPECT_EQ(*again, *lab);
  EXPECT_FALSE(parse_lab(site(""), "lab.toml")->extenders.at(0).remotes.at(0).egress);
}

TEST(LabEgress, RefusesLanesThatThereAreNone) {
  for (const char* const lane : {"15", "-1", "02", "x"}) {
    EXPECT_THAT(refusal(site("egress = { " + std::string(lane) + " = 1 }")),
                HasSubstr("lab.toml:4: extender.x.egress." + std::string(lane) +
                          ": there is no such data lane; there are 0 to 14"));
  }
  EXPECT_THAT(refusal(site("egress = { 3 = 15 }")),
              HasSubstr("extender.x.egress.3: must be a number from 0 to 14"));
  EXPECT_THAT(refusal(site("", ", egress = { 3 = '1' }")),
              HasSubstr("extender.x.remote.s.egress.3: must be a number from 0 to 14"));
  EXPECT_THAT(refusal(site("egress = 3")), HasSubstr("lab.toml:4: extender.x.egress: must be"));
}

}  // namespace
}  // namespace weft::fabric
