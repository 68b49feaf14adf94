// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/served_place.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace weft::daemon {

ServedPlace::ServedPlace(Services services, const Manner& manner, Memory memory, Entropy& entropy,
                         std::function<void()> wake)
    : services_(std::move(services)),
      memory_(memory),
      in_subnet_(manner.in_subnet),
      wake_(std::move(wake)) {
  service::RuntimeUser& user = *this;
  service::PathAsker& asker = *this;
  runtime_ = std::make_unique<service::Runtime>(service::RuntimeOptions{}, user, asker, entropy);
  // The place sends nothing but what is for these services, whatever its LID.
  service::Chain chain = manner.chain;
  for (const auto& service : services_)
    chain.services.push_back(service.get());
  runtime_->set_chain(Lid{}, chain);
  for (std::size_t i = 1; i <= manner.ports; ++i) {
    sides_.push_back(std::make_unique<Side>(*this, static_cast<std::uint8_t>(i), memory_.packets));
  }
}

ServedPlace::~ServedPlace() = default;

void ServedPlace::wake() {
  if (!std::exchange(woken_, true)) wake_();
}

bool ServedPlace::is_up() const {
  return std::ranges::all_of(sides_, [](const auto& side) { return side->end.is_up(); });
}

void ServedPlace::run_sides(Time now) {
  for (const auto& side : sides_)
    side->end.run(now);
  handle(now);
}

void ServedPlace::run(Time now) {
  now_ = now;
  woken_ = true;
  run_sides(now);
  if (const auto due = runtime_->deadline(); due && *due <= now) runtime_->run(now);
  if (tell_at_ && *tell_at_ <= now) tell(now);
  woken_ = false;
  // What has been sent may be more than the ports have taken.
  run_sides(now);
}

std::optional<Time> ServedPlace::deadline() const {
  std::optional<Time> first = runtime_->deadline();
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  for (const auto& side : sides_)
    earlier(side->end.deadline());
  earlier(tell_at_);
  return first;
}

// --- packets -------------------------------------------------------------------------------------

void ServedPlace::came(std::uint8_t port, link::PacketPtr packet, Time now) {
  Copy& copied = copies_[came_];
  if (!copy(*packet, copied)) return counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  packet.reset();
  items_[came_++] = {.bytes = copied.block.bytes().first(copied.size()), .arrival = {.port = port}};
  if (came_ == copies_.size()) handle(now);
}

// Services look at whole packets in one piece, which they may change.
bool ServedPlace::copy(link::Packet& packet, Copy& out) {
  auto block = memory_.blocks.acquire();
  if (!block || packet.size() > kBlock) return false;
  packet.copy_to(block->bytes());
  const link::Packet& from = packet;
  out = {.block = std::move(*block),
         .header = from.header().size(),
         .payload = from.payload().size(),
         .trailer = from.trailer().size(),
         .hold = std::move(packet.hold)};
  return true;
}

void ServedPlace::handle(Time now) {
  if (came_ == 0) return;
  const std::size_t count = std::exchange(came_, 0);
  runtime_->handle(std::span(items_).first(count), now);
  for (std::size_t i = 0; i < count; ++i) {
    if (items_[i].fate == service::Fate::kForward) {
      forward(copies_[i], items_[i].out_port, now);
    } else {
      copies_[i] = {};
    }
  }
}

void ServedPlace::forward(Copy& copy, std::uint8_t port, Time now) {
  const Bytes bytes = copy.block.bytes().first(copy.size());
  link::PacketPtr packet = memory_.packets.refer(
      bytes.first(copy.header), bytes.subspan(copy.header, copy.payload),
      copy.payload == 0 ? BufferRef() : std::move(copy.block), bytes.last(copy.trailer));
  if (packet == nullptr) {
    counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  } else {
    packet->intact = true;
    packet->hold = std::move(copy.hold);
    sides_[port - 1u]->end.send(std::move(packet), now);
  }
  copy = {};
}

void ServedPlace::send(Bytes bytes, std::uint8_t port, bool) {
  link::PacketPtr packet = memory_.packets.copy(bytes);
  if (packet == nullptr) return counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  packet->intact = true;
  sides_[port - 1u]->end.send(std::move(packet), now_);
}

// No service that works here has a mirror.
void ServedPlace::mirror(Bytes, const service::Arrival&) {
}

