// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/control_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "wan/line/ppp/control_text.h"

namespace weft::wan {
namespace {

// The table of RFC 1661, 4.1, as it is printed there, without its footnotes: a row for each event,
// "actions/next" for each state.
constexpr const char* kPrinted = R"(
Up    2 irc,scr/6 - - - - - - - -
Down  - - 0 tls/1 0 1 1 1 1 tld/1
Open  tls/1 1 irc,scr/6 3 5 5 6 7 8 9
Close 0 tlf/0 2 2 4 4 irc,str/4 irc,str/4 irc,str/4 tld,irc,str/4
TO+   - - - - str/4 str/5 scr/6 scr/6 scr/8 -
TO-   - - - - tlf/2 tlf/3 tlf/3 tlf/3 tlf/3 -
RCR+  - - sta/2 irc,scr,sca/8 4 5 sca/8 sca,tlu/9 sca/8 tld,scr,sca/8
RCR-  - - sta/2 irc,scr,scn/6 4 5 scn/6 scn/7 scn/6 tld,scr,scn/6
RCA   - - sta/2 sta/3 4 5 irc/7 scr/6 irc,tlu/9 tld,scr/6
RCN   - - sta/2 sta/3 4 5 irc,scr/6 scr/6 irc,scr/8 tld,scr/6
RTR   - - sta/2 sta/3 sta/4 sta/5 sta/6 sta/6 sta/6 tld,zrc,sta/5
RTA   - - 2 3 tlf/2 tlf/3 6 6 8 tld,scr/6
RUC   - - scj/2 scj/3 scj/4 scj/5 scj/6 scj/7 scj/8 scj/9
RXJ+  - - 2 3 4 5 6 6 8 9
RXJ-  - - tlf/2 tlf/3 tlf/2 tlf/3 tlf/3 tlf/3 tlf/3 tld,irc,str/5
RXR   - - 2 3 4 5 6 7 8 ser/9
)";

TEST(ControlTable, IsThatOfTheStandard) {
  std::istringstream printed(kPrinted);
  std::string expected;
  for (std::string event; printed >> event;) {
    expected += "| " + event + " |";
    for (std::size_t state = 0; state < kControlStates; ++state) {
      std::string cell;
      printed >> cell;
      expected += " " + cell + " |";
    }
    expected += "\n";
  }
  const std::string text = control_table_text();
  const auto rows = text.find("| Up");
  ASSERT_NE(rows, std::string::npos);
  EXPECT_EQ(text.substr(rows), expected);
}

TEST(ControlTable, IsTheOneOfTheDocumentation) {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/../../docs/wan-gfp-ppp.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find(control_table_text()), std::string::npos) << control_table_text();
}

}  // namespace
}  // namespace weft::wan
