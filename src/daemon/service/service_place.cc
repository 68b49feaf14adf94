// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_place.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/ids.h"
#include "fabric/lab.h"
#include "io/clock.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
Time ServicePlace::Peers::now() const {
  return io::now();
}

Expected<std::unique_ptr<ServicePlace>> ServicePlace::open(
    fabric::ChannelAdapter& node, mgmt::PortNumber port,
    std::vector<std::unique_ptr<service::Service>> services, const Manner& manner, Memory memory,
    Peers& peers, Entropy& entropy) {
  std::unique_ptr<ServicePlace> place(
      new ServicePlace(node, std::move(services), manner, memory, peers, entropy));
  if (auto opened = place->questions_.open(); !opened) {
    return tl::unexpected(opened.error());
  }
  if (auto added = place->add_port(port, entropy); !added) return tl::unexpected(added.error());
  return place;
}

Expected<void> ServicePlace::add_port(mgmt::PortNumber port, Entropy& entropy) {
  auto added = std::make_unique<Side>(*this, port);
  auto raw = fabric::RawService::attach(node_, port, *added, {}, entropy);
  if (!raw) return tl::unexpected(raw.error());
  added->raw = std::move(*raw);
  sides_.push_back(std::move(added));
  return {};
}

ServicePlace::Side& ServicePlace::side(mgmt::PortNumber port) const {
  const auto found = std::ranges::find(sides_, port, [](const auto& each) { return each->port; });
  assert(found != sides_.end());
  return **found;
}

ServicePlace::ServicePlace(fabric::ChannelAdapter& node,
                           std::vector<std::unique_ptr<service::Service>> services,
                           const Manner& manner, Memory memory, Peers& peers, Entropy& entropy)
    : node_(node),
      is_tap_(manner.is_tap),
      memory_(memory),
      peers_(peers),
      services_(std::move(services)),
      questions_(node, *this) {
  service::RuntimeUser& user = *this;
  service::PathAsker& asker = *this;
  runtime_ = std::make_unique<service::Runtime>(service::RuntimeOptions{}, user, asker, entropy);
  // Nothing comes here but what is for these services, whatever its LID. A standby has no LID yet,
  // and must hear all the same what the others say.
  service::Chain chain = manner.chain;
  for (const auto& service : services_)
    chain.services.push_back(service.get());
  runtime_->set_chain(Lid{}, chain);
}

ServicePlace::~ServicePlace() {
  // Before the runtime, which it gives packets to.
  sides_.clear();
  questions_.close();
  node_.management_used();
}

Expected<void> ServicePlace::set_lids(mgmt::PortNumber port, std::span<const Lid> lids) {
  Side& at = side(port);
  Expected<void> result;
  std::vector<Lid> now_here;
  for (const Lid lid : at.lids) {
    if (std::ranges::find(lids, lid) != lids.end()) {
      now_here.push_back(lid);
    } else {
      // What this port has is restored without an error.
      static_cast<void>(at.raw->restore(lid));
    }
  }
  for (const Lid lid : lids) {
    if (std::ranges::find(now_here, lid) != now_here.end()) continue;
    if (auto diverted = at.raw->divert(lid); !diverted) {
      result = std::move(diverted);
      continue;
    }
    now_here.push_back(lid);
  }
  at.lids = std::move(now_here);
  return result;
}

Expected<void> ServicePlace::divert(const fabric::RawRule& rule) {
  for (const auto& each : sides_) {
    if (auto diverted = each->raw->divert(rule); !diverted) return diverted;
  }
  return {};
}

std::vector<CounterValue> ServicePlace::filter_counters() const {
  const fabric::RawPort* const raw = node_.opened_raw_port(port());
  return raw == nullptr ? std::vector<CounterValue>{} : raw->counters().snapshot();
}

void ServicePlace::forget(Guid port) {
  runtime_->forget(sm::make_gid(fabric::kDefaultSubnetPrefix, port));
  for (const auto& side : sides_)
    runtime_->forget(sm::make_gid(node_.port_info(side->port).gid_prefix, port));
}

void ServicePlace::catch_up(const ServicePlace& other, Time now) {
  struct Sink final : service::Service::RecordSink {
    Sink(ServicePlace& place, std::size_t which, Time when) : to(place), service(which), at(when) {}
    void take(Bytes record) override { to.apply(service, record, at); }
    ServicePlace& to;
    std::size_t service;
    Time at;
  };
  Sink mapping(*this, service::Runtime::kMapping, now);
  other.runtime_->snapshot(mapping);
  for (std::size_t i = 0; i < std::min(services_.size(), other.services_.size()); ++i) {
    Sink sink(*this, i, now);
    other.services_[i]->snapshot(sink);
  }
}

void ServicePlace::run(Time now) {
  if (const auto due = runtime_->deadline(); due && *due <= now) runtime_->run(now);
}

// --- packets -------------------------------------------------------------------------------------

