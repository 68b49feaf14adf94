// SPDX-License-Identifier: Apache-2.0
#include "lan/virtio_header.h"

#include "wire/endian.h"

namespace weft::lan {
namespace {

constexpr std::uint8_t kVirtioHeaderNeedsChecksum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
constexpr std::uint8_t kDataValid = 2;                  // VIRTIO_NET_HDR_F_DATA_VALID
constexpr std::uint8_t kVirtioHeaderEcn = 0x80;         // VIRTIO_NET_HDR_GSO_ECN

}  // namespace

std::optional<Offload> VirtioHeader::read(std::span<const std::byte, kSize> header) {
  const std::byte* const at = header.data();
  const std::uint8_t flags = wire::load_u8(at);
  const std::uint8_t type = wire::load_u8(at + 1);
  const Offload out{.gso = static_cast<Offload::Gso>(type & ~kVirtioHeaderEcn),
                    .ecn = (type & kVirtioHeaderEcn) != 0,
                    .needs_checksum = (flags & kVirtioHeaderNeedsChecksum) != 0,
                    .checksum_valid = (flags & kDataValid) != 0,
                    .gso_size = wire::load_le16(at + 4),
                    .header_length = wire::load_le16(at + 2),
                    .checksum_start = wire::load_le16(at + 6),
                    .checksum_offset = wire::load_le16(at + 8)};
  // Whatever the frame: its types and flags.
  if ((flags & ~(kVirtioHeaderNeedsChecksum | kDataValid)) != 0) return std::nullopt;
  switch (out.gso) {
    case Offload::Gso::kNone:
    case Offload::Gso::kTcpv4:
    case Offload::Gso::kTcpv6:
    case Offload::Gso::kUdp:
      return out;
  }
  return std::nullopt;
}

void VirtioHeader::write(const Offload& offload, std::span<std::byte, kSize> header) {
  std::byte* const at = header.data();
  wire::store_u8(
      at, static_cast<std::uint8_t>((offload.needs_checksum ? kVirtioHeaderNeedsChecksum : 0) |
                                    (offload.checksum_valid ? kDataValid : 0)));
  wire::store_u8(at + 1, static_cast<std::uint8_t>(static_cast<std::uint8_t>(offload.gso) |
                                                   (offload.ecn ? kVirtioHeaderEcn : 0)));
  wire::store_le16(at + 2, offload.header_length);
  wire::store_le16(at + 4, offload.gso_size);
  wire::store_le16(at + 6, offload.checksum_start);
  wire::store_le16(at + 8, offload.checksum_offset);
}

}  // namespace weft::lan
