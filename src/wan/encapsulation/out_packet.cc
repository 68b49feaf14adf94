// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/out_packet.h"

#include <algorithm>
#include <utility>

namespace weft::wan {

OutPacket::OutPacket(std::span<const Bytes> frame) {
  all_.reserve(frame.size() + 2);
  all_.emplace_back();
  for (const Bytes piece : frame) {
    if (piece.empty()) continue;
    all_.push_back(piece);
    body_size_ += piece.size();
  }
  all_.emplace_back();
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
  all_.assign(1, Bytes());
  if (!replaced_.empty()) all_.emplace_back(replaced_);
  all_.emplace_back();
  body_size_ = replaced_.size();
}

std::size_t OutPacket::size() const {
  return kMostHeaders - headers_at_ + body_size_ + trailers_size_;
}

std::span<const Bytes> OutPacket::pieces() {
  std::span<const Bytes> pieces(all_);
  all_.front() = Bytes(headers_).subspan(headers_at_);
  all_.back() = Bytes(trailers_).first(trailers_size_);
  if (all_.back().empty()) pieces = pieces.first(pieces.size() - 1);
  if (all_.front().empty()) pieces = pieces.subspan(1);
  return pieces;
}

}  // namespace weft::wan
