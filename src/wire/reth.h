// SPDX-License-Identifier: Apache-2.0
// RDMA Extended Transport Header, IBA 9.3: VA(64) R_Key(32) DMALen(32).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

struct Reth {
  static constexpr std::size_t kSize = 16;

  std::uint64_t virtual_address = 0;
  RKey rkey{};
  std::uint32_t dma_length = 0;  // bytes of the whole message, 0 to 2^31

  friend bool operator==(const Reth&, const Reth&) = default;

  [[nodiscard]] static std::optional<Reth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Reth{.virtual_address = load_be64(at),
                .rkey = RKey{load_be32(at + 8)},
                .dma_length = load_be32(at + 12)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be64(at, virtual_address);
    store_be32(at + 8, rkey.value());
    store_be32(at + 12, dma_length);
  }
};

}  // namespace weft::wire
