// SPDX-License-Identifier: Apache-2.0
// The GUIDs that ports have beside their own, as their administrator gives them out: what GUIDInfo
// of each is to be, and what of it is different from what the port has. IBA 14.2.5.5.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "sm/changes.h"
#include "sm/subnet.h"

namespace weft::sm {

// Of one port, by index; the first is its own, and does not count. 0: the entry is free.
struct PortGuids {
  Guid port{};
  std::vector<Guid> guids{};
  friend bool operator==(const PortGuids&, const PortGuids&) = default;
};

class GuidTables {
 public:
  // Of all ports that have any. Entries of a port that is not among them any more are freed, once
  // the port is there.
  void set(std::vector<PortGuids> ports);
  // Who has become master knows nothing: nothing is written until set() has said it anew.
  void forget() {
    ports_.clear();
    changed_ = false;
  }
  // Asks ports for what somebody else may have left there: those that have a LID, and have not been
  // asked since they were found. Both outlive what is on its way.
  static void read(Changes& changes, Subnet& subnet);
  // write() has something to do that was set since the last one.
  [[nodiscard]] bool changed() const { return changed_; }
  // Writes all that is different from what the ports of `subnet` are known to have. Both outlive
  // what is on its way. What fails, the next one writes.
  void write(Changes& changes, Subnet& subnet);

 private:
  // False: the port has something else, as far as is known.
  bool write_port(Changes& changes, Subnet& subnet, const PortRef& at,
                  const std::vector<Guid>& guids);

  std::map<Guid, std::vector<Guid>> ports_;  // empty: to be freed
  bool changed_ = false;
};

}  // namespace weft::sm
