// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/paths.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "sm/partitions.h"
#include "sm/sa/selector.h"
#include "wire/sa/multi_path_record.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

using wire::PathRecord;
using wire::SaStatus;
using Selector = wire::SaValue::Selector;

constexpr std::uint8_t kRouterHops = 0xFF;

std::uint16_t number_of(PKey pkey) {
  return pkey.value() & Partitions::kDefaultNumber;
}

bool is_multicast(Lid lid) {
  return lid.value() >= wire::MulticastBlock::kFirstLid && lid.value() != 0xFFFF;
}

}  // namespace

PathFinder::Ends PathFinder::ends_of(const Question& question, std::uint64_t gid_bit,
                                     const Gid& gid, std::uint64_t lid_bit, Lid lid) const {
  if (!question.has(gid_bit) && !question.has(lid_bit)) return {.all = true};
  Ends found;
  if (question.has(gid_bit)) {
    found.one = gid_bit == PathRecord::kHasDgid ? end_towards(gid) : view_.end_of(gid);
    if (found.one == SubnetView::kNobody) return {.status = SaStatus::kInvalidGid};
  }
  // A service LID is nobody's: it says as what a service asks, or which one is wanted.
  if (question.has(lid_bit) && !(found.one != SubnetView::kNobody && is_service_lid(lid))) {
    const std::uint32_t other = view_.end_of(lid);
    const bool same = found.one == SubnetView::kNobody || found.one == other;
    if (other == SubnetView::kNobody || !same) return {.status = SaStatus::kNoRecords};
    found.one = other;
  }
  return found;
}

std::uint32_t PathFinder::router_towards(std::uint64_t prefix) const {
  for (const PrefixRoute& route : options_.prefix_routes) {
    if (route.prefix != prefix && route.prefix != 0) continue;
    const std::uint32_t end = route.router == Guid{} ? any_router() : view_.end_of(route.router);
    if (end != SubnetView::kNobody) return end;
  }
  return SubnetView::kNobody;
}

std::uint32_t PathFinder::any_router() const {
  for (std::uint32_t end = 0; end < view_.ends().size(); ++end) {
    const SubnetNode& node = view_.subnet().nodes[view_.ends()[end].at.node];
    if (node.info.type == wire::NodeType::kRouter) return end;
  }
  return SubnetView::kNobody;
}

// IBA 15.4.1.2: of what it shares no partition with, an asker is told nothing.
bool PathFinder::may_know(const SaRequest& request, const ViewEnd& from, const ViewEnd& to) const {
  if (request.trusted) return true;
  if (request.requester == SubnetView::kNobody) return false;
  const ViewEnd& asker = view_.ends()[request.requester];
  return view_.shares_partition(asker, from) && view_.shares_partition(asker, to);
}

PathFinder::Question PathFinder::question_of(const SaRequest& request) const {
  Question question{.request = request,
                    .mask = request.sa.component_mask,
                    .asked = *PathRecord::parse(request.data)};
  if (request.is_table()) {
    question.most = question.has(PathRecord::kHasNumbPath)
                        ? std::size_t{question.asked.paths}
                        : std::numeric_limits<std::size_t>::max();
  }
  if (question.has(PathRecord::kHasSgid)) question.source = view_.with_prefix(question.asked.sgid);
  if (question.has(PathRecord::kHasDgid) && view_.is_here(question.asked.dgid)) {
    question.destination = view_.with_prefix(question.asked.dgid);
  }
  return question;
}

void PathFinder::paths(const SaRequest& request, SaReply& reply) const {
  const Question question = question_of(request);
  const bool group = (question.has(PathRecord::kHasDgid) && question.asked.dgid.is_multicast()) ||
                     (question.has(PathRecord::kHasDlid) && is_multicast(question.asked.dlid));
  if (group) return to_group(question, reply);
  const Ends from = ends_of(question, PathRecord::kHasSgid, question.asked.sgid,
                            PathRecord::kHasSlid, question.asked.slid);
  if (from.status == SaStatus::kInvalidGid && is_on_the_way(question)) {
    return from_beyond(question, reply);
  }
  if (from.status != SaStatus::kOk) return reply.fail(from.status);
  const Ends to = ends_of(question, PathRecord::kHasDgid, question.asked.dgid, PathRecord::kHasDlid,
                          question.asked.dlid);
  if (to.status == SaStatus::kInvalidGid && steers() && !from.all) {
    return beyond(question, from.one, reply);
  }
  if (to.status != SaStatus::kOk) return reply.fail(to.status);
  const auto range = [&](const Ends& which) {
    const auto all = static_cast<std::uint32_t>(view_.ends().size());
    return which.all ? std::pair(std::uint32_t{0}, all) : std::pair(which.one, which.one + 1);
  };
  const auto sources = range(from);
  const auto destinations = range(to);
  for (std::uint32_t i = sources.first; i < sources.second; ++i) {
    for (std::uint32_t j = destinations.first; j < destinations.second; ++j) {
      if (reply.full() || (!request.is_table() && reply.count() > 0)) return;
      between(question, view_.ends()[i], view_.ends()[j], reply);
    }
  }
}

