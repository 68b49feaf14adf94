// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "encapsulation_stage.h"
#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/internet_checksum.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kExpedited = 0x2E << 2 | wire::kEcnCapable;
constexpr std::string_view kFrameHex = "01 02 03 04 05 06 07 08 09 0a 0b";
constexpr std::string_view kFromTo =
    "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 "
    "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 ";

// Checksums were computed by another program.
struct Row {
  std::string stack;
  std::string options;
  std::string packet;
};
const std::vector<Row>& expectations() {
  static const std::string from_to(kFromTo);
  static const std::string frame(kFrameHex);
  static const std::string udp6 = "0f a0 13 88 00 13 be 7d " + frame;
  static const std::string udp4 = "0f a0 13 88 00 13 34 7e " + frame;
  static const std::string mac = "02 00 00 00 00 02 02 00 00 00 00 01 ";
  // The first of the two as scapy writes it.
  static const std::string labels = "18 6b 0a 40 00 12 cb 40 ";
  static const std::string ip4 = "45 ba 00 27 00 00 40 00 40 11 b6 08 c0 00 02 01 c0 00 02 02 ";
  static const std::vector<Row> all{
      {"null", "", frame},
      {"udp/ipv6", "", "6b a1 23 45 00 13 11 40 " + from_to + udp6},
      {"udp/ipv4", "", ip4 + udp4},
      {"ipv6", "", "6b a1 23 45 00 0b fd 40 " + from_to + frame},
      {"ipv4", "", "45 ba 00 1f 00 00 40 00 40 fd b5 24 c0 00 02 01 c0 00 02 02 " + frame},
      {"ethernet", "", mac + "88 b5 " + frame},
      {"udp/ipv4/ethernet", "", mac + "08 00 " + ip4 + udp4},
      {"dccp/ipv6", "", "6b a1 23 45 00 0b 21 40 " + from_to + frame},
      {"mpls/ethernet", "", mac + "88 47 " + labels + frame},
      {"udp/ipv4/mpls/ethernet", "", mac + "88 47 " + labels + ip4 + udp4},
      {"udp/options/ipv6", "63 72 65 64 69 74",
       "6b a1 23 45 00 23 3c 40 " + from_to + "11 01 1e 06 63 72 65 64 69 74 01 04 00 00 00 00 " +
           udp6},
      {"udp/options/ipv6", "", "6b a1 23 45 00 13 11 40 " + from_to + udp6},
      {"options/ipv6/ethernet", "31 32 33 34 35 36 37 38 39",
       mac + "86 dd 6b a1 23 45 00 1b 3c 40 " + from_to +
           "fd 01 1e 09 31 32 33 34 35 36 37 38 39 01 01 00 " + frame},
      {"options/ipv6", "31 32 33",  // one byte of padding
       "6b a1 23 45 00 13 3c 40 " + from_to + "fd 00 1e 03 31 32 33 00 " + frame},
      {"options/ipv6", "31 32 33 34",  // and none
       "6b a1 23 45 00 13 3c 40 " + from_to + "fd 00 1e 04 31 32 33 34 " + frame},
  };
  return all;
}

TEST(Encapsulation, WritesEachStackToTheByte) {
  const auto frame = bytes_of(kFrameHex);
  for (const Row& row : expectations()) {
    const Stack stack = stack_of(row.stack, here(is_ipv4(row.stack)));
    EXPECT_EQ(stack.to_string(), row.stack);
    EXPECT_EQ(hex_of(wrapped(stack, frame, bytes_of(row.options), kExpedited)), row.packet)
        << row.stack;
  }
}

TEST(Encapsulation, TakesOffAtTheFarEndWhatItPutOnHere) {
  const auto frame = bytes_of(kFrameHex);
  for (const Row& row : expectations()) {
    Stack stack = stack_of(row.stack, there(is_ipv4(row.stack)));
    const auto packet = bytes_of(row.packet);
    const auto got = stack.unwrap(packet);
    ASSERT_TRUE(got) << row.stack;
    EXPECT_EQ(hex_of(got->bytes), kFrameHex) << row.stack;
    EXPECT_EQ(hex_of(got->options), row.options) << row.stack;
    const bool ip = row.stack.find("ip") != std::string::npos;
    EXPECT_EQ(got->traffic_class, ip ? kExpedited : 0) << row.stack;
  }
}

