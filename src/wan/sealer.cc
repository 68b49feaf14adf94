// SPDX-License-Identifier: Apache-2.0
#include "wan/sealer.h"

#include <cstring>
#include <limits>

namespace weft::wan {
namespace {

std::size_t sum_of(std::span<const Bytes> pieces) {
  std::size_t sum = 0;
  for (const Bytes piece : pieces)
    sum += piece.size();
  return sum;
}

}  // namespace

tl::expected<MutableBytes, std::errc> Sealer::seal(Bytes header, std::span<const Bytes> pieces,
                                                   MutableBytes out, Bytes beside) {
  const std::size_t frame = sum_of(pieces);
  const std::size_t size = size_of(header.size(), frame);
  if (out.size() < size) return tl::unexpected(std::errc::no_buffer_space);
  if (const std::errc error = prepare(frame); error != std::errc{}) {
    counters_.add_in_turn(SealCounter::kRefused);
    return tl::unexpected(error);
  }
  if (!header.empty() && header.data() != out.data()) {
    std::memcpy(out.data(), header.data(), header.size());
  }
  next_.write(out.subspan(header.size()).first<SealHeader::kSize>());
  const std::size_t clear = header.size() + SealHeader::kSize;
  const Aead::Nonce nonce = seal_nonce(key_->salt, next_.sequence);
  // The number is used up, whatever comes of it.
  ++next_.sequence;
  ++datagrams_;
  bytes_ += frame;
  const Associated associated(out.first(clear), beside);
  if (!key_->aead->seal(nonce, associated.bytes(), pieces, out.subspan(clear, size - clear))) {
    counters_.add_in_turn(SealCounter::kRefused);
    return tl::unexpected(std::errc::not_connected);
  }
  counters_.add_in_turn(SealCounter::kSealed);
  counters_.add_in_turn(SealCounter::kSealedBytes, frame);
  return out.first(size);
}

// A key for one more frame, and a number for it.
std::errc Sealer::prepare(std::size_t frame) {
  if (next_.sequence == std::numeric_limits<std::uint64_t>::max()) {
    return std::errc::value_too_large;
  }
  if (!key_) return take_key(next_.epoch);
  const bool is_spent = datagrams_ >= limits_.datagrams ||
                        (bytes_ > 0 && (bytes_ >= limits_.bytes || frame > limits_.bytes - bytes_));
  if (!is_spent && !rotate_) return {};
  if (next_.epoch == std::numeric_limits<std::uint32_t>::max()) return std::errc::value_too_large;
  const std::errc error = take_key(next_.epoch + 1);
  if (error == std::errc{}) counters_.add_in_turn(SealCounter::kRotated);
  return error;
}

std::errc Sealer::take_key(std::uint32_t epoch) {
  auto key = keys_.key(epoch);
  if (!key) return std::errc::not_connected;
  key_ = std::move(key);
  next_.epoch = epoch;
  datagrams_ = 0;
  bytes_ = 0;
  rotate_ = false;
  return {};
}

}  // namespace weft::wan
