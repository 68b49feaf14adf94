// SPDX-License-Identifier: Apache-2.0
// Datagram Extended Transport Header, IBA 9.3: Q_Key(32) rsv(8) SrcQP(24).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

struct Deth {
  static constexpr std::size_t kSize = 8;

  QKey qkey{};
  Qpn src_qp{};

  friend bool operator==(const Deth&, const Deth&) = default;

  [[nodiscard]] static std::optional<Deth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Deth{.qkey = QKey{load_be32(at)}, .src_qp = Qpn{load_be24(at + 5)}};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be32(at, qkey.value());
    store_u8(at + 4, 0);
    store_be24(at + 5, src_qp.value());
  }
};

}  // namespace weft::wire
