// SPDX-License-Identifier: Apache-2.0
// The device management agent of a node that is an I/O unit, IBA 16.3: tells which controllers it
// has. What they do is nobody's to use over the fabric: they have no services.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "mgmt/device/io_controller.h"
#include "mgmt/managed_node.h"
#include "wire/mad.h"

namespace weft::mgmt {

class DeviceAgent {
 public:
  explicit DeviceAgent(ManagedNode& node) : node_(node) {}

  // At most 255.
  void set_controllers(std::vector<IoController> controllers);
  // False: the node is no I/O unit, and nothing is answered.
  [[nodiscard]] bool has_controllers() const { return !controllers_.empty(); }

  // Reads the attribute that `mad` names into it; of a Set, after changing it. What is not kOk
  // changed nothing.
  wire::MadStatus handle(bool set, wire::MutableMadBytes mad);

 private:
  static constexpr std::size_t kTrapOffset = 32;
  static constexpr std::size_t kTrapSize = 40;

  wire::MadStatus class_port_info(bool set, MutableBytes data);
  wire::MadStatus profile(std::uint32_t slot, MutableBytes data) const;

  ManagedNode& node_;
  std::vector<IoController> controllers_;
  // Where traps would go (IBA 13.4.8.1): who looks at the unit says it first, and reads it again.
  std::array<std::byte, kTrapSize> trap_target_{};
};

}  // namespace weft::mgmt
