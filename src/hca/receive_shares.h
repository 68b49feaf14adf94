// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>

#include "base/time.h"

namespace weft::hca {

// Divides what a socket can hold among the connections that share it, equally among those to which
// something came lately: a single busy one has all of it, of however many there are. A newcomer
// gets no more than the others leave; they give up what is too much when something comes to them
// next, so that in sum no more than the whole is granted, but for kLeast each.
//
// What a connection was granted and did not use while others were busy is forgotten here though its
// sender still believes it: what that costs, once, is for the sender's congestion control.
class ReceiveShares {
 public:
  // After so long a silence a connection counts for nothing.
  static constexpr Duration kActive = 100ms;
  // Two packets of the largest path MTU, in bytes by the cost rule of kPacketCost: with less, a
  // sender would wait for each acknowledgement.
  static constexpr std::uint32_t kLeast = 12 * 1024;

  // A connection's part in it; belongs to one ReceiveShares at a time, which it leaves before
  // either of them goes.
  class Member {
    friend class ReceiveShares;
    std::list<Member*>::iterator place_{};
    Time last_{};
    std::uint32_t granted_ = 0;
    bool active_ = false;
  };

  // `budget`: bytes by the cost rule that may be in flight to the socket.
  explicit ReceiveShares(std::uint32_t budget) : budget_(budget) {}

  // Something came to `member`. Returns what it may be granted from now on: no more than `most`,
  // but at least kLeast, or all there is if that is less.
  std::uint32_t arrived(Member& member, Time now, std::uint32_t most);
  void leave(Member& member);

  [[nodiscard]] std::size_t active() const { return active_.size(); }
  // In sum, to those that are active.
  [[nodiscard]] std::uint64_t granted() const { return granted_; }

 private:
  std::uint32_t budget_;
  std::list<Member*> active_;  // newest first
  std::uint64_t granted_ = 0;
};

}  // namespace weft::hca
