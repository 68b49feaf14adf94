// SPDX-License-Identifier: Apache-2.0
// What an instance of the firewall tells another one beside messages of the communication manager,
// which it tells as they are: flows, and to one that begins all connections too. Numbers are
// big-endian; no packet begins with such a first byte (IBA 7.7.2: the link version is 0).
//
//   flow        0x1F  bit 0 answered, bit 1 by GIDs   partition (2)  kind  both ports (4 each)
//               both addresses (16 each)  key
//   connection  0x2F  bit 0 of SIDR  phase  transport  Q_Key (4)  both ends  length (2) and private
//               data  key
//   end         bit 0 by GIDs  address (16)  LID (2)  GID (16)  QP (4)  ID (4)  partitions (2, 2)
//   key         which fields there are (8), and their values (8, or 16 of addresses)
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "service/firewall/connections.h"
#include "service/firewall/flows.h"

namespace weft::service::firewall {

struct FlowState {
  Flows::Id id{};
  bool answered = false;
  MatchKey request{};
};
using StateRecord = std::variant<FlowState, Connection>;

// At most Host::kMostRecord bytes.
[[nodiscard]] std::vector<std::byte> record_of(const Flows::Id& id, bool answered,
                                               const MatchKey& request);
[[nodiscard]] std::vector<std::byte> record_of(const Connection& connection);

// Whether it is no packet.
[[nodiscard]] inline bool is_state_record(Bytes record) {
  return !record.empty() && (record.front() & std::byte{0xF}) == std::byte{0xF};
}
// Nothing: it says what cannot be.
[[nodiscard]] std::optional<StateRecord> read_state_record(Bytes record);

}  // namespace weft::service::firewall
