// SPDX-License-Identifier: Apache-2.0
// Whose the queue pair numbers of a channel adapter are. A number is handed out anew as late as
// can be: what is still on its way to the queue pair that had it must not meet another one.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "base/ids.h"

namespace weft::fabric {

class AttachedProgram;

class QueuePairTable {
 public:
  // Numbers begin at `first`, or at the first one above it that may be handed out.
  explicit QueuePairTable(Qpn first) : next_(first) {}

  // Nothing: all are in use.
  [[nodiscard]] std::optional<Qpn> allocate(AttachedProgram& owner);
  // One that is in use gets another owner.
  void give(Qpn qpn, AttachedProgram& owner) {
    owners_[qpn] = &owner;
    last_ = {};
  }
  void release(Qpn qpn) {
    owners_.erase(qpn);
    last_ = {};
  }
  // Null: nobody has it.
  [[nodiscard]] AttachedProgram* owner(Qpn qpn) {
    if (qpn == last_.qpn) return last_.owner;
    const auto found = owners_.find(qpn);
    if (found == owners_.end()) return nullptr;
    last_ = {qpn, found->second};
    return found->second;
  }
  [[nodiscard]] std::size_t size() const { return owners_.size(); }

  // IBA 9.2.6 and 10.2.4.1: 0 and 1 are management's, 0xFFFFFF is that of multicast packets.
  static constexpr Qpn kFirst{2};
  static constexpr Qpn kLast{kMulticastQpn.value() - 1};
  static constexpr std::size_t kNumbers = kLast.value() - kFirst.value() + 1;

 private:
  Qpn next_;
  std::unordered_map<Qpn, AttachedProgram*> owners_;
  // Whose number was asked for last: of a stream it is the same again and again.
  struct Last {
    Qpn qpn{};
    AttachedProgram* owner = nullptr;
  };
  Last last_{};
};

}  // namespace weft::fabric