TEST(Encapsulation, CarriesFramesOfEveryLengthUpToTheLongest) {
  Random random(1);
  std::vector<std::byte> bytes(70'000);
  for (std::byte& b : bytes)
    b = std::byte(random.below(256));
  for (const char* text :
       {"udp/ipv6", "udp/ipv4", "udp/options/ipv6/ethernet", "ipv6", "ethernet"}) {
    const Stack out = stack_of(text, here(is_ipv4(text)));
    Stack in = stack_of(text, there(is_ipv4(text)));
    const std::size_t longest = out.longest_frame(100'000);
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4095},
                             std::size_t{4096}, longest}) {
      const auto packet = wrapped(out, Bytes(bytes).first(size));
      const auto got = in.unwrap(packet);
      ASSERT_TRUE(got) << text << ' ' << size;
      EXPECT_TRUE(std::equal(got->bytes.begin(), got->bytes.end(), bytes.begin(),
                             bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    const std::array<Bytes, 1> too_long{Bytes(bytes).first(65'600)};
    OutPacket packet(too_long);
    EXPECT_FALSE(out.wrap(packet)) << text;
  }
}

TEST(Encapsulation, KnowsWhatFitsIntoAnMtu) {
  EXPECT_EQ(stack_of("null", here(false)).longest_frame(1500), 1500u);
  EXPECT_EQ(stack_of("udp/ipv6", here(false)).longest_frame(1500), 1452u);
  EXPECT_EQ(stack_of("udp/ipv4", here(true)).longest_frame(1500), 1472u);
  EXPECT_EQ(stack_of("udp/ipv6/ethernet", here(false)).longest_frame(1514), 1452u);
  EXPECT_EQ(stack_of("udp/ipv6", here(false)).longest_frame(48), 0u);
  EXPECT_EQ(stack_of("udp/ipv6", here(false)).longest_frame(10), 0u);
  EXPECT_EQ(stack_of("ipv6", here(false)).longest_frame(100'000), 65'535u);
  const Stack stack = stack_of("udp/options/ipv6", here(false));
  const std::vector<std::byte> frame(stack.longest_frame(1500));
  const std::vector<std::byte> options(OutPacket::kMostOptions);
  EXPECT_LE(wrapped(stack, frame, options).size(), 1500u);
}

TEST(Encapsulation, RefusesOptionsThatNobodyCarriesOrThatAreTooMany) {
  const std::vector<std::byte> options(OutPacket::kMostOptions + 1);
  for (const char* text : {"udp/ipv6", "null", "udp/options/ipv6"}) {
    const Stack stack = stack_of(text, here(false));
    OutPacket packet({});
    packet.options = options;
    EXPECT_FALSE(stack.wrap(packet)) << text;
  }
}

TEST(Encapsulation, SaysWhichStackCannotBe) {
  const auto refusal = [](std::string_view text, bool ipv4 = false) {
    const auto stack = Stack::parse(text, here(ipv4));
    return stack ? std::string("taken") : stack.error().message;
  };
  EXPECT_EQ(
      refusal("udp/ipx"),
      "udp/ipx: there is no layer \"ipx\"; there are null, dccp, udp, options, ipv6, ipv4, mpls, "
      "ethernet");
  EXPECT_EQ(refusal("").substr(0, 22), ": there is no layer \"\"");
  EXPECT_EQ(refusal("udp/").substr(0, 25), "udp/: there is no layer \"");
  EXPECT_EQ(refusal("udp"), "udp: udp must be in another layer");
  EXPECT_EQ(refusal("udp/ethernet"), "udp/ethernet: udp cannot be in ethernet");
  EXPECT_EQ(refusal("ethernet/ipv6"), "ethernet/ipv6: ethernet cannot be in ipv6");
  EXPECT_EQ(refusal("udp/options/ipv4", true), "udp/options/ipv4: options cannot be in ipv4");
  EXPECT_EQ(refusal("ipv6/ipv6"), "ipv6/ipv6: ipv6 cannot be in ipv6");
  EXPECT_EQ(refusal("mpls/ipv6"), "mpls/ipv6: mpls cannot be in ipv6");
  EXPECT_EQ(refusal("ipv6/mpls"), "ipv6/mpls: mpls must be in another layer");
  EXPECT_EQ(refusal("udp/dccp/ipv6"), "udp/dccp/ipv6: udp cannot be in dccp");
  EXPECT_EQ(refusal("dccp/ethernet"), "dccp/ethernet: dccp cannot be in ethernet");
  EXPECT_EQ(refusal("dccp"), "dccp: dccp must be in another layer");
  EXPECT_EQ(refusal("udp/ipv4"), "ipv4: the addresses of both ends must be of this version");
  EXPECT_EQ(refusal("udp/ipv6", true), "ipv6: the addresses of both ends must be of this version");
}

TEST(Encapsulation, NeedsLabelsThatMayBeThere) {
  for (const auto& labels : std::vector<std::vector<std::uint32_t>>{
           {}, {15}, {0x100000}, std::vector<std::uint32_t>(9, 16)}) {
    Ends ends = here(false);
    ends.labels = labels;
    const auto stack = Stack::parse("mpls/ethernet", ends);
    ASSERT_FALSE(stack);
    EXPECT_EQ(stack.error().message,
              "mpls: packets need one to 8 labels from 16 to 1048575 each way");
    std::swap(ends.labels, ends.own_labels);
    EXPECT_FALSE(Stack::parse("mpls/ethernet", ends));
  }
}

// A checksum that comes out as zero is sent as all ones, since zero says that there is none.
TEST(Encapsulation, SendsAChecksumOfZeroAsAllOnes) {
  const Stack out = stack_of("udp/ipv6", here(false));
  Stack in = stack_of("udp/ipv6", there(false));
  std::array<std::byte, 2> frame{};
  const auto with_zeros = wrapped(out, frame);
  // What the field says of a frame of zeros, put into the frame, makes the sum all ones.
  std::copy_n(with_zeros.begin() + 46, 2, frame.begin());
  const auto packet = wrapped(out, frame);
  EXPECT_EQ(hex_of(Bytes(packet).subspan(46, 2)), "ff ff");
  EXPECT_TRUE(in.unwrap(packet));
}

TEST(Encapsulation, GoesWithoutAChecksumWhereThatIsAgreed) {
  Ends ends = here(false);
  ends.zero_checksum = true;
  Ends other = there(false);
  other.zero_checksum = true;
  const Stack out = stack_of("udp/ipv6", ends);
  Stack in = stack_of("udp/ipv6", other);
  const auto packet = wrapped(out, bytes_of(kFrameHex));
  EXPECT_EQ(hex_of(Bytes(packet).subspan(46, 2)), "00 00");
  EXPECT_TRUE(in.unwrap(packet));
}

// As octet stuffing does: bytes change, and a trailer comes behind them.
class Doubling : public Layer {
 public:
  std::string_view name() const override { return "doubling"; }
  Carried identity() const override { return {.ip_protocol = {}, .ether_type = 0x1234}; }
  std::size_t wrapped_size(std::size_t size) const override { return 2 * size + 1; }
  std::size_t longest_body() const override { return 1000; }
  void wrap(OutPacket& packet) const override {
    std::vector<std::byte> twice;
    for (const Bytes piece : packet.pieces()) {
      for (const std::byte b : piece)
        twice.insert(twice.end(), 2, b);
    }
    packet.replace(std::move(twice));
    packet.append(1)[0] = std::byte{0x7E};
    packet.carried = identity();
  }
  std::optional<PacketRefusal> unwrap(InPacket& packet) const override {
    if (packet.bytes.size() % 2 != 1) return PacketRefusal::kLength;
    std::vector<std::byte> once;
    for (std::size_t i = 0; i + 1 < packet.bytes.size(); i += 2)
      once.push_back(packet.bytes[i]);
    packet.rewritten = std::move(once);
    packet.bytes = packet.rewritten;
    packet.says = {};
    return std::nullopt;
  }
};

TEST(Encapsulation, HasRoomForLayersThatChangeBytesAndHaveTrailers) {
  const auto stack_at = [](const Ends& ends) {
    std::vector<std::unique_ptr<Layer>> layers;
    layers.push_back(std::make_unique<Doubling>());
    layers.push_back(std::make_unique<EthernetLayer>(ends));
    return Stack(std::move(layers));
  };
  const Stack out = stack_at(here(false));
  Stack in = stack_at(there(false));
  const auto frame = bytes_of("0a 0b 0c");
  const auto packet = wrapped(out, frame);
  EXPECT_EQ(hex_of(packet), "02 00 00 00 00 02 02 00 00 00 00 01 12 34 0a 0a 0b 0b 0c 0c 7e");
  EXPECT_EQ(out.longest_frame(100), 42u);
  const auto got = in.unwrap(packet);
  ASSERT_TRUE(got);
  EXPECT_EQ(hex_of(got->bytes), "0a 0b 0c");
}

TEST(InternetChecksum, IsThatOfTheWholeHoweverItIsCut) {
  Random random(7);
  std::vector<std::byte> bytes(64);
  for (int round = 0; round < 1000; ++round) {
    for (std::byte& b : bytes)
      b = random.chance(0.3) ? std::byte{0xFF} : std::byte(random.below(256));
    const std::uint16_t whole = wire::internet_checksum(bytes);
    InternetChecksum sum;
    for (Bytes rest = bytes; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(random.below(9), rest.size());
      sum.add(rest.first(size));
      rest = rest.subspan(size);
    }
    ASSERT_EQ(sum.value(), whole);
  }
}

}  // namespace
}  // namespace weft::wan
