// SPDX-License-Identifier: Apache-2.0
#include "service/runtime.h"

#include <algorithm>
#include <cassert>

#include "service/runtime_passage.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::service {
namespace {

using enum RuntimeCounter;
using wire::load_le16;
using wire::load_le32;
using wire::load_le64;

// The eight bytes that have the hop limit in them, of a packet with a GRH.
constexpr std::size_t kHopsWord = wire::Lrh::kSize;
static_assert(wire::GrhView::kHopLimitByte < 8);

std::uint8_t hops_of(Bytes packet) {
  return wire::load_u8(packet.data() + kHopsWord + wire::GrhView::kHopLimitByte);
}

// Changes of eight bytes of a packet, gathered for both CRCs.
class FastPatch {
 public:
  FastPatch(MutableBytes packet, bool global)
      : packet_(packet),
        covered_(packet.size() - wire::kVcrcSize - wire::kIcrcSize),
        global_(global) {}

  // After they were changed in place.
  void changed(std::size_t at, std::uint64_t before) {
    // The LRH of a global packet is not covered; of others the VL, which nobody changes here.
    changed(at, before, at != 0 || !global_);
  }
  // Of the hop limit, which the ICRC does not cover either (IBA 7.8.1).
  void changed_hops(std::uint64_t before) { changed(kHopsWord, before, false); }
  void finish() {
    std::byte* const icrc = packet_.data() + covered_;
    std::byte* const vcrc = icrc + wire::kIcrcSize;
    if (icrc_ != 0) {
      wire::store_le32(icrc, load_le32(icrc) ^ icrc_);
      vcrc_ = static_cast<std::uint16_t>(vcrc_ ^ wire::crc16_change(std::uint64_t{icrc_} << 32, 0));
    }
    wire::store_le16(vcrc, static_cast<std::uint16_t>(load_le16(vcrc) ^ vcrc_));
  }

 private:
  void changed(std::size_t at, std::uint64_t before, bool protects) {
    const std::uint64_t difference = before ^ load_le64(packet_.data() + at);
    if (difference == 0) return;
    const std::size_t behind = covered_ - at - 8;
    vcrc_ = static_cast<std::uint16_t>(vcrc_ ^
                                       wire::crc16_change(difference, behind + wire::kIcrcSize));
    if (protects) icrc_ ^= wire::crc32_change(difference, behind);
  }

