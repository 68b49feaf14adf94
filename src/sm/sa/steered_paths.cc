// SPDX-License-Identifier: Apache-2.0
// Paths that lead through data services. Who asks is told the LID of the first service ahead, and
// by HopLimit that packets need a GRH: its DGID is how the service knows where they are to go.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "sm/sa/paths.h"
#include "wire/sa/rate.h"

namespace weft::sm {
namespace {

using wire::PathRecord;
using wire::SaStatus;

// Above 1 programs take the path for one with a GRH (IBA 8.3.6 has it for other subnets).
constexpr std::uint8_t kServiceHops = 0xFF;
constexpr unsigned kSteeredPathsLongestLife = 63;

}  // namespace

bool PathFinder::names_both(const Question& question) {
  return (question.mask & (PathRecord::kHasSgid | PathRecord::kHasSlid)) != 0 &&
         (question.mask & (PathRecord::kHasDgid | PathRecord::kHasDlid)) != 0;
}

PathQuery PathFinder::query_of(const Question& question, const ViewEnd& from,
                               const ViewEnd* to) const {
  PathQuery query;
  query.source = {.gid = question.source.value_or(view_.gid_of(from)), .port = from.guid};
  const bool is_here =
      to != nullptr && (question.destination || !question.has(PathRecord::kHasDgid));
  query.destination.gid = question.destination ? *question.destination
                          : is_here            ? view_.gid_of(*to)
                                               : question.asked.dgid;
  if (is_here) query.destination.port = to->guid;
  const SaRequest& request = question.request;
  query.requester.lid = request.from.lid;
  if (request.requester != SubnetView::kNobody) {
    const ViewEnd& asker = view_.ends()[request.requester];
    query.requester.port = asker.guid;
    query.requester.gid = view_.gid_of(asker);
    // One of several that the port has.
    const auto& global = request.from.global;
    if (global && view_.end_of(global->gid) == request.requester) {
      query.requester.gid = view_.with_prefix(global->gid);
    }
  }
  if (question.has(PathRecord::kHasSlid)) query.slid = question.asked.slid;
  if (question.has(PathRecord::kHasServiceId)) query.service_id = question.asked.service_id;
  if (question.has(PathRecord::kHasQosClass)) query.qos_class = question.asked.qos_class;
  std::optional<PKey> pkey;
  if (question.has(PathRecord::kHasPKey)) pkey = question.asked.pkey;
  if (!pkey && is_here) pkey = view_.common_pkey(from, *to);
  if (!pkey && is_here) pkey = view_.common_partition(from, *to);
  query.pkey = pkey.value_or(PKey{});
  if (question.has(PathRecord::kHasSl)) {
    query.sl = question.asked.sl;
  } else if (view_.uses_levels()) {
    if (is_here) query.sl = view_.level(from, to->lid);
  } else if (const auto of_partition =
                 options_.levels.find(static_cast<std::uint16_t>(query.pkey.value() & 0x7FFF));
             of_partition != options_.levels.end()) {
    query.sl = of_partition->second;
  }
  return query;
}

std::optional<PathFinder::Steered> PathFinder::steered(const SaRequest& request) const {
  if (steering_ == nullptr) return std::nullopt;
  const Question question = question_of(request);
  if (!names_both(question)) return std::nullopt;
  const Ends from = ends_of(question, PathRecord::kHasSgid, question.asked.sgid,
                            PathRecord::kHasSlid, question.asked.slid);
  const Ends to = ends_of(question, PathRecord::kHasDgid, question.asked.dgid, PathRecord::kHasDlid,
                          question.asked.dlid);
  if (from.one == SubnetView::kNobody) return std::nullopt;
  const bool is_known = to.one != SubnetView::kNobody;
  if (!is_known && !question.has(PathRecord::kHasDgid)) return std::nullopt;
  Steered found{.query = query_of(question, view_.ends()[from.one],
                                  is_known ? &view_.ends()[to.one] : nullptr)};
  found.decision = steering_->decide(found.query, false);
  judge_level(question, found.decision);
  return found;
}

void PathFinder::judge_level(const Question& question, PathDecision& decision) const {
  if (!decision.sl) return;
  const std::string before = decision.reason.empty() ? "" : decision.reason + "; ";
  if (view_.uses_levels()) {
    // By another one packets could wait for each other in a circle.
    decision.reason =
        fmt::format("{}routing needs the SLs itself: SL {} of the rule does not count", before,
                    decision.sl->value());
  } else if (question.has(PathRecord::kHasSl) && question.asked.sl != *decision.sl) {
    decision.reason = fmt::format("{}SL {} is asked for, and the rule gives SL {}", before,
                                  question.asked.sl.value(), decision.sl->value());
    decision.action = PathAction::kNone;
    decision.hops.clear();
  } else {
    return;
  }
  decision.sl.reset();
}

// To what is neither here nor behind a router: a service may be what joins it to this subnet.
void PathFinder::beyond(const Question& question, std::uint32_t from, SaReply& reply) const {
  const ViewEnd& source = view_.ends()[from];
  const PathQuery query = query_of(question, source, nullptr);
  const PathDecision decision = steering_->decide(query, names_both(question));
  if (decision.action != PathAction::kThrough) return reply.fail(SaStatus::kInvalidGid);
  const std::size_t before = reply.count();
  led(question, source, nullptr, query, decision, reply);
  note_told(question, reply.count() - std::min(before, reply.count()));
}

bool PathFinder::is_on_the_way(const Question& question) const {
  const std::uint32_t asker = question.request.requester;
  if (!steers() || !question.has(PathRecord::kHasSgid) || asker == SubnetView::kNobody ||
      view_.is_here(question.asked.sgid)) {
    return false;
  }
  if (question.has(PathRecord::kHasSlid)) return is_service_lid(question.asked.slid);
  return steering_->services().is_any_at(view_.ends()[asker].guid);
}

// From what is none of this subnet's: a service that joins it to another one says so of what it has
// brought, by its LID or by where it asks, and nobody else is answered.
void PathFinder::from_beyond(const Question& question, SaReply& reply) const {
  const Ends to = ends_of(question, PathRecord::kHasDgid, question.asked.dgid, PathRecord::kHasDlid,
                          question.asked.dlid);
  if (to.status != SaStatus::kOk) return reply.fail(to.status);
  if (to.all) return reply.fail(SaStatus::kInsufficientComponents);
  const ViewEnd& service = view_.ends()[question.request.requester];
  const ViewEnd& end = view_.ends()[to.one];
  PathQuery query = query_of(question, service, &end);
  query.source = {.gid = question.asked.sgid};
  const PathDecision decision = steering_->decide(query, true);
  if (!decision.service) return reply.fail(SaStatus::kInvalidGid);
  if (decision.action != PathAction::kNone) led(question, service, &end, query, decision, reply);
  note_told(question, reply.count());
}

void PathFinder::led(const Question& question, const ViewEnd& from, const ViewEnd* to,
                     const PathQuery& query, const PathDecision& decision, SaReply& reply) const {
  const bool for_service = decision.service.has_value();
  const SaRequest& request = question.request;
  if (!request.trusted && request.requester == SubnetView::kNobody) return;
  const ViewEnd& start = for_service ? view_.ends()[request.requester] : from;
  // Others than the ends and the services between them are told what they could be told of a
  // direct path.
  const bool is_own = for_service || request.requester == view_.end_of(from.guid);
  if (!is_own && to != nullptr && !may_know(request, from, *to)) return;
  std::vector<Lid> lids;
  if (!decision.hops.empty()) {
    lids = decision.hops.front().lids;
  } else if (to != nullptr) {
    for (unsigned i = 0; i < 1u << to->lmc; ++i)
      lids.push_back(Lid{static_cast<std::uint16_t>(to->lid.value() + i)});
  }
  const std::size_t sources = for_service ? 1 : std::size_t{1} << from.lmc;
  std::size_t found = 0;
  for (std::size_t i = 0; !lids.empty() && i < std::max(sources, lids.size()); ++i) {
    if (found == question.most || reply.full()) return;
    PathRecord answer;
    answer.slid = Lid{static_cast<std::uint16_t>(from.lid.value() + i % sources)};
    answer.dlid = lids[i % lids.size()];
    const bool named = (for_service || !question.has(PathRecord::kHasSlid) ||
                        question.asked.slid == answer.slid) &&
                       (!question.has(PathRecord::kHasDlid) || question.asked.dlid == answer.dlid ||
                        !is_service_lid(question.asked.dlid));
    if (for_service && decision.returns_to != Lid{}) answer.slid = decision.returns_to;
    if (!named || !lead(question, start, to, query, decision, answer)) continue;
    answer.sgid = query.source.gid;
    answer.dgid = query.destination.gid;
    ++found;
    tell(question, answer, reply);
  }
}

bool PathFinder::lead(const Question& question, const ViewEnd& start, const ViewEnd* to,
                      const PathQuery& query, const PathDecision& decision,
                      PathRecord& answer) const {
  const std::uint32_t next =
      decision.hops.empty() ? SubnetView::kNobody : view_.end_of(decision.hops.front().port);
  if (!decision.hops.empty() && next == SubnetView::kNobody) return false;
  const ViewEnd& first = decision.hops.empty() ? *to : view_.ends()[next];
  // IBA 15.4.1.2 of the first leg: who is to send there has to share a partition with it. The ends
  // may share none: the service is what joins them.
  if (!decision.service && !may_know(question.request, start, first)) return false;
  const auto way = view_.way(start, answer.dlid);
  const auto all = legs(start, to, decision, answer.dlid);
  if (!way || !all || !view_.way(first, answer.slid)) return false;
  const auto pkey = pkey_towards(question, query, decision, start, first);
  if (!pkey) return false;
  answer.pkey = *pkey;
  const auto sl = level(question, start, decision.sl, answer, *way);
  if (!sl) return false;
  answer.sl = *sl;
  const wire::PortInfo& own = *view_.port_of(start).info;
  const auto legs_more = static_cast<unsigned>(std::bit_width(all->count - 1));
  const auto life = static_cast<std::uint8_t>(
      std::min(options_.packet_life + legs_more, kSteeredPathsLongestLife));
  if (!fit(question, all->mtu != 0 ? all->mtu : own.mtu_cap,
           all->mtu != 0 ? all->rate : wire::rate_code(own), life, answer)) {
    return false;
  }
  answer.hop_limit = kServiceHops;
  answer.reversible = true;
  return true;
}

// All the way to the destination, for what the source may send has to fit through all of it.
// Nothing: some of it is not there, or its ends share no partition.
std::optional<PathFinder::Legs> PathFinder::legs(const ViewEnd& start, const ViewEnd* to,
                                                 const PathDecision& decision, Lid first) const {
  std::vector<const ViewEnd*> ends{&start};
  std::vector<Lid> lids{first};
  for (std::size_t i = 0; i < decision.hops.size(); ++i) {
    const std::uint32_t end = view_.end_of(decision.hops[i].port);
    if (end == SubnetView::kNobody) return std::nullopt;
    if (i > 0) lids.push_back(decision.hops[i].lids.front());
    ends.push_back(&view_.ends()[end]);
  }
  if (to != nullptr) {
    if (!decision.hops.empty()) lids.push_back(to->lid);
    ends.push_back(to);
  }
  Legs legs{.count = ends.size() - 1};
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (!view_.shares_partition(*ends[i], *ends[i + 1])) return std::nullopt;
    const auto way = view_.way(*ends[i], lids[i]);
    if (!way) return std::nullopt;
    if (way->links == 0) continue;
    const bool slower = legs.mtu == 0 || wire::rate_mbps(way->rate) < wire::rate_mbps(legs.rate);
    if (slower) legs.rate = way->rate;
    legs.mtu = legs.mtu == 0 ? way->mtu : std::min(legs.mtu, way->mtu);
  }
  return legs;
}

// That which the ends have in common where the service has it too; else any that it shares, for a
// service may change the P_Key to that of another partition.
std::optional<PKey> PathFinder::pkey_towards(const Question& question, const PathQuery& query,
                                             const PathDecision& decision, const ViewEnd& from,
                                             const ViewEnd& to) const {
  if (question.has(PathRecord::kHasPKey) && !decision.service) {
    return view_.common_pkey(from, to, question.asked.pkey);
  }
  // What crosses subnets has the P_Key already with which it is to arrive.
  const bool crosses = query.source.port == Guid{} && question.has(PathRecord::kHasPKey);
  if (crosses) return view_.common_pkey(from, to, question.asked.pkey);
  if (query.pkey != PKey{}) {
    if (const auto pkey = view_.common_pkey(from, to, query.pkey)) return pkey;
  }
  return view_.common_pkey(from, to);
}

}  // namespace weft::sm
