// SPDX-License-Identifier: Apache-2.0
// Extenders whose remotes are at the other ends of fibres, or of lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

using ::testing::HasSubstr;

std::string fibre_refusal(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

std::string with_fibres(const std::string& keys, const std::string& rest = "") {
  return "[extender.x]\n" + keys + "\n" + rest;
}

TEST(LabFibres, MayBeOfAnExtenderWithLittleMemory) {
  const auto lab = parse_lab(with_fibres("buffer = '32KiB'\nencapsulation = 'null'",
                                         "[extender.x.remote]\np = { fibre = 'shm:/run/p' }\n"
                                         "q = { fibre = 'unix:/run/q' }\n"
                                         "r = { fibre = 'tcp:192.0.2.1:7471', rate = '8Gb/s' }"),
                             "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const LabExtender& x = lab->extenders.at(0);
  EXPECT_TRUE(x.on_fibres());
  EXPECT_EQ(x.buffer_bytes, 32u << 10);
  EXPECT_EQ(x.remotes.at(0).fibre, "shm:/run/p");
  EXPECT_EQ(x.remotes.at(2).fibre, "tcp:192.0.2.1:7471");
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabFibres, AreRefusedWhereTheyCannotBe) {
  const std::string there = "[extender.x.remote.r]\nfibre = 'unix:/r'\n";
  EXPECT_THAT(fibre_refusal(with_fibres("", "[extender.x.remote.r]\nfibre = 'glass'")),
              HasSubstr("extender.x.remote.r.fibre: must be \"unix:PATH\""));
  EXPECT_THAT(fibre_refusal(with_fibres("", "[extender.x.remote.r]\nfibre = '4b5b+unix:/r'")),
              HasSubstr("must have no code before its \"+\""));
  EXPECT_THAT(
      fibre_refusal(with_fibres("", there + "[extender.x.remote.q]\nfibre = '64b66b+unix:/r'")),
      HasSubstr("is the fibre to remote "));
  EXPECT_THAT(fibre_refusal(with_fibres("listen = '192.0.2.1:7471'", there)),
              HasSubstr("neither listens nor has a key"));
  EXPECT_THAT(fibre_refusal(with_fibres("mode = 'router'", there)), HasSubstr("mode = \"bridge\""));
  EXPECT_THAT(fibre_refusal(with_fibres("buffer = '4KiB'", there)),
              HasSubstr("from 8KiB to 128GiB"));
  EXPECT_THAT(fibre_refusal(with_fibres("", there + "encapsulation = 'udp/ipv6'")),
              HasSubstr("where encapsulation is \"null\""));
  EXPECT_THAT(fibre_refusal(with_fibres("", there + "address = '192.0.2.2:7471'")),
              HasSubstr("neither address, fingerprint, interface nor line"));
  EXPECT_THAT(fibre_refusal(with_fibres("dscp = { 0 = 1 }", there)),
              HasSubstr("nor line, nor dscp"));
  EXPECT_THAT(fibre_refusal(with_fibres("fec = '4+1'", there)), HasSubstr("nor fec"));
  EXPECT_THAT(fibre_refusal(with_fibres("", there + "[extender.x.remote.q]\nrate = '1Gb/s'")),
              HasSubstr("remote q is not on a fibre, as others are"));
  EXPECT_THAT(fibre_refusal(with_fibres("", there + "[extender.x.remote.q]\nfibre = 'unix:/r'")),
              HasSubstr("unix:/r is the fibre to remote "));
  EXPECT_THAT(fibre_refusal(with_fibres("listen = '192.0.2.1:7471'\ninsecure = true",
                                        "[extender.x.remote.r]\nencapsulation = 'null'")),
              HasSubstr("remote r needs a fibre"));
}

// An extender in the clear, with a remote that has these keys.
std::string with_line(const std::string& keys, const std::string& extender = "insecure = true") {
  return "[extender.x]\nlisten = '192.0.2.1:7471'\n" + extender +
         "\n[extender.x.remote.r]\naddress = '192.0.2.2:7471'\n" + keys;
}

TEST(LabLines, AreReadAndWritten) {
  const auto lab = parse_lab(with_line("encapsulation = 'ipv4/ppp/stm64'\nline = 'unix:/run/line'\n"
                                       "line_rate = '155.52Mb/s'\nrate = '100Mb/s'"),
                             "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const LabRemote& remote = lab->extenders.at(0).remotes.at(0);
  EXPECT_EQ(remote.line, "unix:/run/line");
  EXPECT_EQ(remote.line_octets_per_s, 19'440'000);
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
}

TEST(LabLines, MayHaveAConnectionThatIsSetUpBySignalling) {
  const std::string own = "39.1234567890abcdef12345678.0020ea000001.00";
  const auto lab = parse_lab(with_line("encapsulation = 'aal5'\nline = 'unix:/run/line'\n"
                                       "svc = ['" +
                                       own + "', '391234567890ABCDEF123456780020EA00000200']"),
                             "lab.toml");
  ASSERT_TRUE(lab) << lab.error().message;
  const auto& svc = lab->extenders.at(0).remotes.at(0).svc;
  ASSERT_TRUE(svc);
  EXPECT_EQ(atm_address_text(svc->own), own);
  EXPECT_EQ(atm_address_text(svc->other), "39.1234567890abcdef12345678.0020ea000002.00");
  const auto again = parse_lab(write_lab(*lab, ""), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *lab);
  for (const std::string& wrong : {"'" + own + "'", "['" + own + "']", "['" + own + "', '47']",
                                   "['" + own + "', '" + own + "']", "['" + own + "0', '']"}) {
    EXPECT_THAT(
        fibre_refusal(with_line("encapsulation = 'aal5'\nline = 'unix:/l'\nsvc = " + wrong)),
        HasSubstr("r.svc: must be two ATM addresses"))
        << wrong;
  }
  EXPECT_THAT(fibre_refusal(with_line("svc = ['" + own + "', '" + own.substr(0, 42) + "1']")),
              HasSubstr("an svc and no line"));
}

TEST(LabLines, AreRefusedWhereTheyCannotBe) {
  const std::string line = "line = 'unix:/l'\n";
  const std::string stack = line + "encapsulation = 'ipv4/ppp'\n";
  EXPECT_THAT(fibre_refusal(with_line("line = 'glass'")),
              HasSubstr("r.line: must be \"unix:PATH\""));
  EXPECT_THAT(fibre_refusal(with_line("line = '64b66b+unix:/l'")),
              HasSubstr("must be \"unix:PATH\""));
  EXPECT_THAT(fibre_refusal(with_line(line)), HasSubstr("say what is on it"));
  EXPECT_THAT(fibre_refusal(with_line("line_rate = '1Gb/s'")),
              HasSubstr("a line_rate and no line"));
  for (const char* rate : {"'1b/s'", "'1000Gb/s'", "'fast'"}) {
    EXPECT_THAT(fibre_refusal(with_line(stack + "line_rate = " + rate)),
                HasSubstr("from 8kb/s to 100Gb/s"));
  }
  EXPECT_THAT(fibre_refusal(with_line(stack + "interface = 'eth1'")), HasSubstr("an interface"));
  EXPECT_THAT(fibre_refusal(with_line(stack + "rate = 'auto'")), HasSubstr("which has a clock"));
  EXPECT_THAT(fibre_refusal(with_line(stack, "insecure = true\nsetup = 'tcp'")),
              HasSubstr("leave out setup"));
  EXPECT_THAT(fibre_refusal(with_line(stack, "key = 'x.key'")), HasSubstr("needs the fingerprint"));
}

}  // namespace
}  // namespace weft::fabric