void PathFinder::between(const Question& question, const ViewEnd& from, const ViewEnd& to,
                         SaReply& reply) const {
  if (!steers()) return direct(question, from, to, std::nullopt, reply);
  const PathQuery query = query_of(question, from, &to);
  const PathDecision decision = steering_->decide(query, names_both(question));
  const std::size_t before = reply.count();
  const bool is_led = decision.action == PathAction::kThrough || decision.service;
  if (decision.action != PathAction::kNone && is_led) {
    led(question, from, &to, query, decision, reply);
  } else if (decision.action == PathAction::kDirect) {
    direct(question, from, to, decision.sl, reply);
  }
  note_told(question, reply.count() - std::min(before, reply.count()));
}

// With several LIDs at an end, paths differ in both: the first of each, then the second, and so on.
void PathFinder::direct(const Question& question, const ViewEnd& from, const ViewEnd& to,
                        std::optional<Sl> given, SaReply& reply) const {
  if (!may_know(question.request, from, to)) return;
  const std::uint32_t sources = 1u << from.lmc;
  const std::uint32_t destinations = 1u << to.lmc;
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < sources * destinations && found < question.most; ++i) {
    // All pairs: the second round pairs the first source with the second destination.
    const std::uint32_t source = i % sources;
    const std::uint32_t destination = (i + i / std::lcm(sources, destinations)) % destinations;
    PathRecord answer;
    answer.slid = Lid{static_cast<std::uint16_t>(from.lid.value() + source)};
    answer.dlid = Lid{static_cast<std::uint16_t>(to.lid.value() + destination)};
    const bool named =
        (!question.has(PathRecord::kHasSlid) || question.asked.slid == answer.slid) &&
        (!question.has(PathRecord::kHasDlid) || question.asked.dlid == answer.dlid);
    if (!named || !path(question, from, to, given, answer)) continue;
    ++found;
    tell(question, answer, reply);
    if (reply.full()) return;
  }
}

bool PathFinder::path(const Question& question, const ViewEnd& from, const ViewEnd& to,
                      std::optional<Sl> given, PathRecord& answer) const {
  const auto way = view_.way(from, answer.dlid);
  if (!way) return false;
  // All paths are told as reversible, so they have to be.
  if (!view_.way(to, answer.slid)) return false;
  const auto pkey = view_.common_pkey(
      from, to,
      question.has(PathRecord::kHasPKey) ? std::optional(question.asked.pkey) : std::nullopt);
  if (!pkey) return false;
  answer.pkey = *pkey;
  const auto sl = level(question, from, given, answer, *way);
  if (!sl) return false;
  answer.sl = *sl;
  const wire::PortInfo& own = *view_.port_of(from).info;
  const bool inside = way->links == 0;
  if (!fit(question, inside ? own.mtu_cap : way->mtu, inside ? wire::rate_code(own) : way->rate,
           options_.packet_life, answer)) {
    return false;
  }
  answer.sgid = question.source.value_or(view_.gid_of(from));
  answer.dgid = question.destination.value_or(view_.gid_of(to));
  if (question.has(PathRecord::kHasDgid) && !view_.is_here(question.asked.dgid)) {
    answer.dgid = question.asked.dgid;  // behind a router
    answer.hop_limit = kRouterHops;
  }
  answer.reversible = true;
  return true;
}

std::optional<Sl> PathFinder::level(const Question& question, const ViewEnd& from,
                                    std::optional<Sl> given, const PathRecord& answer,
                                    const Way& way) const {
  const bool is_asked = question.has(PathRecord::kHasSl);
  if (view_.uses_levels()) {
    const Sl own = view_.level(from, answer.dlid);
    return is_asked && question.asked.sl != own ? std::nullopt : std::optional(own);
  }
  // What is asked for is met, or there is no record.
  if (is_asked && given && *given != question.asked.sl) return std::nullopt;
  // All of them lead there, as long as they have a lane.
  Sl sl = given.value_or(question.asked.sl);
  if (!is_asked && !given) {
    const auto of_partition = options_.levels.find(number_of(answer.pkey));
    sl = of_partition == options_.levels.end() ? Sl{} : of_partition->second;
  }
  const bool by_adapter = way.links > 0 && !view_.subnet().nodes[from.at.node].is_switch();
  const bool by_switch = way.links > (by_adapter ? 1u : 0u);
  const unsigned usable = (by_adapter ? options_.adapter_levels : 0xFFFFu) &
                          (by_switch ? options_.switch_levels : 0xFFFFu);
  return (usable >> sl.value() & 1) != 0 ? std::optional(sl) : std::nullopt;
}

