// SPDX-License-Identifier: Apache-2.0
#include "lan/group_message.h"

#include <array>
#include <cstring>

#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::lan {
namespace {

constexpr std::size_t kIgmpSize = 8;  // of versions 1 and 2, and before records of 3
constexpr std::uint8_t kGroupMessageIgmpQuery = 0x11;  // RFC 3376, 4
constexpr std::uint8_t kIgmpReport1 = 0x12;
constexpr std::uint8_t kIgmpReport2 = 0x16;
constexpr std::uint8_t kIgmpLeave = 0x17;
constexpr std::uint8_t kIgmpReport3 = 0x22;

constexpr std::size_t kMldSize = 24;                 // of version 1
constexpr std::size_t kMld2Head = 8;                 // before records of 2
constexpr std::uint8_t kGroupMessageMldQuery = 130;  // RFC 3810, 5
constexpr std::uint8_t kMldDone = 132;
constexpr std::uint8_t kMldReport2 = 143;

// RFC 3376, 4.2.12: what a record is of.
constexpr std::uint8_t kModeIsInclude = 1;
constexpr std::uint8_t kBlockOldSources = 6;
constexpr std::uint8_t kChangeToInclude = 3;

// The message of a packet, whole and with a right checksum; empty: there is none.
Bytes igmp_of(Bytes packet) {
  if (packet.size() < wire::kIpv4HeaderSize) return {};
  const std::byte* const at = packet.data();
  const std::size_t header = (wire::load_u8(at) & 0xFU) * 4;
  const std::size_t total = wire::load_be16(at + 2);
  const bool fragment = (wire::load_be16(at + 6) & 0x3FFF) != 0;
  if (header < wire::kIpv4HeaderSize || fragment || total > packet.size()) return {};
  if (total < header + kIgmpSize || (total - header) % 2 != 0) return {};
  const Bytes message = packet.subspan(header, total - header);
  return wire::internet_checksum(message) == 0 ? message : Bytes{};
}

// RFC 8200, 8.1: the message's checksum is also over the addresses.
bool checksum_is_right(const std::byte* ip, Bytes message) {
  std::array<std::byte, 40> pseudo{};
  std::memcpy(pseudo.data(), ip + 8, 32);
  wire::store_be32(pseudo.data() + 32, static_cast<std::uint32_t>(message.size()));
  wire::store_u8(pseudo.data() + 39, wire::ip_protocol::kIcmpv6);
  const std::uint32_t sum =
      std::uint32_t{static_cast<std::uint16_t>(~wire::internet_checksum(pseudo))} +
      static_cast<std::uint16_t>(~wire::internet_checksum(message));
  return sum % 0xFFFF == 0 && sum != 0;
}

struct Mld {
  bool is_one = false;
  Bytes message{};  // empty: it cannot be
};

// It stands behind a header of hop-by-hop options, among which is a router alert, and nowhere else
// (RFC 3810, 5).
Mld mld_of(Bytes packet) {
  constexpr std::size_t kOptions = wire::kIpv6HeaderSize;
  if (packet.size() < kOptions + 8 || wire::load_u8(packet.data() + 6) != 0) return {};
  const std::byte* const at = packet.data();
  const std::size_t options = (wire::load_u8(at + kOptions + 1) + 1U) * 8;
  const std::size_t length = wire::load_be16(at + 4);
  if (wire::load_u8(at + kOptions) != wire::ip_protocol::kIcmpv6) return {};
  if (kOptions + options >= packet.size()) return {};
  const std::uint8_t type = wire::load_u8(at + kOptions + options);
  if ((type < kGroupMessageMldQuery || type > kMldDone) && type != kMldReport2) return {};
  Mld out{.is_one = true};
  // Of this link only: a source and a hop limit that no router lets pass.
  const bool local = wire::load_be16(at + 8) >> 6 == 0xFE80 >> 6 && wire::load_u8(at + 7) == 1;
  // A host that has no address yet reports from none (RFC 3810, 5.2.13).
  const bool nobody = (wire::load_be64(at + 8) | wire::load_be64(at + 16)) == 0;
  if (!(local || (nobody && type != kGroupMessageMldQuery)) || length % 2 != 0) return out;
  if (length < options + kMld2Head || length > packet.size() - kOptions) return out;
  const Bytes message = packet.subspan(kOptions + options, length - options);
  if (checksum_is_right(at, message)) out.message = message;
  return out;
}

}  // namespace

bool is_reported_group(const MacAddress& group) {
  if (group[0] == 0x33 && group[1] == 0x33) {
    return group != MacAddress{0x33, 0x33, 0, 0, 0, 1};
  }
  if (group[0] != 0x01 || group[1] != 0x00 || group[2] != 0x5E || group[3] > 0x7F) return false;
  return group[3] != 0 || group[4] != 0;
}

