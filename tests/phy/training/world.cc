// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <utility>

#include "phy/training/training_text.h"

namespace weft::phy {

std::optional<std::size_t> Strand::source(std::size_t receiver) const {
  if (receiver >= lanes) return std::nullopt;
  return reversed ? lanes - 1 - receiver : receiver;
}

void Station::trained(const TrainingStep& step, Time now) {
  steps.push_back(step);
  times.push_back(now);
  if (brings_up(step)) ++ups;
  if (takes_down(step)) ++downs;
}

World::World(const TrainingOptions& a, const TrainingOptions& b, Medium medium, std::uint64_t seed)
    : medium_(medium),
      random_(seed),
      stations_{std::make_unique<Station>(a), std::make_unique<Station>(b)} {
}

void World::begin() {
  for (const auto& each : stations_)
    each->training.command(wire::PortPhysicalState::kPolling, now());
  refresh();
}

void World::run_until(Time end) {
  while (now() < end)
    step(end);
}

// One moment at which something happens, or the end.
void World::step(Time end) {
  Time next = end;
  if (!coming_.empty()) next = std::min(next, coming_.begin()->first);
  for (const auto& each : stations_) {
    if (const auto deadline = each->training.deadline()) next = std::min(next, *deadline);
  }
  now_ = std::max(now_, next);
  while (!coming_.empty() && coming_.begin()->first <= now_) {
    const Arrival arrival = coming_.begin()->second;
    coming_.erase(coming_.begin());
    arrived_[arrival.from][arrival.lane] = arrival.sent;
  }
  for (const auto& each : stations_)
    each->training.run(now_);
  refresh();
}

// Until nobody sends or hears anything else than before.
void World::refresh() {
  for (bool again = true; again;) {
    again = false;
    for (const std::size_t end : {0U, 1U}) {
      send(end);
      again = hear(end) || again;
    }
  }
  watch();
}

void World::send(std::size_t end) {
  const LinkTraining& training = stations_[end]->training;
  for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
    const Sent now_sent{.what = training.transmit(lane), .speed = training.speed()};
    if (now_sent == sent_[end][lane]) continue;
    sent_[end][lane] = now_sent;
    // From 8 to 12 ordered sets of 16 symbols of 4 ns.
    const Duration to_know = Duration(random_.between(8, 12) * 64);
    Time& last = last_arrival_[end][lane];
    last = std::max(last, now_ + medium_.delay + to_know);
    coming_.emplace(last, Arrival{.from = end, .lane = lane, .sent = now_sent});
  }
}

bool World::hear(std::size_t end) {
  LinkTraining& training = stations_[end]->training;
  const std::size_t before = stations_[end]->steps.size();
  for (std::size_t lane = 0; lane < training.options().lanes; ++lane)
    training.receive(lane, heard(end, lane), now_);
  return stations_[end]->steps.size() != before;
}

LaneInput World::heard(std::size_t end, std::size_t lane) const {
  const LinkTraining& training = stations_[end]->training;
  const Strand& strand = medium_.strands[1 - end];
  const auto source = strand.source(lane);
  if (!source || strand.dead[*source]) return {};
  const Sent& sent = arrived_[1 - end][*source];
  if (sent.what.send == LaneSend::kSilence) return {};
  if (strand.noisy[*source] || sent.speed != training.speed())
    return {.signal = LaneSignal::kNoise};
  switch (sent.what.send) {
    case LaneSend::kTs1:
    case LaneSend::kTs2:
      return {.signal = sent.what.send == LaneSend::kTs1 ? LaneSignal::kTs1 : LaneSignal::kTs2,
              .lane = sent.what.lane,
              .inverted = strand.inverted[*source] != training.receiver(lane).inverts};
    case LaneSend::kIdle:
      return {.signal = LaneSignal::kIdle};
    default:
      return {.signal = LaneSignal::kPackets};
  }
}

bool World::in_order(std::size_t from) {
  const auto& sender = stations_[from]->training;
  const auto& receiver = stations_[1 - from]->training;
  const auto& receive_map = receiver.receive_map();
  const auto transmit_map = sender.transmit_map();
  if (!receive_map || !transmit_map || receive_map->width != transmit_map->width) return false;
  for (std::size_t lane = 0; lane < receive_map->lanes(); ++lane) {
    const std::size_t at = receive_map->physical(lane);
    const Strand& strand = medium_.strands[from];
    const auto source = strand.source(at);
    if (!source || *source != transmit_map->physical(lane)) return false;
    if (strand.inverted[*source] != receiver.receiver(at).inverts) return false;
  }
  return true;
}

bool World::agree() {
  if (a().state() != TrainingState::kLinkUp || b().state() != TrainingState::kLinkUp) return false;
  return a().speed() == b().speed() && in_order(0) && in_order(1);
}

bool World::disagree() {
  return a().state() == TrainingState::kLinkUp && b().state() == TrainingState::kLinkUp && !agree();
}

void World::watch() {
  if (disagree_since_)
    longest_disagreement_ = std::max(longest_disagreement_, now_ - *disagree_since_);
  if (!disagree()) {
    disagree_since_.reset();
  } else if (!disagree_since_) {
    disagree_since_ = now_;
  }
}

Duration World::longest_disagreement() {
  watch();
  return longest_disagreement_;
}

std::string World::report() {
  std::string text;
  for (const std::size_t end : {0U, 1U}) {
    const Station& station = *stations_[end];
    const std::size_t first = station.steps.size() > 24 ? station.steps.size() - 24 : 0;
    for (std::size_t i = first; i < station.steps.size(); ++i) {
      text +=
          std::to_string(end) + " at " + std::to_string(station.times[i].time_since_epoch() / 1us);
      text += " us: " + std::string(to_text(station.steps[i].from)) + ", ";
      text += std::string(to_text(station.steps[i].event)) + ": ";
      text += std::string(to_text(station.steps[i].to)) + "\n";
    }
  }
  return text;
}

}  // namespace weft::phy
