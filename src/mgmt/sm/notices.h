// SPDX-License-Identifier: Apache-2.0
// What each trap of a node tells: the DataDetails of IBA 14.2.5.1, tables 131 to 140. The issuer is
// filled in by whoever sends it.
#pragma once

#include "mgmt/key_violation.h"
#include "mgmt/mad_envelope.h"
#include "wire/sm/node_info.h"
#include "wire/sm/notice.h"
#include "wire/sm/port_info.h"

namespace weft::mgmt {

[[nodiscard]] wire::Notice link_state_notice(Lid lid);
// 129 to 131: what went wrong at a port of the node with that LID.
[[nodiscard]] wire::Notice link_trouble_notice(wire::TrapNumber trap, wire::NodeType producer,
                                               Lid lid, PortNumber port);
[[nodiscard]] wire::Notice capability_notice(wire::NodeType producer, const wire::PortInfo& info,
                                             bool description_changed);
// `smp` is the one whose key was wrong, from `envelope.slid`.
[[nodiscard]] wire::Notice bad_mkey_notice(wire::NodeType producer, const MadEnvelope& envelope,
                                           wire::MadBytes smp);
// 257 and 258.
[[nodiscard]] wire::Notice bad_key_notice(wire::NodeType producer, const KeyViolation& violation);
// 259, at an external port of the switch with that LID.
[[nodiscard]] wire::Notice bad_pkey_at_switch_notice(const KeyViolation& violation, Lid lid,
                                                     PortNumber port);

}  // namespace weft::mgmt