  MutableBytes packet_;
  std::size_t covered_;
  bool global_;
  std::uint32_t icrc_ = 0;
  std::uint16_t vcrc_ = 0;
};

bool is_global(Bytes packet) {
  return (wire::load_u8(packet.data() + 1) & 3) == static_cast<int>(wire::Lnh::iba_global);
}

// `part`: of Rewrite::has, and the LIDs if `route`.
void carry_out(const Rewrite& rewrite, std::uint8_t part, bool route, const Item& item) {
  const MutableBytes packet = item.bytes;
  const bool global = is_global(packet);
  FastPatch patch(packet, global);
  std::byte* const at = packet.data();
  const std::uint64_t lrh = load_le64(at);
  if (route) {
    wire::LrhView view(packet);
    view.set_sl(rewrite.sl);
    view.set_dlid(rewrite.dlid);
    view.set_slid(rewrite.slid);
    if (item.arrival.sealed) patch.changed(0, lrh);
  }
  if ((part & Rewrite::kHop) != 0) {
    const std::uint64_t before = load_le64(at + kHopsWord);
    wire::GrhView(packet.subspan(wire::Lrh::kSize))
        .set_hop_limit(static_cast<std::uint8_t>(hops_of(packet) - 1));
    if (item.arrival.sealed) patch.changed_hops(before);
  }
  const std::size_t bth = wire::Lrh::kSize + (global ? wire::Grh::kSize : 0);
  if ((part & (Rewrite::kPKey | Rewrite::kDestQp)) != 0) {
    const std::uint64_t before = load_le64(at + bth);
    if ((part & Rewrite::kPKey) != 0) wire::store_be16(at + bth + 2, rewrite.pkey.value());
    if ((part & Rewrite::kDestQp) != 0) wire::store_be24(at + bth + 5, rewrite.dest_qp.value());
    if (item.arrival.sealed) patch.changed(bth, before);
  }
  if ((part & (Rewrite::kSourceQp | Rewrite::kQKey)) != 0) {
    // Only of UD, which has no other header before the DETH.
    const std::size_t deth = bth + wire::Bth::kSize;
    const std::uint64_t before = load_le64(at + deth);
    if ((part & Rewrite::kQKey) != 0) wire::store_be32(at + deth, rewrite.qkey.value());
    if ((part & Rewrite::kSourceQp) != 0) {
      wire::store_be24(at + deth + 5, rewrite.source_qp.value());
    }
    if (item.arrival.sealed) patch.changed(deth, before);
  }
  if (item.arrival.sealed) patch.finish();
}

std::uint8_t changes_of(const Rewrite& rewrite) {
  using wire::LinkPatch;
  std::uint8_t changed = LinkPatch::kLrh;
  if ((rewrite.has & Rewrite::kPKey) != 0) changed |= LinkPatch::kPKey;
  if ((rewrite.has & ~unsigned{Rewrite::kPKey | Rewrite::kHop}) != 0) {
    changed |= LinkPatch::kTransport;
  }
  return changed;
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options, RuntimeUser& user, PathAsker& asker,
                 Entropy& entropy)
    : options_(options),
      user_(user),
      flows_(options.flows, entropy),
      holds_(options.hold),
      paths_(options.paths, asker,
             [this](const PathQuestion& question, const std::optional<Path>& path) {
               due_.push_back(std::hash<PathQuestion>{}(question));
               if (question.port == 0) return;
               for (const auto& place : places_)
                 place->service.path_settled(question.dgid, path.has_value());
             }),
      mapper_(options.mapping, entropy) {
}

Runtime::~Runtime() = default;

void Runtime::set_chain(Lid lid, const Chain& chain) {
  assert(chain.services.size() <= kMostServices);
  auto running = std::make_unique<Running>();
  running->chain = chain;
  for (Service* const service : chain.services) {
    const auto known = std::ranges::find_if(
        places_, [service](const auto& place) { return &place->service == service; });
    if (known != places_.end()) {
      running->places.push_back(known->get());
      continue;
    }
    places_.push_back(std::make_unique<Place>(*this, places_.size(), *service));
    service->attach(*places_.back());
    running->places.push_back(places_.back().get());
  }
  chains_[lid] = std::move(running);
  leases_.revoke_all();
}

Runtime::Running* Runtime::running(Lid lid) {
  auto found = chains_.find(lid);
  if (found == chains_.end()) found = chains_.find(Lid{});
  return found == chains_.end() ? nullptr : found->second.get();
}

void Runtime::handle(std::span<Item> burst, Time now) {
  assert(burst.size() <= kBurst);
  std::array<FlowKey, kBurst> keys;
  std::array<std::uint64_t, kBurst> hashes;
  std::uint64_t known = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    bytes += burst[i].bytes.size();
    if (burst[i].arrival.tapped) continue;
    if (!FlowKey::read(burst[i].bytes, burst[i].arrival.port, keys[i])) continue;
    known |= std::uint64_t{1} << i;
    hashes[i] = flows_.hash(keys[i]);
    flows_.prefetch(hashes[i]);
  }
  sends_left_ = burst.size();
  counters_.add_in_turn(kPackets, burst.size());
  counters_.add_in_turn(kBytes, bytes);
  for (std::size_t i = 0; i < burst.size(); ++i) {
    if ((known >> i & 1) == 0) {
      handle_new(burst[i], nullptr, 0, now);
      continue;
    }
    Flow* const flow = flows_.find(keys[i], hashes[i], leases_);
    if (flow != nullptr) {
      handle_known(*flow, burst[i], now);
    } else {
      handle_new(burst[i], &keys[i], hashes[i], now);
    }
  }
  publish_mapping();
  resume_due(now);
}

void Runtime::count_rewrite(std::uint8_t changed, bool global) {
  using wire::LinkPatch;
  if ((changed & LinkPatch::kPayload) != 0) {
    counters_.add_in_turn(kIcrcAnew);
  } else if ((changed & (LinkPatch::kTransport | LinkPatch::kGrh)) != 0) {
    counters_.add_in_turn(kIcrcCorrectedHeaders);
  } else if ((changed & LinkPatch::kPKey) != 0 || !global) {
    counters_.add_in_turn(kIcrcCorrectedPKey);
  } else {
    counters_.add_in_turn(kIcrcKept);
  }
}

void Runtime::handle_known(Flow& flow, Item& item, Time now) {
  if (flow.mirror) mirror(item.bytes, item.arrival);
  if (flow.ask != 0 && !ask_of_known(flow, item, now)) return;
  for (Tally* const tally : flow.tally) {
    if (tally == nullptr) continue;
    ++tally->packets;
    tally->bytes += item.bytes.size();
  }
  if (flow.dropper != Flow::kNobody) {
    item.fate = drop_by(*places_[flow.dropper], flow.reason);
    return;
  }
  std::uint8_t part = flow.rewrite.has;
  if ((part & Rewrite::kHop) != 0 && hops_of(item.bytes) <= 1) {
    item.fate = drop(kDropHopLimit);
    return;
  }
  // What services that were asked had to see has been put in already.
  if (flow.ask != 0) part &= static_cast<std::uint8_t>(~(Rewrite::kDestQp | Rewrite::kQKey));
  carry_out(flow.rewrite, part, true, item);
  item.fate = Fate::kForward;
  item.out_port = flow.out_port;
  count_rewrite(changes_of(flow.rewrite), is_global(item.bytes));
  counters_.add_in_turn(kForwarded);
  counters_.add_in_turn(kForwardedByFlow);
}

