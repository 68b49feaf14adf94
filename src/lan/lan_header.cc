// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_header.h"

#include <cassert>
#include <optional>

#include "wire/endian.h"

namespace weft::lan {
namespace {

constexpr std::uint8_t kLanHeaderEcn = 0x80;
constexpr std::uint8_t kLanHeaderNeedsChecksum = 0x40;
constexpr std::uint8_t kChecksumValid = 0x20;
constexpr std::uint8_t kReserved = 0x18;
constexpr std::uint8_t kGsoType = 0x07;

std::uint8_t offload_bits(const Offload& offload) {
  return static_cast<std::uint8_t>(
      (offload.ecn ? kLanHeaderEcn : 0) | (offload.needs_checksum ? kLanHeaderNeedsChecksum : 0) |
      (offload.checksum_valid ? kChecksumValid : 0) | static_cast<std::uint8_t>(offload.gso));
}

Offload read_offload(const std::byte* at) {
  const std::uint8_t bits = wire::load_u8(at + 3);
  return {.gso = static_cast<Offload::Gso>(bits & kGsoType),
          .ecn = (bits & kLanHeaderEcn) != 0,
          .needs_checksum = (bits & kLanHeaderNeedsChecksum) != 0,
          .checksum_valid = (bits & kChecksumValid) != 0,
          .gso_size = wire::load_be16(at + 16),
          .header_length = wire::load_be16(at + 18),
          .checksum_start = wire::load_be16(at + 20),
          .checksum_offset = wire::load_be16(at + 22)};
}

std::optional<MessageKind> read_kind(std::uint8_t version_and_kind) {
  if (version_and_kind >> 4 != LanHeader::kVersion) return std::nullopt;
  const auto kind = static_cast<MessageKind>(version_and_kind & 0xF);
  if (kind != MessageKind::kFrame && kind != MessageKind::kGroups) return std::nullopt;
  return kind;
}

bool can_be(const LanHeader& header, std::size_t part) {
  if (header.total == 0 || header.total > kLongestFrame) return false;
  if (part == 0 || header.offset % LanHeader::kUnit != 0) return false;
  if (header.offset >= header.total || part > header.total - header.offset) return false;
  const bool last = header.offset + part == header.total;
  if (!last && part % LanHeader::kUnit != 0) return false;
  return header.offload.fits(header.total);
}

}  // namespace

bool Offload::fits(std::size_t frame) const {
  if (needs_checksum && std::size_t{checksum_start} + checksum_offset + 2 > frame) return false;
  if (gso == Gso::kNone) return !ecn;
  if (gso != Gso::kTcpv4 && gso != Gso::kTcpv6 && gso != Gso::kUdp) return false;
  return gso_size != 0 && header_length <= frame && !(ecn && gso == Gso::kUdp);
}

void LanHeader::write(MutableBytes out) const {
  assert(out.size() >= kSize && total != 0 && total <= kLongestFrame && offset < total);
  std::byte* const at = out.data();
  wire::store_be16(at, kMark);
  wire::store_u8(at + 2, static_cast<std::uint8_t>(kVersion << 4 | static_cast<unsigned>(kind)));
  wire::store_u8(at + 3, offload_bits(offload));
  wire::store_be32(at + 4, number);
  wire::store_be32(at + 8, total);
  wire::store_be32(at + 12, offset);
  wire::store_be16(at + 16, offload.gso_size);
  wire::store_be16(at + 18, offload.header_length);
  wire::store_be16(at + 20, offload.checksum_start);
  wire::store_be16(at + 22, offload.checksum_offset);
}

tl::expected<LanMessage, NoMessage> LanMessage::parse(Bytes message) {
  ByteCursor cursor(message);
  const auto head = cursor.take(LanHeader::kSize);
  if (!head) return tl::unexpected(NoMessage::kOther);
  const std::byte* const at = head->data();
  if (wire::load_be16(at) != LanHeader::kMark) return tl::unexpected(NoMessage::kOther);
  const auto kind = read_kind(wire::load_u8(at + 2));
  if (!kind) return tl::unexpected(NoMessage::kVersion);
  LanMessage out{.header = {.kind = *kind,
                            .offload = read_offload(at),
                            .number = wire::load_be32(at + 4),
                            .total = wire::load_be32(at + 8),
                            .offset = wire::load_be32(at + 12)},
                 .part = cursor.rest()};
  const bool reserved = (wire::load_u8(at + 3) & kReserved) != 0;
  if (reserved || !can_be(out.header, out.part.size())) {
    return tl::unexpected(NoMessage::kMalformed);
  }
  return out;
}

}  // namespace weft::lan
