// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/trace.h"

#include "sm/sa/explain.h"
#include "wire/sa/trace_record.h"

namespace weft::sm {
namespace {

using wire::PathRecord;
using wire::SaStatus;

// IDs are GUIDs, which always mean the same.
constexpr std::uint16_t kGeneration = 1;

bool names_both_ends(const SaRequest& request) {
  const std::uint64_t mask = request.sa.component_mask;
  return (mask & (PathRecord::kHasSgid | PathRecord::kHasSlid)) != 0 &&
         (mask & (PathRecord::kHasDgid | PathRecord::kHasDlid)) != 0;
}

// External ports of a switch have no GUIDs of their own.
std::uint64_t id_of(const Subnet& subnet, const PortRef& port) {
  const bool is_switch = subnet.nodes[port.node].is_switch();
  return subnet.port(is_switch ? PortRef{port.node, 0} : port).guid.value();
}

}  // namespace

void answer_trace(const SubnetView& view, const PathFinder& paths, const SaRequest& request,
                  SaReply& reply) {
  if (!names_both_ends(request)) return reply.fail(SaStatus::kInsufficientComponents);
  SaRequest question = request;
  question.header.method = wire::MadMethod::kGet;
  SaReply found(PathRecord::kSize);
  paths.paths(question, found);
  if (found.status() != SaStatus::kOk) return reply.fail(found.status());
  if (found.count() == 0) return reply.fail(SaStatus::kNoRecords);
  const auto path = *PathRecord::parse(found.records());
  if (path.dgid.is_multicast()) return reply.fail(SaStatus::kRequestInvalid);
  const std::uint32_t from = view.end_of(path.slid);
  if (from == SubnetView::kNobody) return reply.fail(SaStatus::kNoRecords);
  const ViewEnd& source = view.ends()[from];
  const Explanation way = follow(view, source, path.dlid);
  if (!way.arrives) return reply.fail(SaStatus::kNoRecords);
  const Subnet& subnet = view.subnet();
  for (std::size_t i = 0; i <= way.hops.size(); ++i) {
    const std::uint32_t node = i == 0 ? source.at.node : way.hops[i - 1].in.node;
    wire::TraceRecord record{.gid_prefix = view.gid_prefix(),
                             .id_generation = kGeneration,
                             .node_type = subnet.nodes[node].info.type,
                             .node = subnet.nodes[node].info.node_guid.value()};
    if (i > 0) {
      record.entry_port = way.hops[i - 1].in.port;
      record.entry_port_id = id_of(subnet, way.hops[i - 1].in);
    }
    if (i < way.hops.size()) {
      record.exit_port = way.hops[i].out.port;
      record.exit_port_id = id_of(subnet, way.hops[i].out);
    }
    record.write(reply.add(wire::TraceRecord::kSize));
  }
}

}  // namespace weft::sm
