// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/external_place.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "daemon/counters_json.h"

namespace weft::daemon {

Expected<std::unique_ptr<ExternalPlace>> ExternalPlace::open(
    fabric::ChannelAdapter& node, mgmt::PortNumber port, link::PacketPool& pool, Publish publish,
    std::function<void()> wake, Entropy& entropy) {
  std::unique_ptr<ExternalPlace> place(
      new ExternalPlace(pool, std::move(publish), std::move(wake)));
  fabric::RawConsumer& consumer = *place;
  auto at = RawPlace::open(
      node, port, consumer,
      [raw = place.get()](std::uint64_t number, const std::optional<service::Path>& path,
                          Time now) { raw->answer(number, path, now); },
      entropy);
  if (!at) return tl::unexpected(at.error());
  place->at_ = std::move(*at);
  return place;
}

ExternalPlace::~ExternalPlace() = default;

void ExternalPlace::run(Time now) {
  end_.run(now);
}

void ExternalPlace::paths_changed(Time now) {
  if (well()) end_.say(wan::ServicePathsChanged{}, now);
}

void ExternalPlace::set_subnet(std::uint64_t prefix, Time now) {
  if (std::exchange(subnet_, prefix) != prefix && well()) {
    end_.say(wan::ServiceSubnet{.prefix = subnet_}, now);
  }
}

void ExternalPlace::apply(const wan::ServiceRecord& record, Time now) {
  if (well()) end_.say(record, now);
}

// --- packets -------------------------------------------------------------------------------------

void ExternalPlace::take(std::uint16_t, std::span<link::PacketPtr> packets, Time now) {
  for (link::PacketPtr& packet : packets)
    end_.send(std::move(packet), now);
}

void ExternalPlace::came(link::PacketPtr packet, Time now) {
  if (!at_->send(std::move(packet), now)) counters_.add_in_turn(ExternalPlaceCounter::kRefused);
}

// --- what the server says ------------------------------------------------------------------------

void ExternalPlace::changed(bool up, Time now) {
  // A server that begins anew has not asked anything, and has not counted anything.
  open_.clear();
  if (!up) return;
  for (auto& told : told_)
    told.clear();
  end_.say(wan::ServiceSubnet{.prefix = subnet_}, now);
}

void ExternalPlace::heard(const wan::ServiceMessage& message, Time now) {
  if (const auto* const question = std::get_if<wan::ServicePathQuestion>(&message)) {
    ask(*question, now);
  } else if (const auto* const record = std::get_if<wan::ServiceRecord>(&message)) {
    publish_(*this, *record);
  } else if (const auto* const counters = std::get_if<wan::ServiceCounters>(&message)) {
    note(*counters);
  } else {
    counters_.add_in_turn(ExternalPlaceCounter::kMisplaced);
  }
}

void ExternalPlace::ask(const wan::ServicePathQuestion& question, Time now) {
  if (open_.size() >= kMostQuestions) {
    return counters_.add_in_turn(ExternalPlaceCounter::kTooManyQuestions);
  }
  counters_.add_in_turn(ExternalPlaceCounter::kQuestions);
  const std::uint64_t number = ++last_question_;
  open_[number] = question.number;
  const bool is_senders = question.whose == wan::PathWhose::kSender;
  const service::PathQuestion asked{.sgid = question.sgid,
                                    .dgid = question.dgid,
                                    .pkey = question.pkey,
                                    .sl = question.sl,
                                    .via = question.via,
                                    .port = is_senders ? mgmt::PortNumber{0} : at_->port()};
  if (at_->ask(number, asked, now)) return;
  open_.erase(number);
  counters_.add_in_turn(ExternalPlaceCounter::kUnasked);
}

void ExternalPlace::answer(std::uint64_t number, const std::optional<service::Path>& path,
                           Time now) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  wan::ServicePathAnswer answer{.number = found->second};
  open_.erase(found);
  if (path) {
    answer.found = true;
    answer.dlid = path->dlid;
    answer.slid = path->slid;
    answer.sl = path->sl;
  }
  end_.say(answer, now);
}

void ExternalPlace::note(const wan::ServiceCounters& counters) {
  auto& told = told_[static_cast<std::size_t>(counters.topic)];
  for (const auto& counter : counters.counters) {
    const std::string name(counter.name);
    if (told.size() < kMostCounters || told.contains(name)) told[name] = counter.value;
  }
}

void ExternalPlace::report(nlohmann::json& row) const {
  std::vector<CounterValue> counters = counters_.snapshot();
  for (const CounterValue& counter : end_.counters().snapshot())
    counters.push_back(counter);
  row["port_counters"] = counters_json(counters);
  constexpr std::array<std::string_view, kTopics> kTopicNames{"counters", "drops", "service"};
  for (std::size_t i = 0; i < kTopics; ++i)
    row[std::string(kTopicNames[i])] = told_[i];
}

}  // namespace weft::daemon
