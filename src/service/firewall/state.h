// SPDX-License-Identifier: Apache-2.0
// What the tables of connections and of flows have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "service/fields.h"
#include "service/firewall/field.h"

namespace weft::service::firewall {

// Why a packet is of state invalid, or not of any connection.
enum class Doubt : std::uint8_t {
  none,
  malformed,       // it cannot be read as a packet
  oversize,        // more payload than the largest MTU: who takes it, takes it amiss
  content,         // Fields::problem says why: two receivers might read it in two ways
  no_connection,   // of a connection whose making was not seen or not permitted
  source_lid,      // not that of the connection's end
  partition,       // not that of the connection
  transport,       // not that which the connection was made for
  qkey,            // not that which a SIDR_REP has told
  cm_forged,       // a message of the connection manager that contradicts the packet it is in
  cm_unknown,      // one of an exchange that is not known, or not from its ends
  tcp_flags,       // that no TCP sends together
  later_fragment,  // of a datagram or frame whose beginning was not let through
  table_full,      // there is no room to remember another connection
  kCount,
};

// Where a packet comes from or goes to: by GIDs if it has them, else by LIDs.
struct Party {
  Wide address{};
  bool global = false;
  friend bool operator==(const Party&, const Party&) = default;
};
[[nodiscard]] inline Party sender_of(const Fields& fields) {
  return fields.global ? Party{Wide(fields.sgid), true} : Party{Wide(fields.slid.value()), false};
}
[[nodiscard]] inline Party receiver_of(const Fields& fields) {
  return fields.global ? Party{Wide(fields.dgid), true} : Party{Wide(fields.dlid.value()), false};
}
[[nodiscard]] inline std::uint16_t partition_of(PKey pkey) {
  return pkey.value() & 0x7FFF;
}

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15;
  return hash ^ hash >> 32;
}

}  // namespace weft::service::firewall
