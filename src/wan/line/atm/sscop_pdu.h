// SPDX-License-Identifier: Apache-2.0
// PDUs of SSCOP (ITU-T Q.2110, clause 7), which carries signalling over AAL type 5: what they say
// is at their end, in words of 32 bits, before which there may be a message with up to three octets
// of padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace weft::wan::atm {

inline constexpr std::uint32_t kSscopNumbers = 0xFF'FFFF;  // the largest

enum class SscopType : std::uint8_t {
  kBegin = 1,         // BGN
  kBeginAck = 2,      // BGAK
  kEnd = 3,           // END
  kEndAck = 4,        // ENDAK
  kResync = 5,        // RS
  kResyncAck = 6,     // RSAK
  kBeginReject = 7,   // BGREJ
  kData = 8,          // SD
  kRecovery = 9,      // ER
  kPoll = 10,         // POLL
  kStatus = 11,       // STAT
  kUnsolicited = 12,  // USTAT
  kUnnumbered = 13,   // UD
  kManagement = 14,   // MD
  kRecoveryAck = 15,  // ERAK
};

// Numbers are of 24 bits. Which fields there are is the type's matter; others are zero.
struct SscopPdu {
  SscopType type = SscopType::kBegin;
  bool by_sscop = false;              // END: not the user wanted it
  std::uint32_t number = 0;           // N(S) of SD and POLL, N(R) of STAT and USTAT
  std::uint32_t most = 0;             // N(MR): the first number that may not be sent
  std::uint32_t poll = 0;             // N(PS) of POLL and STAT
  std::uint8_t connection = 0;        // N(SQ) of BGN, RS and ER
  std::vector<std::uint32_t> list{};  // of STAT and USTAT: first missing, first there, and so on
  Bytes message{};                    // SD, UD, MD
};

[[nodiscard]] std::vector<std::byte> write_sscop(const SscopPdu& pdu);
// Nothing: it cannot be one. The message lies in `bytes`.
[[nodiscard]] std::optional<SscopPdu> read_sscop(Bytes bytes);

}  // namespace weft::wan::atm
