// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_place.h"

#include <algorithm>
#include <utility>

#include "daemon/sa_question.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/path_record.h"

namespace weft::daemon {
namespace {

using wire::PathRecord;

// For one answer of the administrator, and how often it is asked again.
constexpr Duration kPatience = 250ms;
constexpr unsigned kRetries = 3;

constexpr std::uint64_t kAsked = PathRecord::kHasDgid | PathRecord::kHasSgid |
                                 PathRecord::kHasSlid | PathRecord::kHasReversible |
                                 PathRecord::kHasNumbPath | PathRecord::kHasPKey;
constexpr std::uint16_t kBusy = 1;  // of a MAD's status, IBA 13.4.7

// Full members may talk to everybody of a partition, so that a question about it is answered.
constexpr std::uint16_t kFullMember = 0x8000;

}  // namespace

Expected<std::unique_ptr<ServicePlace>> ServicePlace::open(
    fabric::ChannelAdapter& node, mgmt::PortNumber port,
    std::vector<std::unique_ptr<service::Service>> services, Memory memory, Peers& peers,
    Entropy& entropy) {
  std::unique_ptr<ServicePlace> place(
      new ServicePlace(node, port, std::move(services), memory, peers, entropy));
  const mgmt::AgentRequest questions{.mgmt_class = wire::MgmtClass::kSubnAdm,
                                     .class_version = wire::kSaClassVersion};
  if (auto opened = place->agents_.open(node.port_count(), questions); !opened) {
    return tl::unexpected(opened.error());
  }
  auto raw = fabric::RawService::attach(node, port, *place, {}, entropy);
  if (!raw) return tl::unexpected(raw.error());
  place->raw_ = std::move(*raw);
  return place;
}

ServicePlace::ServicePlace(fabric::ChannelAdapter& node, mgmt::PortNumber port,
                           std::vector<std::unique_ptr<service::Service>> services, Memory memory,
                           Peers& peers, Entropy& entropy)
    : node_(node),
      port_(port),
      memory_(memory),
      peers_(peers),
      services_(std::move(services)),
      agents_(node.management(), *this) {
  service::RuntimeUser& user = *this;
  service::PathAsker& asker = *this;
  runtime_ = std::make_unique<service::Runtime>(service::RuntimeOptions{}, user, asker, entropy);
  // Nothing comes here but what is for these services, whatever its LID. A standby has no LID yet,
  // and must hear all the same what the others say.
  service::Chain chain;
  for (const auto& service : services_)
    chain.services.push_back(service.get());
  runtime_->set_chain(Lid{}, chain);
}

ServicePlace::~ServicePlace() {
  // Before the runtime, which it gives packets to.
  raw_.reset();
  agents_.close();
  node_.management_used();
}

Expected<void> ServicePlace::set_lids(std::span<const Lid> lids) {
  Expected<void> result;
  std::vector<Lid> now_here;
  for (const Lid lid : lids_) {
    if (std::ranges::find(lids, lid) != lids.end()) {
      now_here.push_back(lid);
    } else {
      // What this port has is restored without an error.
      static_cast<void>(raw_->restore(lid));
    }
  }
  for (const Lid lid : lids) {
    if (std::ranges::find(now_here, lid) != now_here.end()) continue;
    if (auto diverted = raw_->divert(lid); !diverted) {
      result = std::move(diverted);
      continue;
    }
    now_here.push_back(lid);
  }
  lids_ = std::move(now_here);
  return result;
}

Expected<void> ServicePlace::divert(const fabric::RawRule& rule) {
  return raw_->divert(rule);
}

void ServicePlace::run(Time now) {
  if (const auto due = runtime_->deadline(); due && *due <= now) runtime_->run(now);
}

// --- packets -------------------------------------------------------------------------------------

void ServicePlace::take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) {
  while (!packets.empty()) {
    const std::size_t count = std::min(packets.size(), service::Runtime::kBurst);
    handle(queue, packets.first(count), now);
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

void ServicePlace::handle(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) {
  std::size_t count = 0;
  for (link::PacketPtr& packet : packets) {
    Copy& copied = copies_[count];
    if (!copy(*packet, copied)) {
      counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
      continue;
    }
    packet.reset();
    items_[count++] = {.bytes = copied.block.bytes().first(copied.size()),
                       .arrival = {.port = port_, .queue = queue, .sealed = copied.sealed}};
  }
  runtime_->handle(std::span(items_).first(count), now);
  for (std::size_t i = 0; i < count; ++i) {
    if (items_[i].fate == service::Fate::kForward) {
      forward(copies_[i], now);
    } else {
      copies_[i] = {};
    }
  }
}

void ServicePlace::forward(Copy& copy, Time now) {
  const Bytes bytes = copy.block.bytes().first(copy.size());
  link::PacketPtr packet = memory_.packets.refer(
      bytes.first(copy.header), bytes.subspan(copy.header, copy.payload),
      copy.payload == 0 ? BufferRef() : std::move(copy.block), bytes.last(copy.trailer));
  if (packet == nullptr) {
    counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
  } else {
    packet->sealed = copy.sealed;
    packet->hold = std::move(copy.hold);
    if (raw_->send(std::move(packet), now) != fabric::Sent::kTaken) {
      counters_.add_in_turn(ServicePlaceCounter::kRefused);
    }
  }
  copy = {};
}

void ServicePlace::send(Bytes bytes, std::uint8_t, bool sealed) {
  link::PacketPtr packet = memory_.packets.copy(bytes);
  if (packet == nullptr) return counters_.add_in_turn(ServicePlaceCounter::kNoMemory);
  packet->sealed = sealed;
  if (raw_->send(std::move(packet), io::now()) != fabric::Sent::kTaken) {
    counters_.add_in_turn(ServicePlaceCounter::kRefused);
  }
}

void ServicePlace::mirror(Bytes packet, const service::Arrival& arrival) {
  peers_.mirror(*this, packet, arrival);
}

void ServicePlace::publish(std::size_t service, Bytes record) {
  peers_.publish(*this, service, record);
}

// --- paths ---------------------------------------------------------------------------------------

void ServicePlace::ask(std::uint64_t number, const service::PathQuestion& question) {
  const wire::PortInfo info = node_.port_info(port_);
  const PathRecord record{.dgid = question.dgid,
                          .sgid = question.sgid,
                          .slid = question.via,
                          .reversible = true,
                          .paths = 1,
                          .pkey = PKey(question.pkey.value() | kFullMember)};
  const auto mad =
      sa_question(wire::MadMethod::kGet, kAsked, record, static_cast<std::uint32_t>(number));
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = kPatience,
      .retries = kRetries,
      .cookie = number};
  const bool known = info.state == wire::PortState::kActive && hca::is_unicast(info.master_sm_lid);
  if (!known || !agents_.send(port_, request, io::now())) {
    return counters_.add_in_turn(ServicePlaceCounter::kUnasked);
  }
  node_.management_used();
}

void ServicePlace::received(mgmt::PortNumber, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie) return;
  const auto header = wire::MadHeader::parse(mad.mad);
  // One that is busy answers when it is asked again, which the runtime does for who still waits.
  if (!header || (header->status & kBusy) != 0) return;
  std::optional<service::Path> path;
  if (header->status == 0 && header->method == wire::MadMethod::kGetResponse &&
      header->attribute_id == PathRecord::kAttributeId && mad.mad.size() >= wire::kMadSize) {
    const auto record = PathRecord::parse(mad.mad.subspan(wire::SaHeader::kDataOffset));
    if (record && hca::is_unicast(record->dlid)) {
      path = {.dlid = record->dlid, .slid = record->slid, .sl = record->sl};
    }
  }
  runtime_->path_answered(*mad.cookie, path, io::now());
}

void ServicePlace::finished(mgmt::PortNumber, std::uint64_t cookie, mgmt::MadResult) {
  runtime_->path_answered(cookie, std::nullopt, io::now());
}

}  // namespace weft::daemon
