// SPDX-License-Identifier: Apache-2.0
#include "port/ring/raw_frame.h"

#include <algorithm>
#include <array>

#include "hca/raw_packet.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/link_patch.h"
#include "wire/packet.h"

namespace weft::port {
namespace {

constexpr std::size_t kPKeyAt = 2;  // in a BTH

// Copies a packet out of its pieces, from the front on.
class Reader {
 public:
  explicit Reader(std::span<const Bytes> pieces) : pieces_(pieces) {
    for (const Bytes piece : pieces)
      left_ += piece.size();
  }
  [[nodiscard]] std::size_t left() const { return left_; }
  // There are as many.
  void copy(MutableBytes to) {
    left_ -= to.size();
    while (!to.empty()) {
      const Bytes rest = pieces_.front().subspan(used_);
      const std::size_t count = std::min(rest.size(), to.size());
      std::copy_n(rest.begin(), count, to.begin());
      to = to.subspan(count);
      used_ += count;
      if (used_ < pieces_.front().size()) continue;
      pieces_ = pieces_.subspan(1);
      used_ = 0;
    }
  }

 private:
  std::span<const Bytes> pieces_;
  std::size_t used_ = 0;  // of the first of these
  std::size_t left_ = 0;
};

// Writes the P_Key, and says what that does to the ICRC.
std::uint32_t change_pkey(MutableBytes header, std::size_t transport, PKey pkey,
                          std::size_t covered) {
  std::byte* const at = header.data() + transport + kPKeyAt;
  const PKey before{wire::load_be16(at)};
  wire::store_be16(at, pkey.value());
  return wire::pkey_icrc_change(before, pkey, covered - transport - wire::Bth::kSize);
}

}  // namespace

bool write_raw_packet(std::span<const Bytes> pieces, const hca::Burst::Raw& how, MutableBytes block,
                      ring::SendSlot& slot) {
  Reader reader(pieces);
  const std::size_t posted = reader.left();
  const MutableBytes front = MutableBytes(slot.header).first(std::min(posted, slot.header.size()));
  reader.copy(front);
  const auto head = hca::read_raw_head(front);
  if (!head || (how.pkey && !head->pkey)) return false;
  const std::size_t icrc_size = head->pkey ? wire::kIcrcSize : 0;
  const std::size_t all = head->lrh.packet_bytes();
  const std::size_t body = all - icrc_size;  // LRH through pad
  if (posted != body && posted != all && posted != all + wire::kVcrcSize) return false;
  const MutableBytes header = front.first(std::min(body, front.size()));
  if (body - header.size() > block.size()) return false;
  const MutableBytes payload = block.first(body - header.size());
  reader.copy(payload);

  std::array<std::byte, wire::kIcrcSize> icrc{};
  // Of a short packet it may be in what was copied first.
  const std::size_t early = std::min(front.size() - header.size(), posted == body ? 0 : icrc_size);
  std::copy_n(front.begin() + static_cast<std::ptrdiff_t>(header.size()), early, icrc.begin());
  if (posted != body) reader.copy(MutableBytes(icrc).subspan(early, icrc_size - early));
  std::uint32_t change = 0;
  if (how.pkey) change = change_pkey(header, head->transport, *how.pkey, body);

  slot.header_size = static_cast<std::uint8_t>(header.size());
  slot.payload_size = static_cast<std::uint32_t>(payload.size());
  slot.trailer_size = static_cast<std::uint8_t>(icrc_size + wire::kVcrcSize);
  slot.trailer = {};
  const bool makes_icrc = icrc_size > 0 && (posted == body || how.make_icrc);
  slot.unsealed = makes_icrc ? 1 : 0;
  if (makes_icrc) return true;
  wire::store_le32(icrc.data(), wire::load_le32(icrc.data()) ^ change);
  const MutableBytes trailer = MutableBytes(slot.trailer).first(slot.trailer_size);
  std::copy_n(icrc.begin(), icrc_size, trailer.begin());
  std::uint16_t crc = wire::crc16_update(wire::kVcrcPreset, header);
  crc = wire::crc16_update(crc, payload);
  crc = wire::crc16_update(crc, trailer.first(icrc_size));
  wire::store_le16(trailer.data() + icrc_size, wire::crc16_finish(crc));
  return true;
}

bool copy_raw_packet(const LinkPieces& packet, bool sealed, LinkFrame& frame) {
  frame.size = packet.size();
  if (frame.size > frame.bytes.size()) return false;
  std::byte* at = frame.bytes.data();
  for (const Bytes piece : {packet.header, packet.payload, packet.trailer})
    at = std::copy(piece.begin(), piece.end(), at);
  if (sealed) return true;
  // What is looked at is the copy: the other may be written to by whoever made it.
  if (!wire::walk_link_packet(frame.all())) return false;
  wire::seal_link_packet(frame.all());
  return true;
}

}  // namespace weft::port
