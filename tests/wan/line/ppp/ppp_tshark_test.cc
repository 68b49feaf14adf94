// SPDX-License-Identifier: Apache-2.0
#include "../tshark.h"
#include "genuine.h"
#include "ppp_stage.h"
#include "session_pair.h"
#include "wan/line/ppp/ppp_fields.h"

namespace weft::wan {
namespace {

class PppTsharkTest : public LineTsharkTest {};

constexpr unsigned kUser0 = 147;  // link type
constexpr unsigned kPppLink = 50;
const std::string kStuffed =
    "-o 'uat:user_dlts:\"User 0 (DLT=147)\",\"ppp_raw_hdlc\",\"0\",\"\",\"0\",\"\"'"
    " -o ppp.fcs_type:32-Bit ";

// All that two sessions say to each other until they are up: octets of the line, between flags.
TEST_F(PppTsharkTest, ReadsANegotiationAsItGoesOverTheLine) {
  PppPair pair({.payload = PppPayload::kIpv6, .network = {.interface_identifier = 0x7E7D}},
               {.payload = PppPayload::kIpv6});
  Packet line;
  pair.harm = [&line](Packet& octets, bool there) {
    if (there) line.insert(line.end(), octets.begin(), octets.end());
  };
  ASSERT_TRUE(pair.come_up());
  std::vector<Packet> frames(1, Packet{kPppFlag});
  for (const std::byte octet : line) {
    Packet& frame = frames.back();
    frame.push_back(octet);
    if (octet != kPppFlag) continue;
    const bool empty = frame.size() == 2;
    if (empty) frame.pop_back();
    if (!empty) frames.push_back(Packet{kPppFlag});
  }
  frames.pop_back();
  const std::string details = read(kUser0, frames, kStuffed + "-V");
  EXPECT_EQ(details.find("incorrect"), std::string::npos) << details;
  EXPECT_EQ(details.find("Malformed"), std::string::npos) << details;
  EXPECT_NE(details.find("Maximum Receive Unit: 9000"), std::string::npos) << details;
  EXPECT_NE(details.find("Code: Configuration Ack (2)"), std::string::npos) << details;
  EXPECT_NE(details.find("PPP IPv6 Control Protocol"), std::string::npos) << details;
  EXPECT_NE(details.find("Interface Identifier: 00:00:00:00:00:00:7e:7d"), std::string::npos)
      << details;
  EXPECT_NE(details.find("Code: Echo Request (9)"), std::string::npos) << details;
}

TEST_F(PppTsharkTest, SaysOfGenuinePacketsWhatTheFieldsSay) {
  const std::vector<Packet> packets = captured();
  ASSERT_EQ(packets.size(), 36U);
  const std::string codes = read(kPppLink, packets,
                                 "-T fields -E separator=/s -e ppp.protocol -e ppp.code"
                                 " -e ppp.identifier -e ppp.length");
  std::string expected;
  for (const Packet& packet : packets) {
    ASSERT_EQ(wire::load_be16(packet.data()), kPppAddressControl);
    const std::uint16_t protocol = wire::load_be16(packet.data() + 2);
    char line[64];
    const Bytes information = Bytes(packet).subspan(kPppHeader);
    const bool controls = (protocol & 0x8000) != 0;
    (void)std::snprintf(line, sizeof line, "0x%04x", protocol);
    expected += line;
    if (controls) {
      const auto fields = control_fields(PppProtocol(protocol), information);
      for (const FrameField& field : fields)
        EXPECT_NE(field.name, "error");
      (void)std::snprintf(line, sizeof line, " %u %u ", wire::load_u8(information.data()),
                          wire::load_u8(information.data() + 1));
      expected += line + fields.at(2).value;
    } else {
      expected += "   ";
    }
    expected += "\n";
  }
  EXPECT_EQ(codes, expected);
}

}  // namespace
}  // namespace weft::wan
