// SPDX-License-Identifier: Apache-2.0
// The subnet management agent of a node: answers Get and Set of the attributes of IBA 14.2.5. Who
// may ask is MkeyGuard's business.
#pragma once

#include "base/time.h"
#include "mgmt/managed_node.h"
#include "wire/mad.h"
#include "wire/sm/port_info.h"

namespace weft::mgmt {

class SubnetAgent {
 public:
  explicit SubnetAgent(ManagedNode& node) : node_(node) {}

  struct Request {
    bool set = false;
    PortNumber arrival = 0;  // of a switch that asks itself 0
    bool veil_mkey = false;  // PortInfo is shown without its M_Key
    bool is_sm = false;      // PortInfo of the arrival port shows IsSM
  };
  // Reads the attribute that `smp` names into it; of a Set, after changing it. What is not kOk
  // changed nothing.
  wire::MadStatus handle(const Request& request, wire::MutableMadBytes smp, Time now);

 private:
  [[nodiscard]] bool is_switch() const;
  // The port whose tables are meant where an attribute names none: that of arrival; on a switch 0.
  [[nodiscard]] PortNumber own_port(const Request& request) const;

  wire::MadStatus node_info(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus node_description(const Request& request, std::uint32_t modifier,
                                   MutableBytes data);
  wire::MadStatus switch_info(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus guid_info(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus port_info(const Request& request, std::uint32_t modifier, MutableBytes data,
                            Time now);
  wire::MadStatus pkey_table(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus sl_to_vl(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus vl_arbitration(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus linear(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus multicast(const Request& request, std::uint32_t modifier, MutableBytes data);
  wire::MadStatus led_info(const Request& request, std::uint32_t modifier, MutableBytes data);

  ManagedNode& node_;
};

}  // namespace weft::mgmt
