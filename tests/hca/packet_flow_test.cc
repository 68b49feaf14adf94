// SPDX-License-Identifier: Apache-2.0
#include "hca/packet_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/grh.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::hca::test {
namespace {

using Buffer = std::vector<std::byte>;

Gid gid(std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[15] = last;
  return Gid(bytes);
}

void append(Buffer& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// A packet as it lies on a link; the CRCs do not matter here.
struct FlowPacket {
  wire::Opcode opcode = wire::Opcode::ud_send_only;
  Lid slid{1}, dlid{2};
  Sl sl{};
  Vl vl{};
  bool global = false;
  Gid sgid = gid(1), dgid = gid(2);
  std::uint32_t flow_label = 0;
  Qpn destination{0x111}, source{0x222};
  PKey pkey = kDefaultPKey;
  Psn psn{};
  QKey qkey{};
  Buffer payload{};

  [[nodiscard]] Buffer bytes() const {
    Buffer out(wire::Lrh::kSize);
    if (global) {
      out.resize(out.size() + wire::Grh::kSize);
      wire::Grh{.flow_label = flow_label, .sgid = sgid, .dgid = dgid}.write(
          MutableBytes(out).subspan(wire::Lrh::kSize));
    }
    const std::uint8_t pad = wire::pad_count_for(payload.size());
    std::size_t at = out.size();
    out.resize(at + wire::Bth::kSize + wire::info(opcode).headers_size);
    wire::Bth{.opcode = opcode, .pad_count = pad, .pkey = pkey, .dest_qp = destination, .psn = psn}
        .write(MutableBytes(out).subspan(at));
    at += wire::Bth::kSize;
    if (wire::info(opcode).has(wire::kDeth)) {
      if (wire::info(opcode).has(wire::kRdeth)) at += 4;
      wire::Deth{.qkey = qkey, .src_qp = source}.write(MutableBytes(out).subspan(at));
    }
    append(out, payload);
    out.resize(out.size() + pad + wire::kIcrcSize);
    wire::Lrh{.vl = vl,
              .sl = sl,
              .next_header = global ? wire::Lnh::iba_global : wire::Lnh::iba_local,
              .dlid = dlid,
              .packet_words = static_cast<std::uint16_t>(out.size() / 4),
              .slid = slid}
        .write(out);
    out.resize(out.size() + wire::kVcrcSize);
    return out;
  }
  [[nodiscard]] PacketFlow flow() const { return flow_of(bytes(), {}); }
};

// An IP packet of UDP or what `protocol` says.
struct Ip {
  int version = 4;
  std::uint8_t protocol = 17;
  std::uint8_t source = 1, destination = 2;  // ends of the addresses
  std::uint16_t source_port = 1000, destination_port = 2000;
  std::uint16_t fragment = 0;
  std::uint8_t options = 0;  // of IPv4, words
  std::size_t data = 12;

  [[nodiscard]] Buffer bytes() const {
    const std::size_t header = version == 4 ? 20 + std::size_t{options} * 4 : 40;
    Buffer out(header + 4 + data);
    std::byte* const at = out.data();
    if (version == 4) {
      wire::store_u8(at, static_cast<std::uint8_t>(0x45 + options));
      wire::store_be16(at + 2, static_cast<std::uint16_t>(out.size()));
      wire::store_be16(at + 6, fragment);
      wire::store_u8(at + 9, protocol);
      wire::store_u8(at + 15, source);
      wire::store_u8(at + 19, destination);
    } else {
      wire::store_u8(at, 0x60);
      wire::store_be16(at + 4, static_cast<std::uint16_t>(out.size() - 40));
      wire::store_u8(at + 6, protocol);
      wire::store_u8(at + 23, source);
      wire::store_u8(at + 39, destination);
    }
    wire::store_be16(at + header, source_port);
    wire::store_be16(at + header + 2, destination_port);
    return out;
  }
};

std::uint16_t type_of(const Ip& ip) {
  return ip.version == 4 ? 0x0800 : 0x86DD;
}

Buffer ipoib(const Ip& ip) {
  Buffer out(4);
  wire::store_be16(out.data(), type_of(ip));
  append(out, ip.bytes());
  return out;
}

Buffer eoib(const Ip& ip, int tags = 0) {
  Buffer out(4 + 12);
  wire::store_u8(out.data(), 0xC5);
  for (int tag = 0; tag < tags; ++tag) {
    out.resize(out.size() + 4);
    wire::store_be16(out.data() + out.size() - 4, tag == 0 ? 0x88A8 : 0x8100);
  }
  out.resize(out.size() + 2);
  wire::store_be16(out.data() + out.size() - 2, type_of(ip));
  append(out, ip.bytes());
  return out;
}

PacketFlow of_datagram(Buffer payload) {
  return FlowPacket{.payload = std::move(payload)}.flow();
}

std::uint32_t be24(const PacketFlow& flow, std::size_t at) {
  return wire::load_be24(flow.bytes.data() + at);
}

TEST(PacketFlow, IsThatOfLidsAndDestinationOfAConnection) {
  const PacketFlow flow =
      FlowPacket{.opcode = wire::Opcode::rc_write_middle, .source = Qpn{}}.flow();
  EXPECT_EQ(wire::load_be16(flow.bytes.data() + PacketFlow::kSlid), 1);
  EXPECT_EQ(wire::load_be16(flow.bytes.data() + PacketFlow::kDlid), 2);
  EXPECT_EQ(be24(flow, PacketFlow::kDestinationQp), 0x111u);
  EXPECT_EQ(be24(flow, PacketFlow::kSourceQp), 0u);
  EXPECT_FALSE(flow.global);
  EXPECT_FALSE(flow.inner);
}

TEST(PacketFlow, KnowsTheSourceOfDatagrams) {
  EXPECT_EQ(be24(FlowPacket{}.flow(), PacketFlow::kSourceQp), 0x222u);
  const PacketFlow reliable = FlowPacket{.opcode = wire::Opcode::rd_send_first}.flow();
  EXPECT_EQ(be24(reliable, PacketFlow::kSourceQp), 0x222u);
  // A message of many packets, of which the first alone could have headers.
  EXPECT_FALSE(
      (FlowPacket{.opcode = wire::Opcode::rd_send_first, .payload = ipoib({})}.flow().inner));
}

// Whatever differs from packet to packet of one flow must not count, or its order were lost.
TEST(PacketFlow, IsTheSameForAllPacketsOfAConnection) {
  const FlowPacket first{.opcode = wire::Opcode::rc_write_first, .global = true};
  using Change = std::function<void(FlowPacket&)>;
  const std::vector<Change> changes{
      [](FlowPacket& p) { p.opcode = wire::Opcode::rc_write_last; },
      [](FlowPacket& p) { p.opcode = wire::Opcode::rc_acknowledge; },
      [](FlowPacket& p) { p.opcode = wire::Opcode::rc_send_only_imm; },
      [](FlowPacket& p) { p.psn = Psn{77}; },
      [](FlowPacket& p) { p.vl = Vl{3}; },
      [](FlowPacket& p) { p.sl = Sl{3}; },
      [](FlowPacket& p) { p.pkey = PKey{0x8001}; },
      [](FlowPacket& p) { p.flow_label = 9; },
      [](FlowPacket& p) { p.payload.resize(1'023, std::byte{7}); },
      // What looks like IP inside of a connection's message is there in its first packet only.
      [](FlowPacket& p) { p.payload = ipoib({}); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FlowPacket other = first;
    changes[i](other);
    EXPECT_EQ(other.flow(), first.flow()) << i;
  }
}

TEST(PacketFlow, DiffersWithEachAddress) {
  const FlowPacket first{.global = true};
  using Change = std::function<void(FlowPacket&)>;
  const std::vector<Change> changes{
      [](FlowPacket& p) { p.slid = Lid{9}; },        [](FlowPacket& p) { p.dlid = Lid{9}; },
      [](FlowPacket& p) { p.destination = Qpn{9}; }, [](FlowPacket& p) { p.source = Qpn{9}; },
      [](FlowPacket& p) { p.sgid = gid(9); },        [](FlowPacket& p) { p.dgid = gid(9); },
      [](FlowPacket& p) { p.global = false; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FlowPacket other = first;
    changes[i](other);
    EXPECT_NE(other.flow(), first.flow()) << i;
  }
}

TEST(PacketFlow, LooksIntoIpoib) {
  for (const int version : {4, 6}) {
    const Ip first{.version = version};
    const PacketFlow flow = of_datagram(ipoib(first));
    ASSERT_TRUE(flow.inner) << version;
    EXPECT_EQ(std::to_integer<int>(flow.bytes[PacketFlow::kIpVersion]), version);
    EXPECT_EQ(std::to_integer<int>(flow.bytes[PacketFlow::kProtocol]), 17);
    EXPECT_EQ(wire::load_be16(flow.bytes.data() + PacketFlow::kPorts), 1000);
    EXPECT_EQ(wire::load_be16(flow.bytes.data() + PacketFlow::kPorts + 2), 2000);
    for (const Ip& other :
         {Ip{.version = version, .source = 9}, Ip{.version = version, .destination = 9},
          Ip{.version = version, .source_port = 9}, Ip{.version = version, .destination_port = 9},
          Ip{.version = version, .protocol = 6}}) {
      EXPECT_NE(of_datagram(ipoib(other)), flow);
    }
    EXPECT_EQ(of_datagram(ipoib({.version = version, .data = 1'400})), flow);
  }
}

TEST(PacketFlow, SkipsTheOptionsOfIpv4) {
  EXPECT_EQ(of_datagram(ipoib({.options = 10})), of_datagram(ipoib({})));
}

TEST(PacketFlow, LooksIntoEoibWithAndWithoutTags) {
  for (const int version : {4, 6}) {
    const PacketFlow flow = of_datagram(ipoib({.version = version}));
    for (const int tags : {0, 1, 2})
      EXPECT_EQ(of_datagram(eoib({.version = version}, tags)), flow) << tags;
    EXPECT_FALSE(of_datagram(eoib({.version = version}, 3)).inner);
  }
  // Ethernet pads frames that are short.
  Buffer padded = eoib({.data = 0});
  padded.resize(4 + 60);
  EXPECT_EQ(of_datagram(padded), of_datagram(ipoib({.data = 0})));
  // A part of a frame has its headers or has not: none counts.
  Buffer part = eoib({});
  part[3] = std::byte{1};
  EXPECT_FALSE(of_datagram(part).inner);
}

TEST(PacketFlow, HasNoPortsForFragmentsAndOtherProtocols) {
  const PacketFlow whole = of_datagram(ipoib({}));
  const PacketFlow first = of_datagram(ipoib({.fragment = 0x2000}));  // more follow
  EXPECT_NE(first, whole);
  EXPECT_EQ(of_datagram(ipoib({.source_port = 5, .fragment = 100})), first);
  const Ip icmp{.protocol = 1};
  EXPECT_EQ(of_datagram(ipoib({.protocol = 1, .source_port = 5})), of_datagram(ipoib(icmp)));
}

TEST(PacketFlow, TakesNoOtherDatagramForIp) {
  const PacketFlow plain = FlowPacket{}.flow();
  const auto spoilt = [](Buffer payload, std::size_t at, std::uint8_t value) {
    payload[at] = std::byte{value};
    return payload;
  };
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 2, 1)), plain);     // reserved
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 1, 6)), plain);     // ARP
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 4, 0x65)), plain);  // version
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 4, 0x44)), plain);  // header too short
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 4, 0x4F)), plain);  // and too long
  EXPECT_EQ(of_datagram(spoilt(ipoib({}), 7, 35)), plain);    // length
  EXPECT_EQ(of_datagram(spoilt(ipoib({.version = 6}), 9, 1)), plain);
  EXPECT_EQ(of_datagram(Buffer(64, std::byte{0xAA})), plain);
  EXPECT_EQ(of_datagram({}), plain);
}

