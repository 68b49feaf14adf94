// SPDX-License-Identifier: Apache-2.0
// Who may read and change a port: M_Key, its protection level, and the lease that lets a new
// manager in when the one with the key is gone. IBA 14.2.4.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.h"
#include "mgmt/managed_node.h"
#include "wire/mad.h"

namespace weft::mgmt {

class MkeyGuard {
 public:
  explicit MkeyGuard(ManagedNode& node) : node_(node) {}

  enum class Verdict : std::uint8_t {
    kPass,    // the key is right, or none is set
    kVeiled,  // may read, but not see the key
    kRefuse,  // no answer: counted as a violation, and the lease begins to run out
  };
  // What `method` may do at a port whose key is asked for: the port itself; on a switch port 0.
  Verdict check(PortNumber port, wire::MadMethod method, std::uint64_t key, Time now);

  // Ends leases: their ports lose their protection, but keep the key.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  ManagedNode& node_;
  std::map<PortNumber, Time> leases_;  // that run out, and when
};

}  // namespace weft::mgmt
