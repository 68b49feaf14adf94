// SPDX-License-Identifier: Apache-2.0
// What management sees of a node: a switch or a channel adapter implements this, and the agents of
// subnet and performance management read and set it. The node keeps every value; the agents know
// the rules. What a setter is given has been checked against IBA 14.2.5 and against what the node
// says of itself, so that a setter cannot fail: it puts the value into effect.
//
// Ports are 1 to node_info().ports, and on a switch 0, its management port; no other is asked for.
// Blocks lie within the sizes that NodeInfo, PortInfo and SwitchInfo tell.
#pragma once

#include "base/time.h"
#include "mgmt/mad_envelope.h"
#include "mgmt/port_counts.h"
#include "wire/sm/node_info.h"
#include "wire/sm/port_info.h"
#include "wire/sm/switch_info.h"
#include "wire/sm/tables.h"

namespace weft::mgmt {

class ManagedNode {
 public:
  virtual ~ManagedNode() = default;

  // Of the port where the question came in: PortGUID and LocalPortNum are that port's (on a switch
  // PortGUID is port 0's). Of a channel adapter 0 asks for what is the same at all of its ports.
  [[nodiscard]] virtual wire::NodeInfo node_info(PortNumber arrival) const = 0;
  [[nodiscard]] virtual wire::NodeDescription node_description() const = 0;

  // --- ports -------------------------------------------------------------------------------------
  // As it stands, but for LocalPortNum, which the agent fills in.
  [[nodiscard]] virtual wire::PortInfo port_info(PortNumber port) const = 0;
  // Everything that a Set may change, but for the two states, which do not count here: LID, LMC,
  // operational VLs, MTU, limits, enforcement, M_Key, counters of violations, … Fields that only
  // tell (capabilities, what is active) are as port_info() had them. ClientReregister set means:
  // tell those who have subscribed with the SM to do it anew.
  virtual void set_port_info(PortNumber port, const wire::PortInfo& info, Time now) = 0;
  // Down, Armed or Active, from where the state machine of IBA 7.2.7 allows; Down sends the
  // physical layer to its default state.
  virtual void set_port_state(PortNumber port, wire::PortState state, Time now) = 0;
  // Sleep, Polling or Disabled.
  virtual void set_physical_state(PortNumber port, wire::PortPhysicalState state, Time now) = 0;

  // --- tables of ports ---------------------------------------------------------------------------
  [[nodiscard]] virtual wire::PKeyBlock pkeys(PortNumber port, std::uint16_t block) const = 0;
  virtual void set_pkeys(PortNumber port, std::uint16_t block, const wire::PKeyBlock& value) = 0;
  // The first GUID of the first block is the port's own and stays what it is.
  [[nodiscard]] virtual wire::GuidBlock guids(PortNumber port, std::uint8_t block) const = 0;
  virtual void set_guids(PortNumber port, std::uint8_t block, const wire::GuidBlock& value) = 0;
  // Of packets from `in` to `out`. On a channel adapter `in` is 0 and does not count. On a switch
  // `in` is 0 for what its management port sends.
  [[nodiscard]] virtual wire::SlToVl sl_to_vl(PortNumber in, PortNumber out) const = 0;
  virtual void set_sl_to_vl(PortNumber in, PortNumber out, const wire::SlToVl& value) = 0;
  // `half` 1 and 2: lower and upper half of the low table; 3 and 4: of the high one.
  [[nodiscard]] virtual wire::VlArbitrationBlock vl_arbitration(PortNumber port,
                                                                std::uint8_t half) const = 0;
  virtual void set_vl_arbitration(PortNumber port, std::uint8_t half,
                                  const wire::VlArbitrationBlock& value) = 0;
  // The lamp that finds a port in a rack; asked for only where CapabilityMask has kCapLedInfo.
  [[nodiscard]] virtual bool led(PortNumber port) const = 0;
  virtual void set_led(PortNumber port, bool on) = 0;

  // --- switches
  // ------------------------------------------------------------------------------------ Asked for
  // on switches only.
  [[nodiscard]] virtual wire::SwitchInfo switch_info() const = 0;
  // LinearFDBTop, default ports, LifeTimeValue, PortStateChange, MulticastFDBTop.
  virtual void set_switch_info(const wire::SwitchInfo& info) = 0;
  [[nodiscard]] virtual wire::LinearBlock linear(std::uint16_t block) const = 0;
  virtual void set_linear(std::uint16_t block, const wire::LinearBlock& value) = 0;
  [[nodiscard]] virtual wire::MulticastBlock multicast(std::uint8_t position,
                                                       std::uint16_t block) const = 0;
  virtual void set_multicast(std::uint8_t position, std::uint16_t block,
                             const wire::MulticastBlock& value) = 0;

  // --- counting --------------------------------------------------------------------------------
  [[nodiscard]] virtual PortCounts port_counts(PortNumber port) const = 0;
};

}  // namespace weft::mgmt
