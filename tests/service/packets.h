// SPDX-License-Identifier: Apache-2.0
// Packets for tests of services, sealed as their senders would.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/mad.h"
#include "wire/packet.h"
#include "wire/reth.h"

namespace weft::service::test {

using Buffer = std::vector<std::byte>;

// fe80::n
inline Gid gid(std::uint16_t n) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  return Gid{bytes};
}

struct Made {
  Lid slid{1};
  Lid dlid{2};
  Sl sl{};
  Vl vl{};
  std::optional<std::pair<Gid, Gid>> gids{};  // from, to
  std::uint8_t hops = 1;                      // with gids
  wire::Bth bth{.opcode = wire::Opcode::rc_send_only,
                .pkey = kDefaultPKey,
                .dest_qp = Qpn{0x123456},
                .psn = Psn{7}};
  wire::Deth deth{.qkey = QKey{0x1234}, .src_qp = Qpn{0x42}};  // where the opcode has one
  wire::Reth reth{};
  Buffer payload{};
};

inline Buffer make(const Made& made) {
  const wire::OpcodeInfo& opcode = wire::info(made.bth.opcode);
  const std::uint8_t pad = wire::pad_count_for(made.payload.size());
  const std::size_t transport =
      wire::Bth::kSize + opcode.headers_size + made.payload.size() + pad + wire::kIcrcSize;
  const std::size_t before = wire::Lrh::kSize + (made.gids ? wire::Grh::kSize : 0);
  Buffer bytes(before + transport + wire::kVcrcSize);
  wire::Lrh{.vl = made.vl,
            .sl = made.sl,
            .next_header = made.gids ? wire::Lnh::iba_global : wire::Lnh::iba_local,
            .dlid = made.dlid,
            .packet_words = static_cast<std::uint16_t>((before + transport) / 4),
            .slid = made.slid}
      .write(bytes);
  if (made.gids) {
    wire::Grh{.payload_length = static_cast<std::uint16_t>(transport),
              .hop_limit = made.hops,
              .sgid = made.gids->first,
              .dgid = made.gids->second}
        .write(MutableBytes(bytes).subspan(wire::Lrh::kSize));
  }
  wire::Bth bth = made.bth;
  bth.pad_count = pad;
  std::size_t at = before;
  bth.write(MutableBytes(bytes).subspan(at));
  at += wire::Bth::kSize;
  if (opcode.has(wire::kRdeth)) at += 4;
  if (opcode.has(wire::kDeth)) {
    made.deth.write(MutableBytes(bytes).subspan(at));
    at += wire::Deth::kSize;
  }
  if (opcode.has(wire::kXrceth)) at += 4;
  if (opcode.has(wire::kReth)) made.reth.write(MutableBytes(bytes).subspan(at));
  at = before + wire::Bth::kSize + opcode.headers_size;
  std::copy(made.payload.begin(), made.payload.end(), bytes.begin() + static_cast<long>(at));
  wire::seal_link_packet(bytes);
  return bytes;
}

inline Made datagram(Buffer payload, Qpn to = Qpn{0x55}) {
  Made made;
  made.bth.opcode = wire::Opcode::ud_send_only;
  made.bth.dest_qp = to;
  made.payload = std::move(payload);
  return made;
}

// A datagram to QP1.
template <class Message>
inline Made management(wire::MgmtClass mgmt_class, std::uint8_t version, const Message& message) {
  Buffer mad(wire::kMadSize);
  wire::MadHeader{.mgmt_class = mgmt_class,
                  .class_version = version,
                  .method = wire::MadMethod::kSend,
                  .transaction_id = 0x77,
                  .attribute_id = static_cast<std::uint16_t>(Message::kId)}
      .write(mad);
  message.write(MutableBytes(mad).subspan(wire::MadHeader::kSize));
  Made made = datagram(std::move(mad), kQp1);
  made.deth = {.qkey = kGsiQKey, .src_qp = kQp1};
  return made;
}
template <class Message>
inline Made cm(const Message& message) {
  return management(wire::MgmtClass::kCommMgt, 2, message);
}

// 20 bytes of IPv4 before `rest`.
inline Buffer ipv4(std::uint8_t protocol, std::span<const std::byte> rest,
                   std::uint16_t fragment = 0, std::span<const std::byte> options = {}) {
  Buffer packet(wire::kIpv4HeaderSize + options.size() + rest.size());
  std::byte* const at = packet.data();
  wire::store_u8(at, static_cast<std::uint8_t>(0x45 + options.size() / 4));
  wire::store_be16(at + 2, static_cast<std::uint16_t>(packet.size()));
  wire::store_be16(at + 6, fragment);
  wire::store_u8(at + 8, 64);
  wire::store_u8(at + 9, protocol);
  wire::store_be32(at + 12, 0x0A000001);
  wire::store_be32(at + 16, 0x0A000002);
  std::copy(options.begin(), options.end(), packet.begin() + wire::kIpv4HeaderSize);
  std::copy(rest.begin(), rest.end(),
            packet.begin() + static_cast<long>(wire::kIpv4HeaderSize + options.size()));
  return packet;
}

inline Buffer ipv6(std::uint8_t next, std::span<const std::byte> rest) {
  Buffer packet(wire::kIpv6HeaderSize + rest.size());
  std::byte* const at = packet.data();
  wire::store_u8(at, 0x60);
  wire::store_be16(at + 4, static_cast<std::uint16_t>(rest.size()));
  wire::store_u8(at + 6, next);
  wire::store_u8(at + 7, 64);
  wire::store_gid(at + 8, gid(0x11));
  wire::store_gid(at + 24, gid(0x22));
  std::copy(rest.begin(), rest.end(), packet.begin() + wire::kIpv6HeaderSize);
  return packet;
}

inline Buffer tcp(std::uint16_t from, std::uint16_t to, std::uint8_t flags = 2) {
  Buffer header(20);
  wire::store_be16(header.data(), from);
  wire::store_be16(header.data() + 2, to);
  wire::store_u8(header.data() + 12, 0x50);
  wire::store_u8(header.data() + 13, flags);
  return header;
}

inline Buffer udp(std::uint16_t from, std::uint16_t to, std::size_t payload = 4) {
  Buffer header(8 + payload);
  wire::store_be16(header.data(), from);
  wire::store_be16(header.data() + 2, to);
  wire::store_be16(header.data() + 4, static_cast<std::uint16_t>(header.size()));
  return header;
}

// Behind the encapsulation header of IPoIB.
inline Made ipoib(std::uint16_t type, std::span<const std::byte> packet) {
  Buffer payload(4 + packet.size());
  wire::store_be16(payload.data(), type);
  std::copy(packet.begin(), packet.end(), payload.begin() + 4);
  return datagram(std::move(payload));
}

inline Buffer hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  Buffer bytes;
  for (std::size_t i = 0; i + 1 < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    i += 2;
  }
  return bytes;
}

}  // namespace weft::service::test