TEST(PacketFlow, LooksIntoRawPackets) {
  const auto raw = [](wire::Lnh next, std::uint16_t type, const Ip& ip) {
    Buffer out(wire::Lrh::kSize);
    if (next == wire::Lnh::raw) {
      out.resize(out.size() + 4);
      wire::store_be16(out.data() + out.size() - 2, type);
    }
    append(out, ip.bytes());
    wire::Lrh{.next_header = next,
              .dlid = Lid{2},
              .packet_words = static_cast<std::uint16_t>((out.size() + 3) / 4),
              .slid = Lid{1}}
        .write(out);
    return flow_of(out, {});
  };
  const PacketFlow six = raw(wire::Lnh::raw_ipv6, 0, {.version = 6});
  EXPECT_TRUE(six.inner);
  EXPECT_EQ(be24(six, PacketFlow::kDestinationQp), 0u);
  EXPECT_EQ(raw(wire::Lnh::raw, 0x86DD, {.version = 6}), six);
  EXPECT_TRUE(raw(wire::Lnh::raw, 0x0800, {}).inner);
  EXPECT_FALSE(raw(wire::Lnh::raw, 0x88B5, {}).inner);
}

// A packet lies in two stretches, cut anywhere behind the transport headers.
TEST(PacketFlow, DoesNotDependOnHowThePacketIsCut) {
  for (const Buffer& payload : {ipoib({}), ipoib({.version = 6, .data = 200}), eoib({}, 2)}) {
    const Buffer bytes = FlowPacket{.global = true, .payload = payload}.bytes();
    const PacketFlow whole = flow_of(bytes, {});
    ASSERT_TRUE(whole.inner);
    for (std::size_t at = 8 + 40 + 12 + 8; at <= bytes.size(); ++at)
      ASSERT_EQ(flow_of(Bytes(bytes).first(at), Bytes(bytes).subspan(at)), whole) << at;
  }
}

TEST(PacketFlow, OfAPacketThatEndsEarlyIsWhatIsThere) {
  constexpr std::size_t kHeaders = 8 + 40 + 12 + 8 + 4;
  for (const std::uint8_t options : {std::uint8_t{0}, std::uint8_t{10}}) {
    const std::size_t ip = 20 + std::size_t{options} * 4;
    const FlowPacket packet{.global = true, .payload = ipoib({.options = options})};
    const Buffer bytes = packet.bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // Of just that size, for sanitizers.
      const Buffer front(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const PacketFlow flow = flow_of(front, {});
      EXPECT_EQ(flow.global, size >= 48) << size;
      EXPECT_EQ(flow.inner, size >= kHeaders + ip) << size;
    }
  }
}

}  // namespace
}  // namespace weft::hca::test