void ServicePlace::take(mgmt::PortNumber port, std::uint16_t queue,
                        std::span<link::PacketPtr> packets, Time now) {
  while (!packets.empty()) {
    const std::size_t count = std::min(packets.size(), service::Runtime::kBurst);
    handle(port, queue, packets.first(count), now);
    packets = packets.subspan(count);
  }
}

// The payload may lie in a program's memory, and headers in the packet's: services look at what
// nobody else can change, in one piece.
bool ServicePlace::copy(link::Packet& packet, Copy& out) {
  auto block = memory_.blocks.acquire();
  if (!block || packet.size() > kBlock) return false;
  const link::Packet& from = packet;
  const auto end = std::ranges::copy(from.header(), block->bytes().begin()).out;
  std::ranges::copy(from.trailer(), std::ranges::copy(from.payload(), end).out);
  out = {.block = std::move(*block),
         .header = from.header().size(),
         .payload = from.payload().size(),
         .trailer = from.trailer().size(),
         .sealed = packet.sealed,
         .hold = std::move(packet.hold)};
  return true;
}

void ServicePlace::handle(mgmt::PortNumber port, std::uint16_t queue,
                          std::span<link::PacketPtr> packets, Time now) {
  std::size_t count = 0;
  for (link::PacketPtr& packet : packets) {
    Copy& copied = copies_[count];
    if (!copy(*packet, copied)) {
      counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
      continue;
    }
    packet.reset();
    items_[count++] = {
        .bytes = copied.block.bytes().first(copied.size()),
        .arrival = {.port = port, .queue = queue, .sealed = copied.sealed, .tapped = is_tap_}};
  }
  runtime_->handle(std::span(items_).first(count), now);
  for (std::size_t i = 0; i < count; ++i) {
    if (items_[i].fate == service::Fate::kForward) {
      forward(copies_[i], items_[i].out_port, now);
    } else {
      copies_[i] = {};
    }
  }
}

void ServicePlace::forward(Copy& copy, mgmt::PortNumber port, Time now) {
  const Bytes bytes = copy.block.bytes().first(copy.size());
  link::PacketPtr packet = memory_.packets.refer(
      bytes.first(copy.header), bytes.subspan(copy.header, copy.payload),
      copy.payload == 0 ? BufferRef() : std::move(copy.block), bytes.last(copy.trailer));
  if (packet == nullptr) {
    counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
  } else {
    packet->sealed = copy.sealed;
    packet->hold = std::move(copy.hold);
    if (side(port).raw->send(std::move(packet), now) != fabric::Sent::kTaken) {
      counters_.add_in_turn(ServicePlaceCounter::kRefused);
    }
  }
  copy = {};
}

void ServicePlace::send(Bytes bytes, std::uint8_t port, bool sealed) {
  link::PacketPtr packet = memory_.packets.copy(bytes);
  if (packet == nullptr) return counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
  packet->sealed = sealed;
  if (side(port).raw->send(std::move(packet), peers_.now()) != fabric::Sent::kTaken) {
    counters_.add_in_turn(ServicePlaceCounter::kRefused);
  }
}

void ServicePlace::mirror(Bytes packet, const service::Arrival& arrival) {
  if (!peers_.mirror(*this, packet, arrival)) {
    counters_.add_in_turn(ServicePlaceCounter::kMirrorLost);
  }
}

bool ServicePlace::show(Bytes packet, service::Arrival arrival, Time now) {
  auto block = memory_.blocks.acquire();
  if (!block || packet.size() > block->bytes().size()) return false;
  std::ranges::copy(packet, block->bytes().begin());
  arrival.tapped = true;
  service::Item item{.bytes = block->bytes().first(packet.size()), .arrival = arrival};
  counters_.add_in_turn(ServicePlaceCounter::kShown);
  runtime_->handle(std::span(&item, 1), now);
  return true;
}

void ServicePlace::publish(std::size_t service, Bytes record) {
  peers_.publish(*this, service, record);
}

// --- paths ---------------------------------------------------------------------------------------

void ServicePlace::ask(std::uint64_t number, const service::PathQuestion& question) {
  const bool crosses = question.port != 0;
  const mgmt::PortNumber at = crosses ? question.port : port();
  const SaPathQuestion asked = questions_.of_service(at, question, side(at).lids);
  if (!questions_.ask(at, number, asked, peers_.now())) {
    return counters_.add_in_turn(ServicePlaceCounter::kUnasked);
  }
  if (crosses) crossing_.insert(number);
}

void ServicePlace::path_answered(std::uint64_t number, const SaPathAnswer& answer) {
  const bool crosses = crossing_.erase(number) > 0;
  // One that is busy answers when it is asked again, which the runtime does for who still waits.
  if (answer.outcome == SaPathAnswer::Outcome::kBusy) return;
  std::optional<service::Path> path = answer.path();
  if (path && crosses) lead_back(*path, lids(answer.port));
  runtime_->path_answered(number, path, peers_.now());
}

}  // namespace weft::daemon
