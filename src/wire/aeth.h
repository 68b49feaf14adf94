// SPDX-License-Identifier: Apache-2.0
// ACK Extended Transport Header, IBA 9.3: Syndrome(8) MSN(24), and the meaning of a syndrome
// (IBA 9.7.5.2.8): type in bits 6-5, value in bits 4-0.
#pragma once

#include <cassert>
#include <chrono>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "wire/endian.h"

namespace weft::wire {

enum class AckType : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

// Values of a NAK. 5 to 31 are reserved.
enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

class Syndrome {
 public:
  static constexpr std::uint8_t kNoCredits = 31;  // credit code: end-to-end credits are not used

  constexpr Syndrome() = default;
  constexpr explicit Syndrome(std::uint8_t byte) : byte_(byte) {}
  // `credit_code` 0 to 31, see credits_of().
  static constexpr Syndrome ack(std::uint8_t credit_code = kNoCredits) {
    return Syndrome{static_cast<std::uint8_t>(credit_code & 31)};
  }
  // `timer_code` 0 to 31, see rnr_timer().
  static constexpr Syndrome rnr_nak(std::uint8_t timer_code) {
    return Syndrome{static_cast<std::uint8_t>(0x20 | (timer_code & 31))};
  }
  static constexpr Syndrome nak(NakCode code) {
    return Syndrome{static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code))};
  }

  [[nodiscard]] constexpr std::uint8_t byte() const { return byte_; }
  // Bit 7 is reserved: a syndrome that has it set is of no defined type.
  [[nodiscard]] constexpr AckType type() const {
    return (byte_ & 0x80) != 0 ? AckType::reserved : static_cast<AckType>(byte_ >> 5 & 3);
  }
  [[nodiscard]] constexpr std::uint8_t value() const { return byte_ & 31; }
  friend constexpr bool operator==(Syndrome, Syndrome) = default;

 private:
  std::uint8_t byte_ = 0;
};

struct Aeth {
  static constexpr std::size_t kSize = 4;

  Syndrome syndrome{};
  std::uint32_t msn = 0;  // 24 bits: messages that the responder has completed

  friend bool operator==(const Aeth&, const Aeth&) = default;

  [[nodiscard]] static std::optional<Aeth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return Aeth{.syndrome = Syndrome{load_u8(bytes.data())}, .msn = load_be24(bytes.data() + 1)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    store_u8(out.data(), syndrome.byte());
    store_be24(out.data() + 1, msn);
  }
};

// Receive queue entries that a credit code grants; nothing for kNoCredits, which sets no limit.
[[nodiscard]] std::optional<std::uint32_t> credits_of(std::uint8_t credit_code);
// The largest code that does not promise more than `entries`.
[[nodiscard]] std::uint8_t credit_code_for(std::uint32_t entries);

// The wait that a RNR NAK timer code (0 to 31) asks for: 10 us to 655.36 ms.
[[nodiscard]] Duration rnr_timer(std::uint8_t timer_code);

}  // namespace weft::wire