bool PathFinder::fit(const Question& question, std::uint8_t mtu, std::uint8_t rate,
                     std::uint8_t life, PathRecord& answer) const {
  const auto& asked = question.asked;
  const auto best_mtu = greatest(
      Wanted::of(question.mask, PathRecord::kHasMtuSelector, PathRecord::kHasMtu, asked.mtu), mtu);
  const auto best_rate = greatest_rate(
      Wanted::of(question.mask, PathRecord::kHasRateSelector, PathRecord::kHasRate, asked.rate),
      rate);
  const auto best_life = lifetime(Wanted::of(question.mask, PathRecord::kHasLifeSelector,
                                             PathRecord::kHasLife, asked.packet_life),
                                  life);
  if (!best_mtu || !best_rate || !best_life) return false;
  answer.mtu = exactly(*best_mtu);
  answer.rate = exactly(*best_rate);
  answer.packet_life = exactly(*best_life);
  return true;
}

void PathFinder::to_group(const Question& question, SaReply& reply) const {
  const GroupTable::Group* const group = question.has(PathRecord::kHasDgid)
                                             ? groups_.find(question.asked.dgid)
                                             : groups_.find(question.asked.dlid);
  if (group == nullptr) return reply.fail(SaStatus::kNoRecords);
  const Ends from = ends_of(question, PathRecord::kHasSgid, question.asked.sgid,
                            PathRecord::kHasSlid, question.asked.slid);
  if (from.status != SaStatus::kOk) return reply.fail(from.status);
  const std::uint32_t source = from.all ? question.request.requester : from.one;
  if (source == SubnetView::kNobody) return reply.fail(SaStatus::kInsufficientComponents);
  const ViewEnd& end = view_.ends()[source];
  if (!view_.has_partition(end, group->like.pkey)) return;
  PathRecord answer;
  const bool by_gid = question.has(PathRecord::kHasSgid);
  answer.sgid = by_gid ? view_.with_prefix(question.asked.sgid) : view_.gid_of(end);
  answer.slid = end.lid;
  answer.dgid = group->like.mgid;
  answer.dlid = group->like.mlid;
  answer.pkey = group->like.pkey;
  answer.sl = group->like.sl;
  answer.flow_label = group->like.flow_label;
  answer.hop_limit = group->like.hop_limit;
  answer.traffic_class = group->like.traffic_class;
  if (!fit(question, group->like.mtu.value, group->like.rate.value, options_.packet_life, answer)) {
    return;
  }
  tell(question, answer, reply);
}

void PathFinder::tell(const Question& question, PathRecord& answer, SaReply& reply) const {
  if (policy_ && !policy_(question.request, answer)) return;
  answer.write(reply.add(PathRecord::kSize));
}

// The first pairs have neither end in common, if it can be.
void PathFinder::multi_paths(const SaRequest& request, SaReply& reply) const {
  const auto asked = wire::MultiPathRecord::parse(request.data);
  if (!asked || asked->sgids.empty() || asked->dgids.empty() ||
      !request.has(wire::MultiPathRecord::kHasSgidCount | wire::MultiPathRecord::kHasDgidCount)) {
    return reply.fail(SaStatus::kInsufficientComponents);
  }
  Question question{.request = request,
                    .mask = wire::MultiPathRecord::path_mask(request.sa.component_mask),
                    .asked = asked->like};
  const std::size_t most = question.has(PathRecord::kHasNumbPath)
                               ? std::size_t{asked->like.paths}
                               : std::numeric_limits<std::size_t>::max();
  const std::size_t sources = asked->sgids.size();
  const std::size_t destinations = asked->dgids.size();
  for (std::size_t i = 0; i < sources * destinations && reply.count() < most; ++i) {
    const Gid& source = asked->sgids[i % sources];
    const Gid& destination = asked->dgids[(i + i / std::lcm(sources, destinations)) % destinations];
    const std::uint32_t from = view_.end_of(source);
    const std::uint32_t to = view_.end_of(destination);
    question.source = view_.with_prefix(source);
    question.destination.reset();
    question.asked.dgid = destination;
    if (from != SubnetView::kNobody && to == SubnetView::kNobody && steers()) {
      beyond(question, from, reply);
      if (reply.status() != SaStatus::kOk) return;
      continue;
    }
    if (from == SubnetView::kNobody || to == SubnetView::kNobody) {
      return reply.fail(SaStatus::kInvalidGid);
    }
    question.destination = view_.with_prefix(destination);
    between(question, view_.ends()[from], view_.ends()[to], reply);
  }
}

}  // namespace weft::sm
