// SPDX-License-Identifier: Apache-2.0
// The records that show what nodes have: NodeRecord, PortInfoRecord, SwitchInfoRecord, LinkRecord,
// GUIDInfoRecord, SMInfoRecord, and those of the tables of ports and switches. IBA 15.2.5.2 to
// 15.2.5.13.
#pragma once

#include "sm/sa/exchange.h"
#include "sm/sa/subnet_view.h"
#include "wire/sa/sa_layout.h"

namespace weft::sm {

// The layout of an attribute that answer_table() has; null: it has not.
[[nodiscard]] const wire::SaLayout* table_layout(wire::SaAttribute attribute);

// Adds all records that are as the question says. Who is not trusted sees no M_Key, and is refused
// P_KeyTableRecords.
void answer_table(const SubnetView& view, const SaRequest& request, SaReply& reply);

}  // namespace weft::sm
