// SPDX-License-Identifier: Apache-2.0
// What two ends tell each other between frames: eight octets and a check in five signal ordered
// sets, which no MAC takes for anything (their O code is F, faults have 0).
//
//   set n of 0 to 4:  5C | kind(4) n(4) | two octets
//   octets 0-7 the content, 8-9 the CRC-16 of InfiniBand's VCRC over the kind and them
//
// Whoever misses one of the sets has no message: what is told has to be told again by itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/pcs/xgmii.h"

namespace weft::wan {

struct SetMessage {
  static constexpr std::size_t kSets = 5;
  static constexpr std::size_t kSize = 8;

  std::uint8_t kind = 0;  // four bits
  std::array<std::byte, kSize> content{};

  [[nodiscard]] std::array<OrderedSet, kSets> sets() const;

  friend bool operator==(const SetMessage&, const SetMessage&) = default;
};

class SetMessageReader {
 public:
  // The next set. A message is there with its last one, if all were, and its check is right.
  std::optional<SetMessage> push(const OrderedSet& set);
  // Sets that belong to no message that came whole.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  std::uint8_t kind_ = 0;
  std::size_t count_ = 0;  // of sets that came
  std::array<std::byte, 2 * SetMessage::kSets> octets_{};
  std::uint64_t lost_ = 0;
};

}  // namespace weft::wan
