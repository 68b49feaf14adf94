// SPDX-License-Identifier: Apache-2.0
#include "../line_stage.h"
#include "../tshark.h"
#include "wan/line/gfp/gfp_transmitter.h"

namespace weft::wan {
namespace {

class GfpTsharkTest : public LineTsharkTest {};

constexpr unsigned kGfpF = 171;  // link type

// Packets as frames, descrambled; what a transmitter says first are idle frames.
std::vector<Packet> frames_of(const GfpOptions& options, const std::vector<Packet>& packets,
                              std::optional<GfpManagement> first = std::nullopt) {
  WaitingPackets waiting;
  waiting.waiting.assign(packets.begin(), packets.end());
  GfpTransmitter transmitter(options, waiting);
  if (first) transmitter.manage(*first);
  PayloadDescrambler descrambler;
  std::vector<Packet> frames;
  for (std::size_t i = 0; i < packets.size() + (first ? 4 : 3); ++i) {
    Packet frame = drawn(transmitter, kGfpHeader);
    wire::store_be32(frame.data(), wire::load_be32(frame.data()) ^ kGfpCoreScramble);
    const std::size_t area = wire::load_be16(frame.data());
    Packet rest = drawn(transmitter, area);
    descrambler.descramble(rest);
    frame.insert(frame.end(), rest.begin(), rest.end());
    frames.push_back(frame);
  }
  return frames;
}

TEST_F(GfpTsharkTest, ReadsEveryKindOfFrameWithoutAComplaint) {
  const Packet ipv6 = from_hex(
      "6000000000043bff"
      "fd000000000000000000000000000001"
      "fd000000000000000000000000000002"
      "01020304");
  EXPECT_EQ(read(kGfpF, frames_of({.user = GfpUser::kIpv6}, {ipv6}, GfpManagement::kReverseDefect),
                 "-T fields -E separator=/s -e gfp.pli -e ipv6.dst -e gfp.upi"),
            "0  \n0  \n4  0x0005\n52 fd00::2 0x0011\n0  \n");
  const std::string details =
      read(kGfpF, frames_of({.user = GfpUser::kIpv6, .channel = 5}, {ipv6}), "-V");
  EXPECT_NE(details.find("[correct]"), std::string::npos) << details;
  EXPECT_EQ(details.find("incorrect"), std::string::npos) << details;
  EXPECT_EQ(details.find("Expert Info (Error"), std::string::npos) << details;
  EXPECT_NE(details.find("Channel ID: 0x05"), std::string::npos) << details;
}

}  // namespace
}  // namespace weft::wan
