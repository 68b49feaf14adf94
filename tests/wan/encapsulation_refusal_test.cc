// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "encapsulation_stage.h"
#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

// A packet of the stack with something changed, as the far end takes it.
class Changed {
 public:
  explicit Changed(std::string_view stack, std::string_view options = "")
      : in_(stack_of(stack, there(is_ipv4(stack)))),
        packet_(wrapped(stack_of(stack, here(is_ipv4(stack))),
                        bytes_of("01 02 03 04 05 06 07 08 09 0a 0b"), bytes_of(options))) {}

  Changed& set(std::size_t at, unsigned value) {
    packet_[at] = static_cast<std::byte>(value);
    return *this;
  }
  Changed& set16(std::size_t at, std::uint16_t value) {
    wire::store_be16(packet_.data() + at, value);
    return *this;
  }
  // The header's checksum is right again.
  Changed& right_ipv4_header() {
    set16(10, 0);
    return set16(10, wire::internet_checksum(Bytes(packet_).first(20)));
  }
  Changed& cut(std::size_t size) {
    packet_.resize(size);
    return *this;
  }
  Changed& extend(std::size_t by) {
    packet_.resize(packet_.size() + by);
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return packet_.size(); }

  // The name of the counter that counted it, once; "" when it was taken.
  [[nodiscard]] std::string refused_as() {
    const auto got = in_.unwrap(packet_);
    std::string name;
    for (const CounterValue& counter : in_.refused().snapshot()) {
      if (counter.value == 0) continue;
      EXPECT_EQ(counter.value, 1u);
      EXPECT_TRUE(name.empty());
      name = counter.name;
    }
    EXPECT_EQ(got.has_value(), name.empty());
    return name;
  }

 private:
  Stack in_;
  std::vector<std::byte> packet_;
};

TEST(Decapsulation, RefusesWhatEndsEarlyAtEveryByte) {
  for (const char* text :
       {"udp/ipv6", "udp/ipv4", "udp/options/ipv6", "options/ipv6/ethernet", "udp/ipv4/ethernet"}) {
    const std::size_t whole = Changed(text, text[0] == 'o' ? "31" : "").size();
    for (std::size_t size = 0; size < whole; ++size) {
      const std::string why = Changed(text, text[0] == 'o' ? "31" : "").cut(size).refused_as();
      EXPECT_TRUE(why == "rx_short" || why == "rx_length") << text << ' ' << size << ' ' << why;
    }
  }
}

