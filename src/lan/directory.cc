// SPDX-License-Identifier: Apache-2.0
#include "lan/directory.h"

#include <algorithm>
#include <utility>

namespace weft::lan {

Directory::Directory(const Options& options, DirectoryUser& user)
    : options_(options),
      user_(user),
      peers_(options.peers),
      retry_(options.retry_after),
      // Others may have begun just now, as we have.
      repeats_(options.repeats) {
}

void Directory::in_service(Guid port, Time now) {
  if (port == options_.own) return;
  repeats_ = options_.repeats;
  hurry(now, options_.apart);
}

void Directory::out_of_service(Guid port, Time now) {
  if (const auto known = ports_.find(port); known != ports_.end()) {
    lose(known->second, now);
    ports_.erase(known);
  }
}

// The first one is likely to be right, and is waiting.
void Directory::stranger_heard(Time now) {
  const bool lately = doubted_ && now - *doubted_ < options_.doubt_apart;
  hurry(now, lately ? options_.doubt_apart : options_.apart);
  if (!lately) doubted_ = now;
}

void Directory::hurry(Time now, Duration apart) {
  Time soon = now + options_.soon;
  if (round_began_) soon = std::max(soon, *round_began_ + apart);
  next_round_ = std::min(next_round_, soon);
}

void Directory::run(Time now) {
  if (!in_round_ && now >= next_round_) begin_round(now);
  if (in_round_) ask_more(now);
}

// While questions wait for their answers, those are what happens next.
std::optional<Time> Directory::deadline() const {
  return in_round_ ? std::nullopt : std::optional(next_round_);
}

void Directory::begin_round(Time now) {
  ++round_;
  round_began_ = now;
  in_round_ = true;
  members_known_ = platforms_known_ = unanswered_ = false;
  // What is heard from now on may be too late for this one.
  next_round_ = now + options_.period;
  waiting_ = {{.kind = Question::Kind::kMembers}, {.kind = Question::Kind::kPlatforms}};
}

void Directory::ask_more(Time now) {
  while (!waiting_.empty() && asked_.size() < options_.questions) {
    const std::uint64_t number = last_number_ + 1;
    if (!user_.ask(number, waiting_.front(), now)) {
      unanswered_ = true;
      waiting_.clear();
      break;
    }
    last_number_ = number;
    asked_.emplace(number, waiting_.front());
    waiting_.pop_front();
  }
  if (!asking()) end_round(now);
}

void Directory::end_round(Time now) {
  in_round_ = false;
  if (unanswered_) {
    next_round_ = std::min(next_round_, now + retry_);
    retry_ = std::min(2 * retry_, options_.period);
    return;
  }
  retry_ = options_.retry_after;
  for (auto& [guid, port] : ports_) {
    port.missed = port.round == round_ ? 0 : port.missed + 1;
    if (port.missed >= options_.misses) lose(port, now);
  }
  std::erase_if(ports_, [this](const auto& each) { return each.second.missed >= options_.misses; });
  if (repeats_ == 0) return;
  --repeats_;
  next_round_ = std::min(next_round_, now + options_.repeat_after);
}

void Directory::answer(std::uint64_t number, const Answer& answer, Time now) {
  const auto asked = asked_.find(number);
  if (asked == asked_.end()) return;
  const Question question = asked->second;
  asked_.erase(asked);
  if (!heard(question, answer, now)) unanswered_ = true;
  ask_more(now);
}

// False: it is no answer to this question.
bool Directory::heard(const Question& question, const Answer& answer, Time now) {
  using Kind = Question::Kind;
  const bool absent = std::holds_alternative<Absent>(answer);
  switch (question.kind) {
    case Kind::kPlatforms:
    case Kind::kMembers:
    case Kind::kPorts: {
      const auto* const guids = std::get_if<std::span<const Guid>>(&answer);
      if (guids == nullptr && !absent) return false;
      heard_guids(question, absent ? std::span<const Guid>{} : *guids);
      return true;
    }
    case Kind::kPaths:
      if (const auto* const paths = std::get_if<PortPaths>(&answer)) {
        heard_paths(question.of, *paths);
        return true;
      }
      break;
    case Kind::kEnd:
      if (const auto* const end = std::get_if<DatagramEnd>(&answer)) {
        heard_end(question.of, *end, now);
        return true;
      }
      break;
  }
  if (!absent) return false;
  out_of_service(question.of, now);
  return true;
}

void Directory::heard_guids(const Question& question, std::span<const Guid> guids) {
  guids = guids.first(std::min(guids.size(), options_.guids));
  switch (question.kind) {
    case Question::Kind::kMembers:
      members_ = {guids.begin(), guids.end()};
      members_.erase(options_.own);
      members_known_ = true;
      return ask_for_ports();
    case Question::Kind::kPlatforms:
      platforms_.assign(guids.begin(), guids.end());
      platforms_known_ = true;
      return ask_for_ports();
    default:
      break;
  }
  for (const Guid& guid : guids) {
    // Each once in a round, though several platforms may claim it.
    if (!members_.contains(guid)) continue;
    Port& port = ports_[guid];
    if (std::exchange(port.round, round_) == round_) continue;
    waiting_.push_back({.kind = Question::Kind::kPaths, .of = guid});
  }
}

void Directory::ask_for_ports() {
  if (!members_known_ || !platforms_known_ || members_.empty()) return;
  for (const Guid& platform : platforms_)
    waiting_.push_back({.kind = Question::Kind::kPorts, .of = platform});
}

void Directory::heard_paths(Guid guid, const PortPaths& answer) {
  const auto known = ports_.find(guid);
  const auto chosen = PeerPaths::choose(answer.paths);
  if (known == ports_.end() || !chosen || !answer.lids.valid()) return;
  known->second.lids = answer.lids;
  known->second.paths = *chosen;
  waiting_.push_back({.kind = Question::Kind::kEnd, .of = guid, .path = chosen->path[0]});
}

void Directory::heard_end(Guid guid, const DatagramEnd& end, Time now) {
  const auto known = ports_.find(guid);
  if (known == ports_.end()) return;
  Port& port = known->second;
  Peer peer{.port = guid, .lids = port.lids, .paths = port.paths, .end = end};
  if (!port.peer) {
    port.peer = peers_.add(peer);
    if (port.peer) return user_.came(*port.peer, now);
    ++refused_;
    return;
  }
  const Peer& before = peers_.get(*port.peer);
  if (before.paths == peer.paths) {
    peer.failed = before.failed;
    peer.use = before.use;
    // The primary path has had its time to come back.
    if (peer.use != 0 && peer.failed[0] && now - *peer.failed[0] >= options_.failed_for) {
      peer.use = 0;
    }
  }
  const bool same = before.lids == peer.lids && before.paths == peer.paths &&
                    before.end == peer.end && before.use == peer.use;
  if (same) return;
  peers_.replace(*port.peer, peer);
  user_.moved(*port.peer, now);
}

void Directory::path_failed(PeerId id, Time now) {
  Peer peer = peers_.get(id);
  const std::size_t other = peer.paths.count - 1 - peer.use;
  peer.failed[peer.use] = now;
  const bool usable = other != peer.use &&
                      (!peer.failed[other] || now - *peer.failed[other] >= options_.failed_for);
  if (usable) peer.use = other;
  peers_.replace(id, peer);
  // The subnet manager may know better ways by now.
  hurry(now, options_.doubt_apart);
  if (usable) user_.moved(id, now);
}

void Directory::lose(Port& port, Time now) {
  if (!port.peer) return;
  user_.went(*port.peer, now);
  peers_.remove(*port.peer);
  port.peer.reset();
}

}  // namespace weft::lan
