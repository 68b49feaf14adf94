// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/out_packet.h"

#include <algorithm>
#include <utility>

namespace weft::wan {

OutPacket::OutPacket(std::span<const Bytes> frame) {
  assert(frame.size() <= kMostPieces);
  for (const Bytes piece : frame) {
    if (piece.empty()) continue;
    body_[body_pieces_++] = piece;
    body_size_ += piece.size();
  }
}

MutableBytes OutPacket::prepend(std::size_t size) {
  assert(size <= headers_at_);
  headers_at_ -= size;
  return MutableBytes(headers_).subspan(headers_at_, size);
}

MutableBytes OutPacket::append(std::size_t size) {
  assert(size <= kMostTrailers - trailers_size_);
  const MutableBytes room = MutableBytes(trailers_).subspan(trailers_size_, size);
  trailers_size_ += size;
  return room;
}

void OutPacket::replace(std::vector<std::byte> bytes) {
  replaced_ = std::move(bytes);
  headers_at_ = kMostHeaders;
  trailers_size_ = 0;
  body_pieces_ = replaced_.empty() ? 0 : 1;
  body_[0] = replaced_;
  body_size_ = replaced_.size();
}

std::size_t OutPacket::size() const {
  return kMostHeaders - headers_at_ + body_size_ + trailers_size_;
}

std::span<const Bytes> OutPacket::pieces() {
  std::size_t count = 0;
  if (headers_at_ != kMostHeaders) all_[count++] = Bytes(headers_).subspan(headers_at_);
  for (std::size_t i = 0; i < body_pieces_; ++i)
    all_[count++] = body_[i];
  if (trailers_size_ != 0) all_[count++] = Bytes(trailers_).first(trailers_size_);
  return std::span(all_).first(count);
}

}  // namespace weft::wan