TEST(Decapsulation, ChecksEachFieldOfAnIpv6Header) {
  EXPECT_EQ(Changed("udp/ipv6").refused_as(), "");
  EXPECT_EQ(Changed("udp/ipv6").set(0, 0x4B).refused_as(), "rx_version");
  EXPECT_EQ(Changed("udp/ipv6").set16(4, 20).refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv6").set16(4, 18).refused_as(), "rx_length");
  EXPECT_EQ(Changed("ipv6").set16(4, 0xFFFF).refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv6").set(6, 253).refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("udp/ipv6").set(6, 44).refused_as(), "rx_protocol");  // a fragment
  EXPECT_EQ(Changed("ipv6").set(6, 17).refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("udp/ipv6").set(39, 3).refused_as(), "rx_destination");
  EXPECT_EQ(Changed("udp/ipv6").set(23, 3).refused_as(), "rx_source");
  // Routers change these.
  EXPECT_EQ(Changed("udp/ipv6").set(0, 0x6F).set(3, 7).set(7, 1).refused_as(), "");
}

TEST(Decapsulation, ChecksEachFieldOfAnIpv4Header) {
  EXPECT_EQ(Changed("udp/ipv4").refused_as(), "");
  EXPECT_EQ(Changed("udp/ipv4").set(0, 0x65).refused_as(), "rx_version");
  EXPECT_EQ(Changed("udp/ipv4").set(0, 0x44).refused_as(), "rx_header_length");
  EXPECT_EQ(Changed("udp/ipv4").set(0, 0x4F).refused_as(), "rx_header_length");
  EXPECT_EQ(Changed("udp/ipv4").set(8, 63).refused_as(), "rx_header_checksum");
  EXPECT_EQ(Changed("udp/ipv4").set(8, 63).right_ipv4_header().refused_as(), "");
  EXPECT_EQ(Changed("udp/ipv4").set16(2, 19).right_ipv4_header().refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv4").set16(2, 40).right_ipv4_header().refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv4").set16(2, 38).right_ipv4_header().refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv4").set16(6, 0x2000).right_ipv4_header().refused_as(), "rx_fragment");
  EXPECT_EQ(Changed("udp/ipv4").set16(6, 0x0001).right_ipv4_header().refused_as(), "rx_fragment");
  EXPECT_EQ(Changed("udp/ipv4").set16(6, 0).right_ipv4_header().refused_as(), "");
  EXPECT_EQ(Changed("udp/ipv4").set(9, 6).right_ipv4_header().refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("udp/ipv4").set(19, 3).right_ipv4_header().refused_as(), "rx_destination");
  EXPECT_EQ(Changed("udp/ipv4").set(15, 3).right_ipv4_header().refused_as(), "rx_source");
}

// Of labels 100016 and 300, at bytes 14 and 18.
TEST(Decapsulation, ChecksEachFieldOfMplsLabels) {
  EXPECT_EQ(Changed("mpls/ethernet").refused_as(), "");
  EXPECT_EQ(Changed("mpls/ethernet").set(14, 0x19).refused_as(), "rx_label");
  EXPECT_EQ(Changed("mpls/ethernet").set(20, 0xDB).refused_as(), "rx_label");
  EXPECT_EQ(Changed("mpls/ethernet").set(16, 0x0B).refused_as(), "rx_label_stack");  // ends early
  EXPECT_EQ(Changed("mpls/ethernet").set(20, 0xCA).refused_as(), "rx_label_stack");  // goes on
  EXPECT_EQ(Changed("mpls/ethernet").set(17, 0).refused_as(), "rx_label_ttl");
  EXPECT_EQ(Changed("mpls/ethernet").cut(21).refused_as(), "rx_short");
  // Routers change these.
  EXPECT_EQ(Changed("mpls/ethernet").set(17, 1).set(16, 0x00).set(20, 0xC1).refused_as(), "");
  EXPECT_EQ(Changed("ipv6/mpls/ethernet").set(12, 0x86).set(13, 0xDD).refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("ipv6/mpls/ethernet").set(13, 0x48).refused_as(), "rx_protocol");  // multicast
}

std::string label_words(std::string_view labels, std::string_view stack, bool ipv4) {
  const auto inner = wrapped(stack_of(stack, here(ipv4)), bytes_of("0a 0b 0c"));
  const std::string packet =
      "02 00 00 00 00 02 02 00 00 00 00 01 88 47 " + std::string(labels) + hex_of(inner);
  Stack in = stack_of(std::string(stack) + "/mpls/ethernet", there(ipv4));
  const auto got = in.unwrap(bytes_of(packet));
  if (got) return hex_of(got->bytes);
  return std::string(kPacketRefusalInfo.at(static_cast<std::size_t>(got.error())).name);
}

TEST(Decapsulation, TakesExplicitNullsWhereRoutersMayPutThem) {
  constexpr std::string_view kOurs = "18 6b 00 40 00 12 c1 40 ";
  EXPECT_EQ(label_words(kOurs, "ipv6", false), "0a 0b 0c");
  // On top, of either version (RFC 4182).
  EXPECT_EQ(label_words("00 00 20 40 " + std::string(kOurs), "ipv6", false), "0a 0b 0c");
  EXPECT_EQ(label_words("00 00 00 40 00 00 20 40 " + std::string(kOurs), "ipv6", false),
            "0a 0b 0c");
  // In place of the innermost label, for what follows.
  EXPECT_EQ(label_words("18 6b 00 40 00 00 21 40 ", "ipv6", false), "0a 0b 0c");
  EXPECT_EQ(label_words("18 6b 00 40 00 00 01 40 ", "ipv4", true), "0a 0b 0c");
  EXPECT_EQ(label_words("18 6b 00 40 00 00 01 40 ", "ipv6", false), "rx_protocol");
  // Instead of both, between the two, and others that mean something.
  EXPECT_EQ(label_words("00 00 21 40 ", "ipv6", false), "rx_label");
  EXPECT_EQ(label_words("18 6b 00 40 00 00 20 40 00 12 c1 40 ", "ipv6", false), "rx_label");
  for (unsigned label = 1; label < 16; ++label) {
    if (label == 2) continue;
    EXPECT_EQ(
        label_words("00 00 " + hex_of(bytes_of(std::string(1, "0123456789abcdef"[label]) + "0")) +
                        " 40 " + std::string(kOurs),
                    "ipv6", false),
        "rx_label")
        << label;
  }
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += "00 00 20 40 ";
  EXPECT_EQ(label_words(many + std::string(kOurs), "ipv6", false), "rx_label_stack");
}

TEST(Decapsulation, PassesOverOptionsOfIpv4) {
  Stack in = stack_of("ipv4", there(true));
  auto packet =
      bytes_of("46 00 00 1b 00 00 40 00 40 fd 00 00 c0 00 02 01 c0 00 02 02 01 01 01 00 0a 0b 0c");
  wire::store_be16(packet.data() + 10, wire::internet_checksum(Bytes(packet).first(24)));
  const auto got = in.unwrap(packet);
  ASSERT_TRUE(got);
  EXPECT_EQ(hex_of(got->bytes), "0a 0b 0c");
}

TEST(Decapsulation, ChecksEachFieldOfAUdpHeader) {
  EXPECT_EQ(Changed("udp/ipv6").set16(40, 5001).refused_as(), "rx_port");
  EXPECT_EQ(Changed("udp/ipv6").set16(42, 4001).refused_as(), "rx_port");
  EXPECT_EQ(Changed("udp/ipv6").set16(44, 18).refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv6").set16(44, 20).refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv6").set16(44, 0).refused_as(), "rx_length");
  EXPECT_EQ(Changed("udp/ipv6").set(48, 7).refused_as(), "rx_checksum");
  EXPECT_EQ(Changed("udp/ipv6").set(58, 7).refused_as(), "rx_checksum");
  EXPECT_EQ(Changed("udp/ipv4").set(38, 7).refused_as(), "rx_checksum");
}

// RFC 8200, 8.1, and RFC 768.
TEST(Decapsulation, RefusesADatagramWithoutAChecksumInIpv6AndTakesItInIpv4) {
  EXPECT_EQ(Changed("udp/ipv6").set16(46, 0).refused_as(), "rx_no_checksum");
  EXPECT_EQ(Changed("udp/ipv4").set16(26, 0).refused_as(), "");
}

TEST(Decapsulation, ChecksDestinationOptions) {
  const std::string six = "31 32 33 34 35 36";  // 1e 06 … 01 04 00 00 00 00
  EXPECT_EQ(Changed("udp/options/ipv6", six).refused_as(), "");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(41, 0xFF).refused_as(), "rx_short");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(40, 253).refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(40, 60).refused_as(), "rx_protocol");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(43, 13).refused_as(), "rx_option");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(51, 5).refused_as(), "rx_option");
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(50, 0x1E).refused_as(), "rx_option");  // twice
  // Options that are not known: to be passed over, or not.
  EXPECT_EQ(Changed("udp/options/ipv6", six).set(42, 0x3E).refused_as(), "");
  for (const unsigned type : {0x5E, 0x9E, 0xDE}) {
    EXPECT_EQ(Changed("udp/options/ipv6", six).set(42, type).refused_as(), "rx_option");
  }
  // A stack without the layer does not pass them over.
  Stack plain = stack_of("udp/ipv6", there(false));
  const auto packet =
      wrapped(stack_of("udp/options/ipv6", here(false)), bytes_of("01"), bytes_of(six));
  EXPECT_EQ(plain.unwrap(packet).error(), PacketRefusal::kProtocol);
}

TEST(Decapsulation, ChecksEachFieldOfAnEthernetHeader) {
  EXPECT_EQ(Changed("ethernet").refused_as(), "");
  EXPECT_EQ(Changed("ethernet").set(5, 9).refused_as(), "rx_destination");
  EXPECT_EQ(Changed("ethernet").set(11, 9).refused_as(), "rx_source");
  EXPECT_EQ(Changed("ethernet").set16(12, 0x8100).refused_as(), "rx_protocol");  // a tag
  EXPECT_EQ(Changed("ethernet").set16(12, 11).refused_as(), "rx_protocol");      // a length
  EXPECT_EQ(Changed("udp/ipv6/ethernet").set16(12, 0x0800).refused_as(), "rx_protocol");
}

// Interfaces fill up short frames.
TEST(Decapsulation, LeavesOutWhatALinkHasPutBehindAnIpPacket) {
  for (const char* text : {"udp/ipv6/ethernet", "udp/ipv4/ethernet", "ipv6/ethernet"}) {
    EXPECT_EQ(Changed(text).extend(20).refused_as(), "") << text;
  }
}

}  // namespace
}  // namespace weft::wan
