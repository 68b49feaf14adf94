// SPDX-License-Identifier: Apache-2.0
#include "hca/pieces.h"

#include <algorithm>
#include <cassert>

#include "wire/packet.h"

namespace weft::hca {
namespace {

constexpr std::size_t kUnit = 4;  // of WeftPiece
constexpr std::size_t kLargestPacket = OutPacket::kMaxHeader + 4096 + 4;
constexpr std::array<std::byte, 3> kPad{};

}  // namespace

void PacketCutter::cut(Burst& burst) {
  assert(burst.size() == 1);
  const OutPacket whole = burst.packets()[0];
  const auto payload = burst.pieces(whole);
  header_ = whole.header;
  parts_.assign({Bytes(header_).first(whole.header_length)});
  parts_.insert(parts_.end(), payload.begin(), payload.end());
  if (whole.pad > 0) parts_.push_back(Bytes(kPad).first(whole.pad));
  bth_ = *wire::Bth::parse(header_);
  bth_.opcode = wire::Opcode::weft_piece;
  bth_.pad_count = 0;
  bth_.solicited = false;
  assert(whole.length() % kUnit == 0 && whole.length() <= kLargestPacket);
  length_ = static_cast<std::uint16_t>(whole.length() / kUnit);
  ++number_;
  burst.clear();
  for (std::size_t at = 0; at < whole.length(); at += kPieceBytes)
    add(burst, at, std::min(kPieceBytes, whole.length() - at));
}

void PacketCutter::add(Burst& burst, std::size_t at, std::size_t length) {
  OutPacket& packet = burst.open();
  const MutableBytes header(packet.header);
  bth_.write(header);
  wire::WeftPiece{
      .number = number_, .offset = static_cast<std::uint16_t>(at / kUnit), .length = length_}
      .write(header.subspan(wire::Bth::kSize));
  packet.header_length = wire::Bth::kSize + wire::WeftPiece::kSize;
  for (const Bytes part : parts_) {
    if (length == 0) break;
    if (at >= part.size()) {
      at -= part.size();
      continue;
    }
    const std::size_t take = std::min(length, part.size() - at);
    burst.add_piece(packet, part.subspan(at, take));
    length -= take;
    at = 0;
  }
  burst.close(packet, wire::kIcrcSize);
}

PacketJoiner::Verdict PacketJoiner::add(Psn psn, Bytes piece) {
  const auto which = wire::WeftPiece::parse(piece);
  if (!which) return Verdict::kMalformed;
  const Bytes bytes = piece.subspan(wire::WeftPiece::kSize);
  const std::size_t offset = which->offset * kUnit;
  const std::size_t length = which->length * kUnit;
  if (length > kLargestPacket || offset % kPieceBytes != 0 || offset >= length ||
      bytes.size() != std::min(kPieceBytes, length - offset)) {
    return Verdict::kMalformed;
  }
  Partial& partial = partial_of(psn, *which);
  std::ranges::copy(bytes, partial.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  partial.missing &= ~(1u << (offset / kPieceBytes));
  if (partial.missing != 0) return Verdict::kIncomplete;
  partial.begun = 0;
  whole_ = partial.bytes;
  return Verdict::kWhole;
}

PacketJoiner::Partial& PacketJoiner::partial_of(Psn psn, const wire::WeftPiece& which) {
  for (Partial& partial : partial_) {
    if (partial.begun != 0 && begun_ - partial.begun < kLongestWait && partial.psn == psn &&
        partial.which.number == which.number && partial.which.length == which.length) {
      return partial;
    }
  }
  partial_.resize(kMostPartial);
  Partial& partial = *std::ranges::min_element(partial_, {}, &Partial::begun);
  const std::size_t length = which.length * kUnit;
  partial.which = which;
  partial.psn = psn;
  partial.missing = (1u << ((length + kPieceBytes - 1) / kPieceBytes)) - 1;
  partial.begun = ++begun_;
  partial.bytes.resize(length);
  return partial;
}

void PacketJoiner::clear() {
  partial_.clear();
  begun_ = 0;
  whole_ = {};
}

}  // namespace weft::hca
