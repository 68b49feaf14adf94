// SPDX-License-Identifier: Apache-2.0
// SMInfo, IBA 14.2.5.13: GUID(64) SM_Key(64) ActCount(32) Priority(4) SMState(4).
#pragma once

#include <cassert>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

enum class SmState : std::uint8_t { kNotActive = 0, kDiscovering = 1, kStandby = 2, kMaster = 3 };

// As OpenSM's log has them: "MASTER". "unknown": none of the four, as the wire may have it.
[[nodiscard]] constexpr std::string_view to_string(SmState state) {
  switch (state) {
    case SmState::kNotActive:
      return "NOT-ACTIVE";
    case SmState::kDiscovering:
      return "DISCOVERING";
    case SmState::kStandby:
      return "STANDBY";
    case SmState::kMaster:
      return "MASTER";
  }
  return "unknown";
}

struct SmInfo {
  static constexpr std::size_t kSize = 21;

  Guid guid{};  // of the port where the manager is
  std::uint64_t sm_key = 0;
  std::uint32_t activity = 0;  // grows while the manager lives
  std::uint8_t priority = 0;   // 4 bits
  SmState state{};

  friend bool operator==(const SmInfo&, const SmInfo&) = default;

  [[nodiscard]] static std::optional<SmInfo> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return SmInfo{.guid = Guid{load_be64(at)},
                  .sm_key = load_be64(at + 8),
                  .activity = load_be32(at + 16),
                  .priority = static_cast<std::uint8_t>(load_u8(at + 20) >> 4),
                  .state = static_cast<SmState>(load_u8(at + 20) & 0xF)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be64(at, guid.value());
    store_be64(at + 8, sm_key);
    store_be32(at + 16, activity);
    store_u8(at + 20,
             static_cast<std::uint8_t>(priority << 4 | (static_cast<std::uint8_t>(state) & 0xF)));
  }
};

}  // namespace weft::wire
