// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "lan/lan_header.h"

namespace weft::lan {

// struct virtio_net_hdr (OASIS virtio 1.2, 5.1.6), which stands before a frame in a TAP
// interface's file, little-endian:
//
//   0 flags  1 GSO type  2-3 header length  4-5 GSO size  6-7 checksum start  8-9 checksum offset
struct VirtioHeader {
  static constexpr std::size_t kSize = 10;

  // Nothing: it says what is not known here.
  [[nodiscard]] static std::optional<Offload> read(std::span<const std::byte, kSize> header);
  static void write(const Offload& offload, std::span<std::byte, kSize> header);
};

}  // namespace weft::lan
