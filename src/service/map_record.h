// SPDX-License-Identifier: Apache-2.0
// What one instance of a service tells another of QP numbers and connections, so that it can go on
// for it: 64 bytes each.
//
//   0  what: 1 queue pair, 2 queue pair that is gone, 3 connection, whose state says its end
//   1  flags: of a queue pair 1 has Q_Keys, 2 established, 4 of datagrams; of a connection its
//   state 2-3  0     4-6 number   8-10 real number, or the other number of a connection 12-15 Q_Key
//   that it takes, or the requester's ID     16-19 Q_Key shown, or the responder's ID 20-31 0 32-47
//   owner, or requester                 48-63 peer, or responder
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <variant>

#include "base/bytes.h"
#include "service/cm_table.h"
#include "service/qp_map.h"

namespace weft::service {

struct MapRecord {
  static constexpr std::size_t kSize = 64;

  bool gone = false;  // of a queue pair
  std::variant<MappedQp, CmConnection> of{};

  // Nothing: it is no record, or says what cannot be.
  [[nodiscard]] static std::optional<MapRecord> parse(Bytes bytes);
  [[nodiscard]] std::array<std::byte, kSize> bytes() const;
};

}  // namespace weft::service