// --- what is said --------------------------------------------------------------------------------

void ServedPlace::changed(std::uint8_t port, bool up, Time now) {
  if (port == 1) tell_at_ = up ? std::optional(now + kTell) : std::nullopt;
  if (!up && in_subnet_) in_subnet_(port, 0);
  // Another fabric, perhaps; and questions whose answers were lost are asked again.
  runtime_->paths_changed();
}

void ServedPlace::heard(std::uint8_t port, const wan::ServiceMessage& message, Time now) {
  if (const auto* const answer = std::get_if<wan::ServicePathAnswer>(&message)) {
    // Packets that came before it are before what waits for it.
    handle(now);
    std::optional<service::Path> path;
    if (answer->found) path = {.dlid = answer->dlid, .slid = answer->slid, .sl = answer->sl};
    runtime_->path_answered(answer->number, path, now);
  } else if (std::holds_alternative<wan::ServicePathsChanged>(message)) {
    runtime_->paths_changed();
  } else if (const auto* const record = std::get_if<wan::ServiceRecord>(&message)) {
    const std::size_t of = record->service == wan::ServiceRecord::kRuntime
                               ? service::Runtime::kMapping
                               : record->service;
    runtime_->apply(of, record->record, now);
  } else if (const auto* const subnet = std::get_if<wan::ServiceSubnet>(&message)) {
    if (in_subnet_) in_subnet_(port, subnet->prefix);
    runtime_->paths_changed();
  }
}

// Its other instances are told once, whichever port it goes by.
void ServedPlace::publish(std::size_t service, Bytes record) {
  const auto of = service == service::Runtime::kMapping ? wan::ServiceRecord::kRuntime
                                                        : static_cast<std::uint16_t>(service);
  const auto up = std::ranges::find_if(sides_, [](const auto& side) { return side->end.is_up(); });
  Side& by = up == sides_.end() ? *sides_.front() : **up;
  by.end.say(wan::ServiceRecord{.service = of, .record = record}, now_);
}

void ServedPlace::ask(std::uint64_t number, const service::PathQuestion& question) {
  wan::ServicePathQuestion asked{.number = number,
                                 .sgid = question.sgid,
                                 .dgid = question.dgid,
                                 .pkey = question.pkey,
                                 .sl = question.sl,
                                 .via = question.via};
  if (question.port != 0) {
    asked.whose = question.sgid == Gid{} ? wan::PathWhose::kOwn : wan::PathWhose::kBrought;
  }
  Side& by = *sides_[question.port == 0 ? 0 : question.port - 1u];
  by.end.say(asked, now_);
}

void ServedPlace::tell(Time now) {
  tell_at_ = now + kTell;
  tell(wan::CounterTopic::kRuntime, runtime_->counters().snapshot(), now);
  tell(wan::CounterTopic::kDrops, drops(), now);
  tell(wan::CounterTopic::kService, service_counters(), now);
}

void ServedPlace::tell(wan::CounterTopic topic, const std::vector<CounterValue>& counters,
                       Time now) {
  wan::ServiceCounters message{.topic = topic};
  // Some of a service's own become 0 again, as of connections that have ended.
  const bool may_fall = topic == wan::CounterTopic::kService;
  const auto flush = [&] {
    if (!message.counters.empty()) sides_.front()->end.say(message, now);
    message.counters.clear();
  };
  for (const CounterValue& counter : counters) {
    if (counter.value == 0 && !may_fall) continue;
    if (!wan::is_counter_name(counter.name)) continue;
    message.counters.push_back({.name = counter.name, .value = counter.value});
    if (message.counters.size() == wan::ServiceCounters::kMost) flush();
  }
  flush();
}

std::vector<CounterValue> ServedPlace::counters() const {
  std::vector<CounterValue> out;
  for (const auto& side : sides_)
    accumulate(out, side->end.counters().snapshot());
  for (const CounterValue& counter : counters_.snapshot())
    out.push_back(counter);
  return out;
}

std::vector<CounterValue> ServedPlace::drops() const {
  std::vector<CounterValue> out;
  for (const auto& service : services_)
    accumulate(out, runtime_->drops(*service));
  return out;
}

std::vector<CounterValue> ServedPlace::service_counters() const {
  std::vector<CounterValue> out;
  for (const auto& service : services_)
    accumulate(out, service->counters());
  return out;
}

}  // namespace weft::daemon
