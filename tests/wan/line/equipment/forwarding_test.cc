// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/forwarding.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

using Octets = std::vector<std::byte>;

constexpr PortSet kNowhere{false, false, false};
constexpr PortSet kFirst{true, false, false};
constexpr PortSet kSecond{false, true, false};
constexpr PortSet kToHost{false, false, true};

Octets frame(std::uint8_t to, std::uint8_t from) {
  Octets out(60);
  out[5] = std::byte{to};
  out[11] = std::byte{from};
  return out;
}

TEST(BridgeForwarding, SendsToWhereAnAddressWasSeenLastAndElseEverywhere) {
  ForwardingCounters counters;
  BridgeForwarding bridge(counters);
  Octets unknown = frame(2, 1);
  EXPECT_EQ(bridge.to(0, unknown), (PortSet{false, true, true}));
  Octets answer = frame(1, 2);
  EXPECT_EQ(bridge.to(kHostPort, answer), kFirst);
  EXPECT_EQ(bridge.to(0, unknown), kToHost);
  // It has moved to where the other one is.
  EXPECT_EQ(bridge.to(0, answer), kNowhere);
  EXPECT_EQ(counters.get(ForwardingCounter::kNowhere), 1U);
  Octets group = frame(0xFF, 1);
  group[0] = std::byte{1};
  EXPECT_EQ(bridge.to(1, group), (PortSet{true, false, true}));
  Octets cut(13);
  EXPECT_EQ(bridge.to(1, cut), kNowhere);
  EXPECT_EQ(counters.get(ForwardingCounter::kMalformed), 1U);
}

TEST(BridgeForwarding, KeepsNoMoreAddressesThanItMay) {
  ForwardingCounters counters;
  BridgeForwarding bridge(counters);
  Octets packet = frame(0xFE, 0);
  for (std::size_t i = 0; i <= BridgeForwarding::kMostAddresses; ++i) {
    wire::store_be32(packet.data() + 8, static_cast<std::uint32_t>(i + 1));
    (void)bridge.to(0, packet);
  }
  Octets to_last = frame(0, 0xFD);
  wire::store_be32(to_last.data() + 2, BridgeForwarding::kMostAddresses + 1);
  EXPECT_EQ(bridge.to(1, to_last), (PortSet{true, false, true}));
  wire::store_be32(to_last.data() + 2, BridgeForwarding::kMostAddresses);
  EXPECT_EQ(bridge.to(1, to_last), kFirst);
}

Octets ipv6(const Gid& to, std::uint8_t hops) {
  Octets out(60);
  wire::Grh{.payload_length = 20, .hop_limit = hops, .dgid = to}.write(out);
  return out;
}

TEST(RouterForwarding, SendsPacketsAHopFurther) {
  ForwardingCounters counters;
  const Gid host(std::array<std::uint8_t, 16>{0x20, 1});
  RouterForwarding router(counters, RouterForwarding::Host{.address = host, .line = 1});
  Octets packet = ipv6(Gid{}, 2);
  EXPECT_EQ(router.to(0, packet), kSecond);
  EXPECT_EQ(router.to(1, packet), kNowhere);
  EXPECT_EQ(counters.get(ForwardingCounter::kHopLimit), 1U);
  Octets to_host = ipv6(host, 1);
  EXPECT_EQ(router.to(1, to_host), kToHost);

  Octets of_host = ipv6(Gid{}, 9);
  EXPECT_EQ(router.to(kHostPort, of_host), kSecond);

  Octets old(40);
  const wire::Datagram datagram{.src = Gid::from_ipv4(1), .dst = Gid::from_ipv4(2), .hop_limit = 2};
  wire::write_ipv4_header(std::span(old).first<wire::kIpv4HeaderSize>(), datagram);
  EXPECT_EQ(router.to(1, old), kFirst);
  EXPECT_EQ(old[8], std::byte{1});
  EXPECT_EQ(wire::internet_checksum(Bytes(old).first(wire::kIpv4HeaderSize)), 0);
  EXPECT_EQ(router.to(0, old), kNowhere);
  EXPECT_EQ(counters.get(ForwardingCounter::kHopLimit), 2U);
}

TEST(RouterForwarding, DropsWhatIsNoPacket) {
  ForwardingCounters counters;
  RouterForwarding router(counters, std::nullopt);
  Octets cut = ipv6(Gid{}, 9);
  cut.resize(59);
  Octets bad_sum(20);
  bad_sum[0] = std::byte{0x45};
  Octets none(0);
  Octets other(40, std::byte{0x75});
  for (Octets* packet : {&cut, &bad_sum, &none, &other})
    EXPECT_EQ(router.to(0, *packet), kNowhere);
  EXPECT_EQ(counters.get(ForwardingCounter::kMalformed), 4U);
}

}  // namespace
}  // namespace weft::wan