GroupMessage GroupMessage::read(const EthernetFrame& frame) {
  GroupMessage out;
  if (frame.type == EthernetFrame::kIpv4) {
    if (frame.payload.size() < wire::kIpv4HeaderSize ||
        wire::load_u8(frame.payload.data()) >> 4 != 4 ||
        wire::load_u8(frame.payload.data() + 9) != wire::ip_protocol::kIgmp) {
      return out;
    }
    out.kind_ = Kind::kMalformed;
    const Bytes message = igmp_of(frame.payload);
    if (!message.empty()) out.read_igmp(message, wire::load_be32(frame.payload.data() + 12) != 0);
  } else if (frame.type == EthernetFrame::kIpv6) {
    const Mld mld = mld_of(frame.payload);
    if (!mld.is_one) return out;
    out.kind_ = Kind::kMalformed;
    out.ipv6_ = true;
    if (!mld.message.empty()) out.read_mld(mld.message);
  }
  return out;
}

void GroupMessage::read_igmp(Bytes message, bool from_somebody) {
  switch (wire::load_u8(message.data())) {
    case kGroupMessageIgmpQuery:
      kind_ = from_somebody ? Kind::kQuery : Kind::kNone;
      return;
    case kIgmpReport1:
    case kIgmpReport2:
      return take(Form::kWanted, message.subspan(4), 1);
    case kIgmpLeave:
      return take(Form::kUnwanted, message.subspan(4), 1);
    case kIgmpReport3:
      return take(Form::kRecords, message.subspan(kIgmpSize), wire::load_be16(message.data() + 6));
    default:
      kind_ = Kind::kNone;
  }
}

void GroupMessage::read_mld(Bytes message) {
  const std::uint8_t type = wire::load_u8(message.data());
  if (type == kMldReport2) {
    return take(Form::kRecords, message.subspan(kMld2Head), wire::load_be16(message.data() + 6));
  }
  if (message.size() < kMldSize) return;
  if (type == kGroupMessageMldQuery) {
    kind_ = Kind::kQuery;
  } else {
    take(type == kMldDone ? Form::kUnwanted : Form::kWanted, message.subspan(8), 1);
  }
}

// All of the records are looked at once, so that later none need be doubted.
void GroupMessage::take(Form form, Bytes records, unsigned count) {
  form_ = form;
  records_ = records;
  std::size_t at = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t size = record_at(at).size;
    if (size == 0) return;
    at += size;
  }
  count_ = count;
  kind_ = Kind::kReport;
}

// Of the group alone, whose address begins there.
GroupMessage::Record GroupMessage::group_at(std::size_t at) const {
  const std::size_t size = ipv6_ ? 16 : 4;
  if (at > records_.size() || records_.size() - at < size) return {};
  const std::byte* const from = records_.data() + at;
  const std::uint8_t first = wire::load_u8(from);
  if (ipv6_ ? first != 0xFF : first >> 4 != 0xE) return {};
  Record out{.says = Record::kWanted, .group = {0x33, 0x33}, .size = size};
  std::memcpy(out.group.data() + 2, from + size - 4, 4);
  if (!ipv6_) {  // RFC 1112, 6.4: the low 23 bits
    out.group = {0x01,         0x00,        0x5E, static_cast<std::uint8_t>(out.group[3] & 0x7F),
                 out.group[4], out.group[5]};
  }
  return out;
}

// RFC 3376, 4.2.4, and RFC 3810, 5.2: kind, length of auxiliary data in words, number of sources,
// group, sources, auxiliary data.
GroupMessage::Record GroupMessage::record_at(std::size_t at) const {
  if (form_ != Form::kRecords) {
    Record alone = group_at(at);
    if (form_ == Form::kUnwanted) alone.says = Record::kUnwanted;
    return alone;
  }
  if (at > records_.size() || records_.size() - at < 4) return {};
  const std::byte* const from = records_.data() + at;
  const std::uint8_t kind = wire::load_u8(from);
  const std::size_t sources = wire::load_be16(from + 2);
  Record out = group_at(at + 4);
  if (out.size == 0 || kind < kModeIsInclude || kind > kBlockOldSources) return {};
  out.size = 4 + out.size * (1 + sources) + wire::load_u8(from + 1) * std::size_t{4};
  if (out.size > records_.size() - at) return {};
  // Linux says so too of the last source of a group; who wants others of it says so when asked.
  if (kind == kBlockOldSources) out.says = Record::kUnwanted;
  if (kind == kChangeToInclude && sources == 0) out.says = Record::kUnwanted;
  if (kind == kModeIsInclude && sources == 0) out.says = Record::kNothing;
  return out;
}

}  // namespace weft::lan
