// SPDX-License-Identifier: Apache-2.0
// The nodes on the way of a path: SubnAdmGetTraceTable, IBA 15.2.5.19.
#pragma once

#include "sm/sa/exchange.h"
#include "sm/sa/paths.h"
#include "sm/sa/subnet_view.h"

namespace weft::sm {

// Adds a TraceRecord for each node, from the source to the destination, of the path that the
// question, a PathRecord, would be told with Get. Both of its ends have to be named.
void answer_trace(const SubnetView& view, const PathFinder& paths, const SaRequest& request,
                  SaReply& reply);

}  // namespace weft::sm
