// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/served_place.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace weft::daemon {

ServedPlace::ServedPlace(std::unique_ptr<service::Service> service, Memory memory, Entropy& entropy,
                         std::function<void()> wake, service::Chain chain)
    : service_(std::move(service)),
      memory_(memory),
      wake_(std::move(wake)),
      end_({}, memory.packets, *this) {
  service::RuntimeUser& user = *this;
  service::PathAsker& asker = *this;
  runtime_ = std::make_unique<service::Runtime>(service::RuntimeOptions{}, user, asker, entropy);
  // The place sends nothing but what is for this service, whatever its LID.
  chain.services.push_back(service_.get());
  runtime_->set_chain(Lid{}, chain);
}

ServedPlace::~ServedPlace() = default;

void ServedPlace::wake() {
  if (!std::exchange(woken_, true)) wake_();
}

void ServedPlace::run(Time now) {
  now_ = now;
  woken_ = true;
  end_.run(now);
  handle(now);
  if (const auto due = runtime_->deadline(); due && *due <= now) runtime_->run(now);
  if (tell_at_ && *tell_at_ <= now) tell(now);
  woken_ = false;
  // What has been sent may be more than the port has taken.
  end_.run(now);
  handle(now);
}

std::optional<Time> ServedPlace::deadline() const {
  std::optional<Time> first = end_.deadline();
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(runtime_->deadline());
  earlier(tell_at_);
  return first;
}

// --- packets -------------------------------------------------------------------------------------

void ServedPlace::came(link::PacketPtr packet, Time now) {
  Copy& copied = copies_[came_];
  if (!copy(*packet, copied)) return counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  packet.reset();
  items_[came_++] = {.bytes = copied.block.bytes().first(copied.size()), .arrival = {}};
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
      forward(copies_[i], now);
    } else {
      copies_[i] = {};
    }
  }
}

void ServedPlace::forward(Copy& copy, Time now) {
  const Bytes bytes = copy.block.bytes().first(copy.size());
  link::PacketPtr packet = memory_.packets.refer(
      bytes.first(copy.header), bytes.subspan(copy.header, copy.payload),
      copy.payload == 0 ? BufferRef() : std::move(copy.block), bytes.last(copy.trailer));
  if (packet == nullptr) {
    counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  } else {
    packet->intact = true;
    packet->hold = std::move(copy.hold);
    end_.send(std::move(packet), now);
  }
  copy = {};
}

void ServedPlace::send(Bytes bytes, std::uint8_t, bool) {
  link::PacketPtr packet = memory_.packets.copy(bytes);
  if (packet == nullptr) return counters_.add_in_turn(ServedPlaceCounter::kNoMemory);
  packet->intact = true;
  end_.send(std::move(packet), now_);
}

// No service that works here has a mirror.
void ServedPlace::mirror(Bytes, const service::Arrival&) {
}

// --- what is said --------------------------------------------------------------------------------

void ServedPlace::changed(bool up, Time now) {
  tell_at_ = up ? std::optional(now + kTell) : std::nullopt;
  // Another fabric, perhaps; and questions whose answers were lost are asked again.
  runtime_->paths_changed();
}

void ServedPlace::heard(const wan::ServiceMessage& message, Time now) {
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
  }
}

void ServedPlace::publish(std::size_t service, Bytes record) {
  const auto of = service == service::Runtime::kMapping ? wan::ServiceRecord::kRuntime
                                                        : static_cast<std::uint16_t>(service);
  end_.say(wan::ServiceRecord{.service = of, .record = record}, now_);
}

void ServedPlace::ask(std::uint64_t number, const service::PathQuestion& question) {
  end_.say(wan::ServicePathQuestion{.number = number,
                                    .sgid = question.sgid,
                                    .dgid = question.dgid,
                                    .pkey = question.pkey,
                                    .sl = question.sl,
                                    .via = question.via,
                                    .own = question.port != 0},
           now_);
}

void ServedPlace::tell(Time now) {
  tell_at_ = now + kTell;
  tell(wan::CounterTopic::kRuntime, runtime_->counters().snapshot(), now);
  tell(wan::CounterTopic::kDrops, runtime_->drops(*service_), now);
  tell(wan::CounterTopic::kService, service_->counters(), now);
}

void ServedPlace::tell(wan::CounterTopic topic, const std::vector<CounterValue>& counters,
                       Time now) {
  wan::ServiceCounters message{.topic = topic};
  // Some of a service's own become 0 again, as of connections that have ended.
  const bool may_fall = topic == wan::CounterTopic::kService;
  const auto flush = [&] {
    if (!message.counters.empty()) end_.say(message, now);
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
  std::vector<CounterValue> out = end_.counters().snapshot();
  for (const CounterValue& counter : counters_.snapshot())
    out.push_back(counter);
  return out;
}

}  // namespace weft::daemon
