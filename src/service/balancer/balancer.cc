// SPDX-License-Identifier: Apache-2.0
#include "service/balancer/balancer.h"

#include <algorithm>
#include <cassert>

#include "wire/cm_connect.h"
#include "wire/endian.h"

namespace weft::service {
namespace {

using wire::CmMessage;

// wire/cm_connect.h: of REQ's body, the GID of the server in its primary path: behind two LIDs and
// the client's GID.
constexpr std::size_t kReqServerGid = 52 + 4 + 16;
// Of private data, the destination in the header that rdma_cm writes (IBA A11.3), and in the hello
// of sockets direct (IBA A4.3.2); 16 bytes, an IPv4 address in the last four.
constexpr std::size_t kDestination = 20;
constexpr std::size_t kSdpDestination = 48;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product =
      static_cast<unsigned __int128>(a ^ 0x9E37'79B9'7F4A'7C15) * (b ^ 0xBF58'476D'1CE4'E5B9);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::array<std::byte, 16> bytes_of(const Gid& gid) {
  std::array<std::byte, 16> out;
  wire::store_gid(out.data(), gid);
  return out;
}

std::uint64_t mix(std::uint64_t sum, const Gid& gid) {
  const auto bytes = bytes_of(gid);
  return mix(mix(sum, wire::load_be64(bytes.data())), wire::load_be64(bytes.data() + 8));
}

bool is_request(const CmFields& cm) {
  return cm.message == CmMessage::kReq || cm.message == CmMessage::kSidrReq;
}

Verdict refuse(BalancerDrop why) {
  return Verdict::drop(static_cast<std::uint16_t>(why));
}

}  // namespace

Balancer::Balancer(const Options& options, Entropy& entropy)
    : options_(options),
      secret_{entropy.draw(), entropy.draw()},
      mapper_(options.mapping, entropy) {
}

void Balancer::set_servers(std::span<const Server> servers) {
  assert(servers.size() <= kMostServers);
  for (Place& place : places_)
    place.in_use = false;
  for (const Server& server : servers) {
    if (Place* const known = find(server.gid)) {
      known->server = server;
      known->in_use = true;
    } else {
      places_.push_back({.server = server});
    }
  }
  forget_idle();
}

void Balancer::forget_idle() {
  std::erase_if(places_, [this](const Place& place) {
    const Gid& gid = place.server.gid;
    return !place.in_use && mapper_.connection_table().size_of(gid) == 0 &&
           mapper_.queue_pairs().size_of(gid) == 0;
  });
}

Balancer::Place* Balancer::find(const Gid& server) {
  const auto found = std::ranges::find_if(
      places_, [&server](const Place& place) { return place.server.gid == server; });
  return found == places_.end() ? nullptr : &*found;
}

bool Balancer::is_well(const Place& place, Time now) const {
  return place.in_use && (!place.failed || now >= *place.failed + options_.rest);
}

std::uint64_t Balancer::weight(const Gid& client, std::uint64_t what, const Gid& server) const {
  return mix(mix(mix(mix(secret_[0], client), what), server), secret_[1]);
}

// A request that is repeated goes where it went before, as long as that is well.
Balancer::Place* Balancer::choose(const Fields& fields, Time now) {
  const CmFields& cm = fields.cm;
  const bool sidr = cm.message == CmMessage::kSidrReq;
  const CmTable& table = mapper_.connection_table();
  bool any_well = false;
  for (Place& place : places_) {
    if (!is_well(place, now)) continue;
    if (table.awaits(fields.sgid, cm.local_comm_id, place.server.gid, sidr)) {
      const bool answers = !place.silent_since || now < *place.silent_since + options_.silence;
      if (answers) return &place;
      place.failed = now;
      continue;
    }
    any_well = true;
  }
  const std::uint64_t what = sidr ? cm.service_id.value() : cm.local_comm_id.value();
  Place* best = nullptr;
  std::pair<std::size_t, std::uint64_t> least{};
  for (Place& place : places_) {
    // With none that is well, one of those that may have come back.
    if (any_well ? !is_well(place, now) : !place.in_use) continue;
    const bool counts = options_.spread == Spread::kLeast && !sidr;
    const std::pair has(counts ? table.size_of(place.server.gid) : 0,
                        ~weight(fields.sgid, what, place.server.gid));
    if (best != nullptr && has >= least) continue;
    best = &place;
    least = has;
  }
  if (best != nullptr) {
    ++best->chosen;
    if (!best->silent_since) best->silent_since = now;
    ++requests_;
  }
  return best;
}

Balancer::Place* Balancer::server_of(const Fields& fields, Time now, BalancerDrop& why) {
  if (fields.dest_qp.value() > kQp1.value()) {
    const MappedQp* const entry = mapper_.queue_pairs().find(fields.dest_qp);
    why = entry == nullptr ? BalancerDrop::kNoMapping : BalancerDrop::kForeignQp;
    return entry == nullptr ? nullptr : find(entry->owner);
  }
  if (!fields.cm.present || fields.dest_qp != kQp1) {
    why = BalancerDrop::kNotBalanced;
    return nullptr;
  }
  if (fields.cm.message == CmMessage::kLap) {
    why = BalancerDrop::kAlternatePath;
    return nullptr;
  }
  if (is_request(fields.cm)) {
    why = BalancerDrop::kNoServer;
    return choose(fields, now);
  }
  why = BalancerDrop::kUnknownConnection;
  for (Place& place : places_) {
    if (mapper_.knows({.from = fields.sgid, .to = place.server.gid}, fields.cm)) return &place;
  }
  return nullptr;
}

Verdict Balancer::drop(MapResult why) const {
  constexpr std::array kDrops{BalancerDrop::kNotBalanced,       BalancerDrop::kNoMapping,
                              BalancerDrop::kForeignQp,         BalancerDrop::kBadQKey,
                              BalancerDrop::kUnknownConnection, BalancerDrop::kMapFull};
  static_assert(kDrops.size() == static_cast<std::size_t>(MapResult::kCount));
  return refuse(kDrops[static_cast<std::size_t>(why)]);
}

// Both ends' numbers, as Runtime does it for chains that map queue pairs.
MapResult Balancer::map(Packet& packet, const Ends& ends, Time now) {
  Rewrite whole_flow;  // nobody keeps it: each packet comes here
  Mapper::Undone undone;
  const Fields& fields = packet.fields();
  const MapResult result = mapper_.undo(fields, ends, now, packet.patch(), whole_flow, undone);
  if (result != MapResult::kDone) return result;
  return mapper_.hide(fields, ends, undone, now, packet.patch(), whole_flow);
}

// What a request names is the service; its server has to find itself there.
void Balancer::name_server(Packet& packet, const Server& server) const {
  const Fields& fields = packet.fields();
  const CmFields& cm = fields.cm;
  if (cm.message == CmMessage::kReq && cm.primary_remote_gid == service_) {
    packet.write(fields.payload_at + wire::MadHeader::kSize + kReqServerGid, bytes_of(server.gid));
  }
  const bool names_service = fields.ip.by_request && options_.address && server.address &&
                             fields.ip.destination == *options_.address;
  if (!names_service || server.address->is_ipv4_mapped() != (fields.ip.version == 4)) return;
  const std::size_t at = cm.private_at + (cm.sdp ? kSdpDestination : kDestination);
  const auto address = bytes_of(*server.address);
  // An IPv4 address has zeros before it there.
  const std::size_t from = fields.ip.version == 4 ? 12 : 0;
  packet.write(at + from, Bytes(address).subspan(from));
}

Verdict Balancer::to_server(Packet& packet, Time now) {
  const Fields& fields = packet.fields();
  BalancerDrop why{};
  const Place* const place = server_of(fields, now, why);
  if (place == nullptr) return refuse(why);
  const Server& server = place->server;
  const MapResult result = map(packet, {.from = fields.sgid, .to = server.gid}, now);
  if (result != MapResult::kDone) return drop(result);
  packet.set_dgid(server.gid);
  if (fields.cm.present && is_request(fields.cm)) name_server(packet, server);
  packet.redirect(server.gid);
  packet.leave_as_own();
  return Verdict::forward();
}

Verdict Balancer::to_client(Packet& packet, Place& from, Time now) {
  const Fields& fields = packet.fields();
  from.silent_since.reset();
  from.failed.reset();
  const bool to_qp1 = fields.dest_qp.value() <= kQp1.value();
  if (to_qp1 && (!fields.cm.present || is_request(fields.cm))) {
    return refuse(BalancerDrop::kNotBalanced);
  }
  if (to_qp1 && fields.cm.message == CmMessage::kLap) {
    return refuse(BalancerDrop::kAlternatePath);
  }
  const MapResult result = map(packet, {.from = fields.sgid, .to = fields.dgid}, now);
  if (result != MapResult::kDone) return drop(result);
  packet.set_sgid(service_);
  packet.leave_as_own();
  return Verdict::forward();
}

Verdict Balancer::handle(Packet& packet, Time now) {
  now_ = now;
  const Fields& fields = packet.fields();
  if (!fields.global || fields.transport_at == 0) return refuse(BalancerDrop::kNoGrh);
  Place* const from = fields.dgid == service_ ? nullptr : find(fields.sgid);
  const Verdict verdict = fields.dgid == service_ ? to_server(packet, now)
                          : from != nullptr       ? to_client(packet, *from, now)
                                                  : refuse(BalancerDrop::kNotBalanced);
  publish_news();
  return verdict;
}

void Balancer::publish_news() {
  for (const MapRecord& record : mapper_.take_news())
    host().publish(record.bytes());
}

void Balancer::apply(Bytes record, Time now) {
  now_ = now;
  if (!mapper_.apply(record, now)) ++bad_records_;
}

void Balancer::run(Time now) {
  now_ = now;
  mapper_.run(now);
  // Nobody keeps what a number means: each packet is looked up.
  static_cast<void>(mapper_.queue_pairs().take_changed());
  forget_idle();
  publish_news();
}

void Balancer::path_settled(const Gid& to, bool is_there) {
  if (Place* const place = find(to)) {
    place->failed = is_there ? std::nullopt : std::optional(now_);
  }
}

std::vector<CounterValue> Balancer::counters() const {
  std::vector<CounterValue> out{
      {"requests", "new connections and SIDR requests that were given to a server", requests_},
      {"connections", "connections that there are, or were a moment ago", mapper_.connections()},
      {"queue_pairs", "QP numbers that ends were told", mapper_.queue_pairs().size()},
      {"bad_records", "records of other instances that cannot be, or found no room", bad_records_}};
  for (const Place& place : places_) {
    out.push_back(
        {place.server.name, "of these requests, those of the server of this name", place.chosen});
  }
  return out;
}

}  // namespace weft::service
