// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/requirements.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace weft::phy::conformance {
namespace {

TEST(Requirements, have_a_name_of_their_own_a_clause_and_a_sentence) {
  std::set<std::string_view> ids;
  for (const Requirement& requirement : requirements()) {
    EXPECT_TRUE(ids.insert(requirement.id).second) << requirement.id;
    EXPECT_TRUE(requirement.clause.starts_with("2.")) << requirement.id;
    EXPECT_TRUE(requirement.text.ends_with(".")) << requirement.id;
    EXPECT_NE(requirement.check, nullptr) << requirement.id;
  }
}

TEST(Requirements, are_of_every_clause_of_the_specification) {
  for (const std::string_view clause :
       {"2.1.1, 1", "2.1.1, 2", "2.1.1, 3", "2.1.1, 4", "2.1.1, 5", "2.1.1, 6", "2.1.1, 7",
        "2.1.1, 8", "2.1.2, figure 2", "2.1.3", "2.1.3, table 2", "2.1.4, table 3", "2.2",
        "2.2, table 4"}) {
    bool there = false;
    for (const Requirement& requirement : requirements())
      there = there || requirement.clause == clause;
    EXPECT_TRUE(there) << clause;
  }
}

// docs/link-training.md has the table that the code runs.
TEST(Requirements, are_those_of_the_page) {
  std::ifstream file(WEFT_TEST_DATA "/../../docs/link-training.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::string table = "| requirement | clause | |\n| --- | --- | --- |\n";
  for (const Requirement& requirement : requirements()) {
    table += "| `" + std::string(requirement.id) + "` | " + std::string(requirement.clause) +
             " | " + std::string(requirement.text) + " |\n";
  }
  EXPECT_NE(page.str().find(table), std::string::npos) << table;
}

}  // namespace
}  // namespace weft::phy::conformance
