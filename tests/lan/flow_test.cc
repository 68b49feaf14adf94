// SPDX-License-Identifier: Apache-2.0
#include "lan/flow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "wire/endian.h"

namespace weft::lan {
namespace {

using Frame = std::vector<std::byte>;

struct Packet {
  std::uint8_t protocol = 6;
  std::uint16_t from = 1000;
  std::uint16_t to = 80;
  std::uint16_t fragment = 0;  // flags and offset
  std::uint8_t host = 1;
  bool tagged = false;
  std::uint8_t content = 0;
};

Frame ipv4(const Packet& packet) {
  Frame frame(18 + 20 + 100, std::byte{packet.content});
  const std::size_t tag = packet.tagged ? 4 : 0;
  std::memset(frame.data(), 2, 12);
  if (packet.tagged) wire::store_be32(frame.data() + 12, 0x8100'0005);
  wire::store_be16(frame.data() + 12 + tag, 0x0800);
  std::byte* const ip = frame.data() + 14 + tag;
  std::memset(ip, 0, 20);
  wire::store_u8(ip, 0x45);
  wire::store_be16(ip + 6, packet.fragment);
  wire::store_u8(ip + 9, packet.protocol);
  wire::store_be32(ip + 12, 0x0A00'0001);
  wire::store_be32(ip + 16, 0x0A00'0100U + packet.host);
  wire::store_be16(ip + 20, packet.from);
  wire::store_be16(ip + 22, packet.to);
  return frame;
}

Frame ipv6(std::uint8_t host, std::uint16_t from) {
  Frame frame(14 + 40 + 20);
  wire::store_be16(frame.data() + 12, 0x86DD);
  std::byte* const ip = frame.data() + 14;
  wire::store_u8(ip, 0x60);
  wire::store_u8(ip + 6, 17);
  wire::store_u8(ip + 39, host);
  wire::store_be16(ip + 40, from);
  return frame;
}

TEST(Flow, IsOfAConnectionWhateverItsFramesHave) {
  EXPECT_EQ(flow_of(ipv4({})), flow_of(ipv4({.content = 9})));
  std::set<std::uint32_t> flows;
  for (std::uint16_t port = 0; port < 100; ++port)
    flows.insert(flow_of(ipv4({.from = port})));
  for (std::uint16_t port = 0; port < 100; ++port)
    flows.insert(flow_of(ipv4({.to = static_cast<std::uint16_t>(1000 + port), .tagged = true})));
  for (std::uint8_t host = 2; host < 102; ++host)
    flows.insert(flow_of(ipv4({.host = host})));
  for (std::uint16_t port = 0; port < 100; ++port)
    flows.insert(flow_of(ipv6(1, port)));
  for (std::uint8_t host = 2; host < 102; ++host)
    flows.insert(flow_of(ipv6(host, 0)));
  EXPECT_EQ(flows.size(), 500u);
  // Over as few queues as there may be, about as many each.
  std::vector<int> queues(4);
  for (const std::uint32_t flow : flows)
    ++queues[flow % queues.size()];
  for (const int count : queues)
    EXPECT_GT(count, 80);
}

TEST(Flow, OfFragmentsIsThatOfTheirHosts) {
  const std::uint32_t first = flow_of(ipv4({.protocol = 17, .fragment = 0x2000}));
  EXPECT_EQ(first, flow_of(ipv4({.protocol = 17, .from = 7, .to = 8, .fragment = 0x00B9})));
  EXPECT_NE(first, flow_of(ipv4({.protocol = 17, .fragment = 0x2000, .host = 2})));
  // Other protocols have no ports.
  EXPECT_EQ(flow_of(ipv4({.protocol = 1})), flow_of(ipv4({.protocol = 1, .from = 7})));
}

TEST(Flow, OfWhatIsCutOffIsRead) {
  const Frame frame = ipv4({});
  for (std::size_t size = 0; size < frame.size(); ++size)
    static_cast<void>(flow_of(Bytes(frame).first(size)));
  EXPECT_EQ(flow_of({}), 0u);
}

}  // namespace
}  // namespace weft::lan
