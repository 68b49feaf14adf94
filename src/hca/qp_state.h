// SPDX-License-Identifier: Apache-2.0
// Queue pair attributes and the transition table of IBA 11.2.5.2 (tables 91 and 92).
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "hca/types.h"

namespace weft::hca {

// Which attributes a modify carries. A bit mask.
enum QpAttr : std::uint32_t {
  kAttrState = 1u << 0,
  kAttrCurrentState = 1u << 1,
  kAttrSqdNotify = 1u << 2,
  kAttrAccess = 1u << 3,
  kAttrPKeyIndex = 1u << 4,
  kAttrPort = 1u << 5,
  kAttrQKey = 1u << 6,
  kAttrSqPsn = 1u << 7,
  kAttrPath = 1u << 8,  // address vector
  kAttrPathMtu = 1u << 9,
  kAttrAckTimeout = 1u << 10,
  kAttrRetryCount = 1u << 11,
  kAttrRnrRetry = 1u << 12,
  kAttrRqPsn = 1u << 13,
  kAttrMaxReadsOut = 1u << 14,
  kAttrMaxReadsIn = 1u << 15,
  kAttrAlternatePath = 1u << 16,
  kAttrRnrTimer = 1u << 17,
  kAttrPathMigration = 1u << 18,
  kAttrPeer = 1u << 19,   // destination queue pair number
  kAttrOther = 1u << 31,  // something that no queue pair here has
};

// IBA 17.2.8: automatic path migration.
enum class PathMigration : std::uint8_t { kMigrated, kRearm, kArmed };

struct QpAttributes {
  QpState state = QpState::kReset;
  QpState current_state = QpState::kReset;
  bool sqd_notify = false;
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 0;
  QKey qkey{};
  Psn sq_psn{};
  // Connections.
  Psn rq_psn{};
  Qpn peer{};
  Path path{};
  std::uint32_t path_mtu = 0;      // bytes: 256, 512, 1024, 2048 or 4096
  std::uint32_t access = 0;        // Access bits: what the peer may do
  std::uint8_t max_reads_out = 0;  // reads and atomics outstanding as requester
  std::uint8_t max_reads_in = 0;   // and as responder
  std::uint8_t rnr_timer = 0;      // 0..31, see wire::rnr_timer
  std::uint8_t ack_timeout = 0;    // 0..31: 4.096 us * 2^n; 0: for ever
  std::uint8_t retry_count = 0;    // 0..7
  std::uint8_t rnr_retry = 0;      // 0..7; 7: for ever
  Path alternate_path{};
  std::uint16_t alternate_pkey_index = 0;
  std::uint8_t alternate_port = 0;
  std::uint8_t alternate_ack_timeout = 0;
  PathMigration migration = PathMigration::kMigrated;
};

const char* to_string(QpState state);

// Checks that `mask` carries what the transition needs and nothing that it forbids. The error
// names the transition and the attributes that are missing or out of place.
Expected<void> check_transition(QpType type, QpState from, QpState to, std::uint32_t mask);
// Of a transition that is allowed: that what it takes for the state, and for the port, is so.
Expected<void> check_current_state(const QpAttributes& attributes, std::uint32_t mask, QpState is);
Expected<void> check_port(const QpAttributes& attributes, std::uint32_t mask, std::uint8_t is);

}  // namespace weft::hca
