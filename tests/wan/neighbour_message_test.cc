// SPDX-License-Identifier: Apache-2.0
// Messages that others write, and what of them cannot be.
#include "wan/neighbour/neighbour_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/gid_text.h"
#include "encapsulation_stage.h"
#include "wan/encapsulation/internet_checksum.h"
#include "wan/neighbour/neighbour_cache.h"
#include "wire/grh.h"

namespace weft::wan {
namespace {

constexpr MacAddress kNeighbourMessageEast{2, 0, 0, 0, 0, 2};
const std::string kAsks = "87 00 00 00 00 00 00 00";
const std::string kTells = "88 00 00 00 60 00 00 00";  // as an answer that replaces what was known
const std::string kOfWest = "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01";
const std::string kOfEast = "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02";
const std::string kFromEast = "01 01 02 00 00 00 00 02";
const std::string kAtEast = "02 01 02 00 00 00 00 02";

// ICMPv6 without its checksum, in IPv6 and Ethernet.
std::vector<std::byte> discovery(const Gid& from, const Gid& to, const std::string& text) {
  std::vector<std::byte> body = bytes_of(text);
  std::vector<std::byte> addresses(32);
  wire::store_gid(addresses.data(), from);
  wire::store_gid(addresses.data() + 16, to);
  InternetChecksum sum;
  sum.add(addresses);
  sum.add16(static_cast<std::uint16_t>(body.size()));
  sum.add16(58);
  sum.add(body);
  wire::store_be16(body.data() + 2, sum.value());
  auto frame = bytes_of("02 00 00 00 00 01 02 00 00 00 00 02 86 dd 60 00 00 00 00 00 3a ff");
  wire::store_be16(frame.data() + 18, static_cast<std::uint16_t>(body.size()));
  frame.insert(frame.end(), addresses.begin(), addresses.end());
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}
tl::expected<NeighbourMessage, NotNeighbour> read_message(const std::string& text,
                                                          const Gid& from = ipv6(2),
                                                          const Gid& to = ipv6(1)) {
  return read_neighbour_message(discovery(from, to, text));
}
bool is_malformed(const tl::expected<NeighbourMessage, NotNeighbour>& read) {
  return !read && read.error() == NotNeighbour::kMalformed;
}

// Of 192.0.2.2, which asks for 192.0.2.1.
std::vector<std::byte> arp(std::string_view operation, std::string_view sender = "c0 00 02 02",
                           std::string_view target = "c0 00 02 01") {
  auto frame = bytes_of("02 00 00 00 00 01 02 00 00 00 00 02 08 06 00 01 08 00 06 04");
  for (const std::string_view part : {operation, std::string_view("02 00 00 00 00 02"), sender,
                                      std::string_view("00 00 00 00 00 00"), target}) {
    const auto bytes = bytes_of(part);
    frame.insert(frame.end(), bytes.begin(), bytes.end());
  }
  return frame;
}

TEST(Discovery, SaysWhereASenderIsUnlessItDoesNot) {
  const auto with = read_message(kAsks + kOfWest + kFromEast);
  ASSERT_TRUE(with);
  EXPECT_EQ(*with, (NeighbourMessage{.kind = NeighbourMessage::Kind::kSolicitation,
                                     .sender = ipv6(2),
                                     .target = ipv6(1),
                                     .mac = kNeighbourMessageEast}));
  const auto without = read_message(kAsks + kOfWest);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->mac, MacAddress{});
}

TEST(Discovery, MayHaveOtherOptionsAndCountsTheFirstOfItsOwn) {
  const std::string other = "0e 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00";  // a nonce
  const auto message =
      read_message(kAsks + kOfWest + other + kFromEast + "01 01 02 00 00 00 00 09" + kAtEast);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->mac, kNeighbourMessageEast);
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest + "01 00 02 00 00 00 00 02")))
      << "of no length";
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest + "01 02 02 00 00 00 00 02")))
      << "longer than it";
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest + "01 01 02 00"))) << "cut";
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest + "01 01 03 00 00 00 00 02")))
      << "of a group";
}

TEST(Discovery, IsOfSingleStationsThatHaveIpv6) {
  EXPECT_TRUE(read_message(kTells + kOfEast + kAtEast));
  EXPECT_TRUE(is_malformed(read_message(kTells + kOfEast + kAtEast, Gid{})));
  EXPECT_TRUE(is_malformed(read_message(kTells + kOfEast + kAtEast, *parse_gid("ff02::1"))));
  EXPECT_TRUE(is_malformed(read_message(kTells + kOfEast + kAtEast, Gid::from_ipv4(0xC0000202))));
  EXPECT_TRUE(is_malformed(
      read_message(kTells + "00 00 00 00 00 00 00 00 00 00 ff ff c0 00 02 02" + kAtEast)));
  EXPECT_TRUE(is_malformed(
      read_message(kTells + "ff 02 00 00 00 00 00 00 00 00 00 00 00 00 00 01" + kAtEast)));
}

