// SPDX-License-Identifier: Apache-2.0
// The options of a DCCP packet (RFC 4340, 5.8): a byte of type; from 32 on a byte of their whole
// length, and their value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wan/dccp/dccp_header.h"

namespace weft::wan::dccp {

enum class OptionType : std::uint8_t {
  kPadding = 0,
  kMandatory = 1,
  kSlowReceiver = 2,
  kChangeL = 32,
  kConfirmL = 33,
  kChangeR = 34,
  kConfirmR = 35,
  kInitCookie = 36,
  kNdpCount = 37,
  kAckVector = 38,        // whose nonces sum up to 0: all that is sent has nonce 0
  kAckVectorNonce1 = 39,  // and to 1
  kDataDropped = 40,
  kTimestamp = 41,
  kTimestampEcho = 42,
};

struct Option {
  OptionType type{};  // or another one
  Bytes value;
  bool mandatory = false;  // who does not understand it must not go on
};

// Reads them in order, without padding.
class OptionReader {
 public:
  explicit OptionReader(Bytes options) : rest_(options) {}

  // Nothing: that was the last, or what follows is malformed.
  [[nodiscard]] std::optional<Option> next();
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

// Puts them one behind the other, as far as there is room.
class OptionWriter {
 public:
  static constexpr std::size_t kMostValue = 253;

  // At most Header::kMostBytes less those of the largest header.
  explicit OptionWriter(std::size_t room) : room_(room) {}

  // False: there is no room. `value`: at most kMostValue bytes, and none of types below 32.
  bool put(OptionType type, Bytes value = {}, bool mandatory = false);
  [[nodiscard]] std::size_t room() const { return room_ - size_; }
  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_).first(size_); }

 private:
  std::array<std::byte, Header::kMostBytes> bytes_;
  std::size_t size_ = 0;
  std::size_t room_;
};

}  // namespace weft::wan::dccp
