// SPDX-License-Identifier: Apache-2.0
// The attributes that are blocks of a table: P_Keys, GUIDs, SL to VL, VL arbitration, and the
// forwarding tables of a switch. IBA 14.2.5.5 and 14.2.5.7 to 14.2.5.12.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

// 8 GUIDs of a port: what follows the prefix in its GIDs.
struct GuidBlock {
  static constexpr std::size_t kEntries = 8;
  static constexpr std::size_t kSize = 64;

  std::array<Guid, kEntries> guids{};

  friend bool operator==(const GuidBlock&, const GuidBlock&) = default;

  [[nodiscard]] static std::optional<GuidBlock> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    GuidBlock block;
    for (std::size_t i = 0; i < kEntries; ++i) {
      block.guids[i] = Guid{load_be64(bytes.data() + i * 8)};
    }
    return block;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kEntries; ++i)
      store_be64(out.data() + i * 8, guids[i].value());
  }
};

// 32 P_Keys of a port; those of value 0 (and 0x8000) are free entries.
struct PKeyBlock {
  static constexpr std::size_t kEntries = 32;
  static constexpr std::size_t kSize = 64;

  std::array<PKey, kEntries> pkeys{};

  friend bool operator==(const PKeyBlock&, const PKeyBlock&) = default;

  [[nodiscard]] static std::optional<PKeyBlock> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    PKeyBlock block;
    for (std::size_t i = 0; i < kEntries; ++i) {
      block.pkeys[i] = PKey{load_be16(bytes.data() + i * 2)};
    }
    return block;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kEntries; ++i)
      store_be16(out.data() + i * 2, pkeys[i].value());
  }
};

// The VL of each SL, for packets from one port to another; VL 15 means that they are dropped.
struct SlToVl {
  static constexpr std::size_t kSize = 8;

  std::array<Vl, 16> vls{};

  friend bool operator==(const SlToVl&, const SlToVl&) = default;

  [[nodiscard]] static std::optional<SlToVl> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    SlToVl map;
    for (std::size_t i = 0; i < kSize; ++i) {
      const std::uint8_t pair = load_u8(bytes.data() + i);
      map.vls[2 * i] = Vl{static_cast<std::uint8_t>(pair >> 4)};
      map.vls[2 * i + 1] = Vl{pair};
    }
    return map;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      store_u8(out.data() + i,
               static_cast<std::uint8_t>(vls[2 * i].value() << 4 | vls[2 * i + 1].value()));
    }
  }
};

// Half of the high or the low table of VL arbitration, IBA 7.6.9.
struct VlArbitrationBlock {
  static constexpr std::size_t kEntries = 32;
  static constexpr std::size_t kSize = 64;
  struct Entry {
    Vl vl{};
    std::uint8_t weight = 0;  // units of 64 bytes; 0: the entry is skipped
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  std::array<Entry, kEntries> entries{};

  friend bool operator==(const VlArbitrationBlock&, const VlArbitrationBlock&) = default;

  [[nodiscard]] static std::optional<VlArbitrationBlock> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    VlArbitrationBlock block;
    for (std::size_t i = 0; i < kEntries; ++i) {
      const std::byte* at = bytes.data() + i * 2;
      block.entries[i] = {.vl = Vl{load_u8(at)}, .weight = load_u8(at + 1)};
    }
    return block;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kEntries; ++i) {
      store_u8(out.data() + i * 2, entries[i].vl.value());
      store_u8(out.data() + i * 2 + 1, entries[i].weight);
    }
  }
};

// The output ports of 64 unicast LIDs, from LID 64 * block on; 255: none.
struct LinearBlock {
  static constexpr std::size_t kEntries = 64;
  static constexpr std::size_t kSize = 64;
  static constexpr std::uint8_t kNoPort = 255;

  std::array<std::uint8_t, kEntries> ports{};

  friend bool operator==(const LinearBlock&, const LinearBlock&) = default;

  [[nodiscard]] static std::optional<LinearBlock> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    LinearBlock block;
    for (std::size_t i = 0; i < kEntries; ++i)
      block.ports[i] = load_u8(bytes.data() + i);
    return block;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kEntries; ++i)
      store_u8(out.data() + i, ports[i]);
  }
};

// The output ports of 32 multicast LIDs, from 0xC000 + 32 * block on: 16 ports of each, those from
// 16 * position on, lowest bit first.
struct MulticastBlock {
  static constexpr std::size_t kEntries = 32;
  static constexpr std::size_t kSize = 64;
  static constexpr std::uint16_t kFirstLid = 0xC000;
  static constexpr std::size_t kPortsPerPosition = 16;

  std::array<std::uint16_t, kEntries> masks{};

  friend bool operator==(const MulticastBlock&, const MulticastBlock&) = default;

  [[nodiscard]] static std::optional<MulticastBlock> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    MulticastBlock block;
    for (std::size_t i = 0; i < kEntries; ++i) {
      block.masks[i] = load_be16(bytes.data() + i * 2);
    }
    return block;
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    for (std::size_t i = 0; i < kEntries; ++i)
      store_be16(out.data() + i * 2, masks[i]);
  }
};

}  // namespace weft::wire
