// SPDX-License-Identifier: Apache-2.0
// A packet of whose flow nothing is known yet, on its way through.
#include "service/runtime_passage.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "service/cm_paths.h"
#include "wire/lrh.h"

namespace weft::service {
namespace {

using enum RuntimeCounter;

constexpr std::array kMapDrops{kDropMalformed, kDropNoMapping,         kDropForeignQp,
                               kDropBadQKey,   kDropUnknownConnection, kDropMapFull};
static_assert(kMapDrops.size() == static_cast<std::size_t>(MapResult::kCount));

PKey rewritten(const std::vector<PKeyRule>& rules, PKey pkey) {
  const auto found = std::ranges::find(rules, pkey, &PKeyRule::from);
  return found == rules.end() ? pkey : found->to;
}

}  // namespace

Fate Runtime::drop(RuntimeCounter why) {
  counters_.add_in_turn(why);
  return Fate::kDropped;
}

Fate Runtime::drop(MapResult why) {
  return drop(kMapDrops[static_cast<std::size_t>(why)]);
}

Fate Runtime::drop_by(Place& place, std::uint16_t reason) {
  assert(reason < place.drops.size());
  ++place.drops[reason];
  return drop(kDropByService);
}

void Runtime::handle_new(Item& item, const FlowKey* key, std::uint64_t hash, Time now) {
  if (item.bytes.size() < wire::Lrh::kSize) {
    item.fate = drop(kDropMalformed);
    return;
  }
  const Lid via = wire::LrhView(item.bytes).dlid();
  Running* const by = running(via);
  if (by == nullptr) {
    item.fate = drop(kDropNoChain);
    return;
  }
  Passage passage(item, *by);
  passage.progress.via = via;
  if (const auto fate = enter(passage, now)) {
    item.fate = *fate;
  } else {
    item.fate = pass(passage, now);
  }
  if (item.arrival.tapped) {
    counters_.add_in_turn(kTapped);
    item.fate = Fate::kTapped;
  }
  if (key != nullptr && passage.keepable) keep(passage, *key, hash, item.fate);
}

// Who it is between, and what its QP numbers are.
std::optional<Fate> Runtime::enter(Passage& passage, Time now) {
  const Item& item = passage.item;
  const Fields fields = Fields::parse(item.bytes);
  if (fields.form == Form::kMalformed) return drop(kDropMalformed);
  const Chain& chain = passage.running.chain;
  const Lid to = chain.without_gids ? chain.without_gids->dlid : fields.dlid;
  passage.ends = {fields.global ? fields.sgid : end_of(fields.slid),
                  fields.global ? fields.dgid : end_of(to)};
  if (!chain.map_queue_pairs || item.arrival.tapped) {
    passage.packet.emplace(item.bytes, item.arrival, fields);
    return std::nullopt;
  }
  wire::LinkPatch patch(item.bytes);
  const MapResult result =
      mapper_.undo(fields, passage.ends, now, patch, passage.rewrite, passage.progress.undone);
  if (result != MapResult::kDone) {
    passage.keepable = false;
    return drop(result);
  }
  const bool inside = (patch.changed() & wire::LinkPatch::kPayload) != 0;
  if (item.arrival.sealed && inside && !patch.finish_checked()) return drop(kDropBufferDamaged);
  if (item.arrival.sealed && !inside) patch.finish();
  passage.packet.emplace(item.bytes, item.arrival);
  return std::nullopt;
}

std::optional<Fate> Runtime::ask_one(Passage& passage, std::size_t i, Time now) {
  Place& place = *passage.running.places[i];
  const bool was_changed = passage.packet->changed();
  const Verdict verdict = place.service.handle(*passage.packet, now);
  if (passage.packet->changed() && !was_changed) passage.keepable = false;
  if (verdict.mirror()) {
    mirror(passage.item.bytes, passage.item.arrival);
    passage.mirror = true;
  }
  const bool drops = verdict.action() == Verdict::Action::kDrop;
  if (passage.keepable) {
    if (verdict.whole_flow()) {
      passage.tally[i] = verdict.tally();
      passage.depend_on(Leases::slot(place.index + 1, verdict.tag()));
      if (drops) {
        passage.dropper = static_cast<std::uint8_t>(place.index);
        passage.reason = verdict.reason();
      }
    } else {
      passage.ask |= static_cast<std::uint8_t>(1U << i);
      if (verdict.action() != Verdict::Action::kForward || verdict.mirror()) {
        passage.keepable = false;
      }
    }
  }
  if (verdict.whole_flow() && verdict.tally() != nullptr) {
    ++verdict.tally()->packets;
    verdict.tally()->bytes += passage.item.bytes.size();
  }
  switch (verdict.action()) {
    case Verdict::Action::kForward:
      return std::nullopt;
    case Verdict::Action::kDrop:
      return drop_by(place, verdict.reason());
    case Verdict::Action::kHold:
      break;
  }
  passage.progress.service = i;
  return hold(passage, place.held_key(verdict.key()), verdict.until());
}

std::optional<Fate> Runtime::ask_services(Passage& passage, Time now) {
  for (std::size_t i = passage.progress.service; i < passage.running.places.size(); ++i) {
    if (const auto fate = ask_one(passage, i, now)) return fate;
  }
  passage.progress.service = passage.running.places.size();
  return std::nullopt;
}

Fate Runtime::hold(Passage& passage, std::uint64_t key, Time until) {
  passage.keepable = false;
  if (passage.item.arrival.tapped) return Fate::kTapped;
  Packet& packet = *passage.packet;
  passage.progress.redirected = packet.redirected();
  passage.progress.crosses_to = packet.crosses_to();
  passage.progress.leaves_as_own = packet.leaves_as_own();
  if (packet.changed() && packet.arrival().sealed) packet.patch().finish();
  if (!holds_.hold(key, packet.bytes(), packet.arrival(), passage.progress, until)) {
    return drop(kDropHoldFull);
  }
  counters_.add_in_turn(kHeld);
  return Fate::kHeld;
}

std::optional<Fate> Runtime::find_path(Passage& passage, Time now) {
  const Chain& chain = passage.running.chain;
  const Fields& fields = passage.packet->fields();
  if (!fields.global && !passage.packet->redirected()) {
    if (!chain.without_gids) return drop(kDropNoGids);
    passage.path = *chain.without_gids;
    return std::nullopt;
  }
  PathQuestion question{.sgid = fields.sgid,
                        .dgid = passage.packet->redirected().value_or(fields.dgid),
                        .pkey = fields.pkey,
                        .sl = fields.sl,
                        .via = passage.progress.via};
  const std::uint8_t crosses_to = passage.packet->crosses_to();
  // IBA 19.2: who has one hop left gets no further than here.
  if (crosses_to != 0 && fields.hop_limit <= 1) return drop(kDropHopLimit);
  if (crosses_to != 0 || passage.packet->leaves_as_own()) {
    question = {.sgid = crosses_to != 0 ? question.sgid : Gid{},
                .dgid = question.dgid,
                .pkey = rewritten(chain.pkeys, fields.pkey),
                .via = crosses_to != 0 ? Lid{} : question.via,
                .port = crosses_to != 0 ? crosses_to : passage.packet->arrival().port};
  }
  const std::uint64_t before = paths_.questions();
  const PathCache::Found found = paths_.find(question, now);
  counters_.add_in_turn(kPathQuestions, paths_.questions() - before);
  switch (found.state) {
    case PathCache::State::kKnown:
      passage.path = found.path;
      return std::nullopt;
    case PathCache::State::kRefused:
      return drop(kDropNoPath);
    case PathCache::State::kBusy:
      return drop(kDropPathBusy);
    case PathCache::State::kAsking:
      break;
  }
  // The question has a time of its own, after which they are let go of one way or the other.
  const Time until = now + 2 * options_.paths.patience;
  return hold(passage, std::hash<PathQuestion>{}(question), until);
}

std::optional<Fate> Runtime::rewrite_message(Passage& passage, PKey pkey) {
  Packet& packet = *passage.packet;
  const Fields& fields = packet.fields();
  if (!fields.cm.present || fields.dest_qp != kQp1) return std::nullopt;
  switch (rewrite_cm_paths(fields, passage.path, pkey, packet.patch())) {
    case CmPathResult::kUnchanged:
      return std::nullopt;
    case CmPathResult::kRefused:
      return drop(kDropAlternatePath);
    case CmPathResult::kWithoutAlternate:
      counters_.add_in_turn(kAlternatePathsTakenOut);
      break;
    case CmPathResult::kChanged:
      break;
  }
  counters_.add_in_turn(kCmRewritten);
  return std::nullopt;
}

// Puts the CRCs right, and counts what had to be done for it.
bool Runtime::finish(Packet& packet) {
  wire::LinkPatch& patch = packet.patch();
  if (!packet.arrival().sealed) return true;
  if ((patch.changed() & wire::LinkPatch::kPayload) == 0) {
    patch.finish();
    return true;
  }
  // Whoever changes what the ICRC protects looks first whether it is what the sender has sent.
  return patch.finish_checked();
}

Fate Runtime::leave(Passage& passage, Time now) {
  Packet& packet = *passage.packet;
  const Fields& fields = packet.fields();
  const Chain& chain = passage.running.chain;
  Rewrite& rewrite = passage.rewrite;
  wire::LinkPatch& patch = packet.patch();
  if (chain.map_queue_pairs) {
    const MapResult result =
        mapper_.hide(fields, passage.ends, passage.progress.undone, now, patch, rewrite);
    if (result != MapResult::kDone) return drop(result);
  }
  if (const auto fate = rewrite_message(passage, rewritten(chain.pkeys, fields.cm.pkey))) {
    return *fate;
  }
  const PKey pkey = rewritten(chain.pkeys, fields.pkey);
  if (fields.transport_at != 0 && pkey != fields.pkey &&
      (patch.changed() & wire::LinkPatch::kPKey) == 0) {
    rewrite.has |= Rewrite::kPKey;
    rewrite.pkey = pkey;
    patch.set_pkey(pkey);
  }
  rewrite.dlid = passage.path.dlid;
  rewrite.slid = passage.path.slid == Lid{} ? fields.slid : passage.path.slid;
  rewrite.sl = passage.path.sl;
  // It would come back for ever.
  const bool stays = packet.crosses_to() == 0;
  if (stays && rewrite.dlid == passage.progress.via) return drop(kDropLoop);
  patch.set_route(rewrite.sl, rewrite.dlid, rewrite.slid);
  // The ICRC does not cover the hop limit: whatever else has changed says what became of that.
  std::uint8_t changed = patch.changed();
  const std::uint8_t port = packet.crosses_to();
  if (port != 0) {
    rewrite.has |= Rewrite::kHop;
    patch.set_hop_limit(static_cast<std::uint8_t>(fields.hop_limit - 1));
  }
  if (!finish(packet)) return drop(kDropBufferDamaged);
  if (passage.progress.undone.mapped) changed |= wire::LinkPatch::kTransport;
  count_rewrite(changed, fields.global);
  counters_.add_in_turn(kForwarded);
  passage.item.out_port = port != 0 ? port : packet.arrival().port;
  return Fate::kForward;
}

Fate Runtime::pass(Passage& passage, Time now) {
  if (const auto fate = ask_services(passage, now)) return *fate;
  if (passage.item.arrival.tapped) return Fate::kTapped;
  if (const auto fate = find_path(passage, now)) {
    passage.keepable = false;
    return *fate;
  }
  const Fate fate = leave(passage, now);
  if (fate != Fate::kForward) passage.keepable = false;
  return fate;
}

void Runtime::keep(Passage& passage, const FlowKey& key, std::uint64_t hash, Fate fate) {
  if (passage.packet->redirected()) return;
  const bool dropped = fate == Fate::kDropped && passage.dropper != Flow::kNobody;
  if (fate != Fate::kForward && !dropped) return;
  Flow* const flow = flows_.place(hash, leases_);
  if (flow == nullptr) {
    counters_.add_in_turn(kFlowsNotKept);
    return;
  }
  if (passage.progress.undone.mapped) {
    passage.depend_on(
        Leases::slot(detail::kRuntime, detail::number_tag(passage.progress.undone.number)));
  }
  if ((passage.rewrite.has & Rewrite::kSourceQp) != 0) {
    passage.depend_on(
        Leases::slot(detail::kRuntime, detail::number_tag(passage.rewrite.source_qp)));
  }
  *flow = Flow{.key = key};
  flow->ask = passage.ask;
  flow->dropper = passage.dropper;
  flow->reason = passage.reason;
  flow->mirror = passage.mirror;
  flow->out_port = passage.item.out_port;
  flow->rewrite = passage.rewrite;
  flow->tally = passage.tally;
  flow->slot = passage.slot;
  flow->slots = passage.slots;
  flow->lease(leases_);
  flow->used = true;
  counters_.add_in_turn(kFlowsKept);
}

// What waited may go on.
void Runtime::resume(std::uint64_t key, Time now) {
  for (HeldPacket& held : holds_.take(key)) {
    Running* const by = running(held.progress.via);
    if (by == nullptr) {
      static_cast<void>(drop(kDropNoChain));
      continue;
    }
    Item item{.bytes = held.bytes, .arrival = held.arrival};
    Passage passage(item, *by);
    passage.keepable = false;
    passage.progress = held.progress;
    passage.progress.service = std::min(held.progress.service, by->places.size());
    passage.packet.emplace(item.bytes, item.arrival);
    if (held.progress.redirected) passage.packet->redirect(*held.progress.redirected);
    passage.packet->cross(held.progress.crosses_to);
    if (held.progress.leaves_as_own) passage.packet->leave_as_own();
    const Fields& fields = passage.packet->fields();
    const Lid to = by->chain.without_gids ? by->chain.without_gids->dlid : fields.dlid;
    passage.ends = {fields.global ? fields.sgid : end_of(fields.slid),
                    fields.global ? fields.dgid : end_of(to)};
    if (pass(passage, now) != Fate::kForward) continue;
    counters_.add_in_turn(kReleased);
    user_.send(item.bytes, item.out_port, item.arrival.sealed);
  }
}

void Runtime::resume_due(Time now) {
  // A packet that goes on may let others go on: those have their turn the next time, or a service
  // that lets go of what it holds again would never end.
  if (std::exchange(resuming_, true)) return;
  for (std::size_t left = due_.size(); left > 0; --left) {
    const std::uint64_t key = due_.front();
    due_.pop_front();
    resume(key, now);
  }
  resuming_ = false;
}

}  // namespace weft::service