bool Runtime::ask_of_known(Flow& flow, Item& item, Time now) {
  Running* const by = running(wire::LrhView(item.bytes).dlid());
  assert(by != nullptr);  // or the flow would not count
  const std::uint8_t undone = flow.rewrite.has & (Rewrite::kDestQp | Rewrite::kQKey);
  if (undone != 0) carry_out(flow.rewrite, undone, false, item);
  Passage passage(item, *by);
  passage.packet.emplace(item.bytes, item.arrival);
  passage.progress.via = wire::LrhView(item.bytes).dlid();
  passage.keepable = false;
  for (std::size_t i = 0; i < by->places.size(); ++i) {
    if ((flow.ask >> i & 1) == 0) continue;
    passage.progress.service = i;
    if (const auto fate = ask_one(passage, i, now)) {
      item.fate = *fate;
      return false;
    }
  }
  Packet& packet = *passage.packet;
  if (packet.redirected()) {
    passage.progress.service = by->places.size();
    passage.ends = {packet.fields().sgid, *packet.redirected()};
    item.fate = pass(passage, now);
    return false;
  }
  if (packet.changed() && !finish(packet)) {
    item.fate = drop(kDropBufferDamaged);
    return false;
  }
  return true;
}

void Runtime::mirror(Bytes packet, const Arrival& arrival) {
  counters_.add_in_turn(kMirrored);
  user_.mirror(packet, arrival);
}

// What a service says itself, at most as much as it is told.
bool Runtime::send(Bytes packet, std::uint8_t port) {
  if (sends_left_ == 0) {
    counters_.add_in_turn(kServicePacketsRefused);
    return false;
  }
  --sends_left_;
  counters_.add_in_turn(kServicePackets);
  user_.send(packet, port, true);
  return true;
}

void Runtime::publish_mapping() {
  for (const MapRecord& record : mapper_.take_news())
    user_.publish(kMapping, record.bytes());
}

void Runtime::apply(std::size_t service, Bytes record, Time now) {
  bool done = true;
  if (service == kMapping) {
    done = mapper_.apply(record, now);
  } else if (service < places_.size()) {
    places_[service]->service.apply(record, now);
  } else {
    done = false;
  }
  if (!done) counters_.add_in_turn(kBadRecords);
}

void Runtime::path_answered(std::uint64_t number, const std::optional<Path>& path, Time now) {
  paths_.answered(number, path, now);
  resume_due(now);
  publish_mapping();
}

void Runtime::paths_changed(const Gid& gid) {
  paths_.invalidate(gid);
  leases_.revoke_all();
}

void Runtime::paths_changed() {
  paths_.invalidate_all();
  leases_.revoke_all();
}

void Runtime::pin_path(const Gid& dgid, const Path& path) {
  paths_.pin(dgid, path);
  leases_.revoke_all();
}

void Runtime::forget(const Gid& end) {
  mapper_.forget(end);
  paths_changed(end);
}

void Runtime::run(Time now) {
  sends_left_ = kBurst;
  paths_.run(now);
  mapper_.run(now);
  if (next_refresh_ <= now) {
    // Flows outlive the answers that they were made of by this long at most.
    leases_.revoke_all();
    next_refresh_ = now + options_.paths.lifetime;
  }
  for (const Qpn number : mapper_.queue_pairs().take_changed())
    leases_.revoke(Leases::slot(detail::kRuntime, detail::number_tag(number)));
  for (const auto& place : places_) {
    const auto due = place->service.deadline();
    if (due && *due <= now) place->service.run(now);
  }
  publish_mapping();
  resume_due(now);
  if (const std::size_t late = holds_.expire(now)) counters_.add_in_turn(kDropHoldExpired, late);
}

std::optional<Time> Runtime::deadline() const {
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> other) {
    if (other) first = std::min(first.value_or(*other), *other);
  };
  if (!due_.empty()) return Time{};
  earlier(next_refresh_);
  earlier(paths_.deadline());
  earlier(mapper_.deadline());
  earlier(holds_.deadline());
  for (const auto& place : places_)
    earlier(place->service.deadline());
  return first;
}

std::vector<CounterValue> Runtime::drops(const Service& service) const {
  std::vector<CounterValue> out;
  for (const auto& place : places_) {
    if (&place->service != &service) continue;
    const auto reasons = service.drop_reasons();
    for (std::size_t i = 0; i < reasons.size(); ++i)
      out.push_back({reasons[i].name, reasons[i].help, place->drops[i]});
  }
  return out;
}

}  // namespace weft::service
