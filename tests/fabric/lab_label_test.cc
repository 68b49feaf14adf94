// SPDX-License-Identifier: Apache-2.0
// How an extender says which MPLS labels are around what crosses the WAN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

// An extender with `keys`, and a remote that has `more`.
std::string labelled(const std::string& keys, const std::string& more = "") {
  return "[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\ninterface = 'eth1'\n" + keys +
         "\n[extender.x.remote]\nr = { address = '192.0.2.2:7471' }\n"
         "s = { address = '192.0.2.3:7471'" +
         more + " }\n";
}

std::string label_refusal(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

TEST(LabLabels, AreOfAllRemotesOrOfOne) {
  const auto lab = parse_lab(labelled("encapsulation = 'ipv4/mpls/ethernet'\nlabels = [100016, 16]",
                                      ", labels = [1048575], own_labels = [17, 18]"),
                             "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto& remotes = lab->extenders.at(0).remotes;
  using Labels = std::vector<std::uint32_t>;
  EXPECT_EQ(remotes.at(0).labels, (Labels{100016, 16}));
  EXPECT_EQ(remotes.at(0).own_labels, Labels{});
  EXPECT_EQ(remotes.at(1).labels, (Labels{1048575}));
  EXPECT_EQ(remotes.at(1).own_labels, (Labels{17, 18}));
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message << write_lab(*lab, "");
  EXPECT_EQ(*again, *lab);
}

TEST(LabLabels, AreNumbersOfTwentyBitsWithoutAMeaningOfTheirOwn) {
  for (const char* const labels : {"[15]", "[1048576]", "[-1]", "['16']", "[16, 3]"}) {
    EXPECT_THAT(label_refusal(labelled(std::string("labels = ") + labels)),
                testing::HasSubstr("must be a number from 16 to 1048575"))
        << labels;
  }
  for (const char* const labels : {"16", "[]", "[16, 16, 16, 16, 16, 16, 16, 16, 16]"}) {
    EXPECT_THAT(label_refusal(labelled("", std::string(", own_labels = ") + labels)),
                testing::HasSubstr("own_labels: must be a list of one to 8 labels"))
        << labels;
  }
}

}  // namespace
}  // namespace weft::fabric
