// SPDX-License-Identifier: Apache-2.0
// Which parts of a subnet may be joined with that of the manager: those of which everything is
// known that carries data already. Behind a port that is Active, but whose neighbour has not
// answered, there may be LIDs that are in use, or about to be given, elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "sm/subnet.h"

namespace weft::sm {

class Joining {
 public:
  // `knows_own`: the manager has seen, or given, all LIDs of its own part before.
  Joining(const Subnet& subnet, bool knows_own);

  // Whether the manager's own part has something unknown in it.
  [[nodiscard]] bool own_is_closed() const { return !may_touch(0); }
  // Ports of switches that carry data for something unknown, in parts that the manager does not
  // know. They have to go down first.
  [[nodiscard]] const std::vector<PortRef>& unknown_beyond() const { return unknown_beyond_; }
  // Whether the manager may change addresses and tables of a switch, or of an adapter linked to it,
  // and bring its links up.
  [[nodiscard]] bool may_touch(std::uint32_t node) const { return !is_closed_[part_of(node)]; }

 private:
  [[nodiscard]] std::uint32_t part_of(std::uint32_t node) const;
  void join(const Subnet& subnet);
  void close(const Subnet& subnet, bool knows_own);
  void close_port(const Subnet& subnet, const PortRef& at);

  std::vector<std::uint32_t>
      parent_;  // by node; switches that carry data for each other are one part
  std::vector<bool> is_closed_;
  std::vector<PortRef> unknown_beyond_;
};

}  // namespace weft::sm
