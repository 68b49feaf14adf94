// SPDX-License-Identifier: Apache-2.0
// P_Key tables of ports: where in them the P_Keys of a port stand, and who is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "sm/changes.h"
#include "sm/partitions.h"
#include "sm/subnet.h"
#include "wire/sm/tables.h"

namespace weft::sm {

// Where the switches that adapters hang on look at P_Keys as well, where they can.
enum class Enforcement : std::uint8_t {
  kOff,
  kIn,   // what comes from the adapter
  kOut,  // what goes to it
  kBoth,
};

struct PlacedKeys {
  std::vector<wire::PKeyBlock> blocks;
  std::size_t left_out = 0;  // there was no entry left for them
};
// `now`: what the table holds. A P_Key keeps its index, for programs know P_Keys by their indices,
// but for index 0, which belongs to wanted.first, or else to the default partition. What is new
// comes after everything that is there; free entries before that are taken last. `entries`: of the
// table.
[[nodiscard]] PlacedKeys place_keys(std::span<const wire::PKeyBlock> now, std::size_t entries,
                                    const Partitions::Keys& wanted);

class PKeyTables {
 public:
  // All outlive it, and handlers refer to it until the queue is idle. `manager` is its own port.
  PKeyTables(Changes& changes, Subnet& subnet, const Partitions& partitions,
             Enforcement enforcement, const PortRef& manager)
      : changes_(changes),
        subnet_(subnet),
        partitions_(partitions),
        enforcement_(enforcement),
        manager_(manager) {}
  PKeyTables(const PKeyTables&) = delete;
  PKeyTables& operator=(const PKeyTables&) = delete;

  // One step after the other, each when the queue is idle: asks for what is not known of end ports;
  // writes the tables of those that may be touched, and of the switch ports that are to enforce
  // them.
  void read();
  void write(const MayTouch& may_touch);
  // Afterwards: whether a switch's port is to enforce partitions, and has the table for it.
  [[nodiscard]] bool enforces_in(const PortRef& at) const;
  [[nodiscard]] bool enforces_out(const PortRef& at) const;

 private:
  [[nodiscard]] Partitions::Keys keys_of(const PortRef& at) const;
  void write_end_port(const PortRef& at, const Partitions::Keys& keys);
  void write_switch_port(const PortRef& at, const Partitions::Keys& keys);
  // `port` of the modifier: of a switch.
  void write_blocks(const PortRef& at, const std::vector<wire::PKeyBlock>& blocks);
  [[nodiscard]] bool ready(const PortRef& at) const;

  Changes& changes_;
  Subnet& subnet_;
  const Partitions& partitions_;
  const Enforcement enforcement_;
  const PortRef manager_;
  std::unordered_set<std::uint64_t> enforcing_;  // node << 8 | port, of switches
};

}  // namespace weft::sm
