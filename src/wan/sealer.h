// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <tl/expected.hpp>

#include "base/aead.h"
#include "base/bytes.h"
#include "wan/seal.h"

namespace weft::wan {

// One direction's sending half: gives each datagram its number and its protection (seal.h), and
// goes on to the next epoch in time.
class Sealer {
 public:
  struct Config {
    SealLimits limits{};
    SealHeader first{};  // epoch and number of the first datagram, as the other end has them
  };

  // `keys` outlives it.
  Sealer(AeadKeySource& keys, const Config& config)
      : keys_(keys), limits_(config.limits), next_(config.first) {}

  // Bytes of the datagram for a frame of `frame` bytes behind a header of `header`.
  [[nodiscard]] static constexpr std::size_t size_of(std::size_t header, std::size_t frame) {
    return header + kSealOverhead + frame;
  }

  // Writes the datagram to `out` and returns it. The frame's `pieces` are gathered as they are
  // encrypted, which is the one time that they are copied; `header` and a piece may also lie where
  // they come to lie in `out`, but overlap it nowhere else. The tag covers what goes `beside` the
  // datagram too. Errors, with nothing sealed: no_buffer_space: `out` is shorter than size_of();
  // value_too_large: no number or epoch is left in this session; not_connected: its keys are not to
  // be had any more.
  [[nodiscard]] tl::expected<MutableBytes, std::errc> seal(Bytes header,
                                                           std::span<const Bytes> pieces,
                                                           MutableBytes out, Bytes beside = {});

  // The next datagram is of the next epoch: for who wants keys to be no older than some time.
  void rotate() { rotate_ = true; }

  // Of the next datagram, as far as is known.
  [[nodiscard]] const SealHeader& next() const { return next_; }
  [[nodiscard]] const SealCounters& counters() const { return counters_; }

 private:
  [[nodiscard]] std::errc prepare(std::size_t frame);
  [[nodiscard]] std::errc take_key(std::uint32_t epoch);

  AeadKeySource& keys_;
  SealLimits limits_;
  SealHeader next_;
  std::optional<AeadKey> key_;   // of next_.epoch
  std::uint64_t datagrams_ = 0;  // sealed with it
  std::uint64_t bytes_ = 0;
  bool rotate_ = false;
  SealCounters counters_;
};

}  // namespace weft::wan