TEST(Discovery, AnswersNobodyWhereItIsForAll) {
  const Gid all = *parse_gid("ff02::1");
  EXPECT_TRUE(is_malformed(read_message(kTells + kOfEast + kAtEast, ipv6(2), all)));
  EXPECT_TRUE(read_message("88 00 00 00 20 00 00 00" + kOfEast + kAtEast, ipv6(2), all));
}

// RFC 4861, 7.1.1.
TEST(Discovery, OfThoseWithoutAnAddressGoesToItsGroupAndSaysNoOtherOne) {
  const Gid group = solicited_node_group(ipv6(1));
  EXPECT_TRUE(read_message(kAsks + kOfWest, Gid{}, group));
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest, Gid{}, ipv6(1))));
  EXPECT_TRUE(is_malformed(read_message(kAsks + kOfWest + kFromEast, Gid{}, group)));
}

TEST(Discovery, IsNoLongerThanItsPacket) {
  auto frame = discovery(ipv6(2), ipv6(1), kAsks + kOfWest + kFromEast);
  frame.insert(frame.end(), 4, std::byte{});  // what Ethernet fills up with
  EXPECT_TRUE(read_neighbour_message(frame));
  frame.resize(frame.size() - 5);
  EXPECT_TRUE(is_malformed(read_neighbour_message(frame)));
}

class Nobody final : public NeighbourUser {
  void send(const NeighbourFrame&, Time) override {}
  void found(const Gid&, Time) override {}
};

TEST(Discovery, ThatDoesNotSayWhereFindsNobodyAndConfirmsWhoAnswers) {
  const Time now = Time{} + 1h;
  Nobody user;
  NeighbourCache west({2, 0, 0, 0, 0, 1}, ipv6(1), {}, user);
  west.look_for(ipv6(2), now);
  for (const std::string& text : {kAsks + kOfWest, kTells + kOfEast})
    EXPECT_TRUE(west.receive(discovery(ipv6(2), ipv6(1), text), now));
  EXPECT_EQ(west.find(ipv6(2)), std::nullopt);
  west.receive(discovery(ipv6(2), ipv6(1), kTells + kOfEast + kAtEast), now);
  EXPECT_EQ(west.find(ipv6(2)), kNeighbourMessageEast);
  west.receive(discovery(ipv6(2), ipv6(1), "88 00 00 00 20 00 00 00" + kOfEast), now + 10s);
  EXPECT_EQ(west.deadline(), now + 30s) << "nobody has asked for it";
  west.receive(discovery(ipv6(2), ipv6(1), kTells + kOfEast), now + 10s);
  EXPECT_EQ(west.deadline(), now + 40s);
  west.receive(discovery(ipv6(2), ipv6(1), kAsks + kOfWest), now + 10s);
  EXPECT_EQ(west.find(ipv6(2)), kNeighbourMessageEast);
  EXPECT_EQ(west.deadline(), now + 40s);
}

TEST(Arp, IsOfSingleStationsThatHaveAnAddressWhereTheyTellIt) {
  EXPECT_TRUE(read_neighbour_message(arp("00 02")));
  EXPECT_TRUE(is_malformed(read_neighbour_message(arp("00 02", "00 00 00 00"))));
  EXPECT_TRUE(is_malformed(read_neighbour_message(arp("00 02", "e0 00 00 01"))));
  EXPECT_TRUE(is_malformed(read_neighbour_message(arp("00 02", "ff ff ff ff"))));
  EXPECT_TRUE(is_malformed(read_neighbour_message(arp("00 01", "c0 00 02 02", "e0 00 00 01"))));
  EXPECT_TRUE(is_malformed(read_neighbour_message(arp("00 03"))));
}

TEST(Arp, AnswersNobodyWhoTellsAll) {
  const auto answer = read_neighbour_message(arp("00 02"));
  EXPECT_TRUE(answer->solicited);
  for (const std::string_view operation : {"00 01", "00 02"}) {
    const auto told = read_neighbour_message(arp(operation, "c0 00 02 02", "c0 00 02 02"));
    ASSERT_TRUE(told);
    EXPECT_EQ(told->kind, NeighbourMessage::Kind::kAdvertisement);
    EXPECT_FALSE(told->solicited);
  }
}

}  // namespace
}  // namespace weft::wan
