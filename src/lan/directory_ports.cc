// SPDX-License-Identifier: Apache-2.0
// What a directory is told of ports, and of the ways to those that are peers.
#include <algorithm>
#include <utility>
#include <vector>

#include "lan/directory.h"

namespace weft::lan {
namespace {

// Up to one in so many is asked for by itself instead of in the list of all.
constexpr std::size_t kFew = 8;

}  // namespace

// False: there is something to ask again.
bool Directory::heard(const Question& question, const Answer& answer, Time now) {
  using Kind = Question::Kind;
  const bool absent = std::holds_alternative<Absent>(answer);
  switch (question.kind) {
    case Kind::kMembers:
    case Kind::kPorts:
    case Kind::kPortAt: {
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
        heard_end(question, *end, now);
        return true;
      }
      break;
  }
  const bool pathless = question.kind == Kind::kPaths && absent && !is_pathless(question.of, now);
  if (!absent || pathless) return unanswered(question, now);
  out_of_service(question.of, now);
  return true;
}

void Directory::heard_guids(const Question& question, std::span<const Guid> guids) {
  guids = guids.first(std::min(guids.size(), options_.guids));
  switch (question.kind) {
    case Question::Kind::kMembers:
      return question.of == Guid{} ? heard_members(guids) : heard_member(question.of, guids);
    case Question::Kind::kPorts:
      return heard_ports(guids);
    default:
      break;
  }
  // Whose the LID of a stranger is.
  for (const Guid& guid : guids) {
    if (guid != options_.own) waiting_.push_back({.kind = Question::Kind::kMembers, .of = guid});
  }
}

void Directory::heard_member(Guid guid, std::span<const Guid> guids) {
  if (std::ranges::find(guids, guid) == guids.end()) return;
  members_.insert(guid);
  if (const auto known = ports_.find(guid); known != ports_.end()) {
    return ask_for(guid, known->second);
  }
  waiting_.push_back({.kind = Question::Kind::kPorts, .of = guid});
}

void Directory::heard_members(std::span<const Guid> guids) {
  members_ = {guids.begin(), guids.end()};
  members_.erase(options_.own);
  std::vector<Guid> strange;
  for (const Guid& guid : members_) {
    if (const auto known = ports_.find(guid); known != ports_.end()) {
      known->second.round = round_;
    } else {
      strange.push_back(guid);
    }
  }
  ask_for_known();
  if (strange.size() * kFew > members_.size()) {
    waiting_.push_back({.kind = Question::Kind::kPorts});
    return;
  }
  for (const Guid& guid : strange)
    waiting_.push_back({.kind = Question::Kind::kPorts, .of = guid});
}

// Those of which something may be wrong, and of the others those that were not asked after for the
// longest time.
void Directory::ask_for_known() {
  std::vector<std::pair<std::uint64_t, Guid>> others;
  for (auto& [guid, port] : ports_) {
    if (port.round != round_) continue;
    if (port.doubted) {
      ask_for(guid, port);
    } else {
      others.emplace_back(port.asked, guid);
    }
  }
  const std::size_t some = std::min(others.size(), options_.refresh);
  std::ranges::partial_sort(others, others.begin() + static_cast<std::ptrdiff_t>(some));
  for (std::size_t i = 0; i < some; ++i)
    ask_for(others[i].second, ports_.at(others[i].second));
}

void Directory::heard_ports(std::span<const Guid> guids) {
  for (const Guid& guid : guids) {
    if (!members_.contains(guid)) continue;
    Port& port = ports_[guid];
    port.round = round_;
    ask_for(guid, port);
  }
}

// Once in a round, though several may have named it.
void Directory::ask_for(Guid guid, Port& port) {
  if (std::exchange(port.asked, round_) == round_) return;
  waiting_.push_back({.kind = Question::Kind::kPaths, .of = guid});
}

// Of a port that is there, nobody knows a path while a subnet manager has just begun.
bool Directory::is_pathless(Guid guid, Time now) {
  const auto known = ports_.find(guid);
  if (known == ports_.end()) return true;
  const Time since = known->second.pathless.value_or(now);
  known->second.pathless = since;
  return now - since >= options_.absent_for;
}

// True: by another way there may be an answer.
bool Directory::unanswered(const Question& question, Time now) {
  const auto known = ports_.find(question.of);
  if (known == ports_.end()) return true;
  Port& port = known->second;
  if (question.kind == Question::Kind::kEnd && port.paths.count > 1 &&
      question.path == port.paths.path[0]) {
    waiting_.push_back(
        {.kind = Question::Kind::kEnd, .of = known->first, .path = port.paths.path[1]});
    return true;
  }
  port.doubted = true;
  // One that does not answer is no reason to ask for all again.
  if (doing_ != Round::kWhole) return false;
  if (look_ups_.contains(known->first) || look_ups_.size() < options_.look_ups) {
    look_ups_.try_emplace(known->first);
    look_at(now + look_retry_);
  }
  return true;
}

void Directory::heard_paths(Guid guid, const PortPaths& answer) {
  const auto known = ports_.find(guid);
  const auto chosen = PeerPaths::choose(answer.paths);
  if (known == ports_.end() || !chosen || !answer.lids.valid()) return;
  known->second.pathless.reset();
  known->second.lids = answer.lids;
  known->second.paths = *chosen;
  waiting_.push_back({.kind = Question::Kind::kEnd, .of = guid, .path = chosen->path[0]});
}

void Directory::heard_end(const Question& question, const DatagramEnd& end, Time now) {
  const auto known = ports_.find(question.of);
  if (known == ports_.end()) return;
  Port& port = known->second;
  port.doubted = false;
  Peer peer{.port = known->first, .lids = port.lids, .paths = port.paths, .end = end};
  const bool by_other = question.path != port.paths.path[0];
  if (by_other) {
    peer.failed[0] = now;
    peer.use = 1;
  }
  if (!port.peer) {
    port.peer = peers_.add(peer);
    if (port.peer) return user_.came(*port.peer, now);
    ++refused_;
    return;
  }
  const Peer& before = peers_.get(*port.peer);
  if (before.paths == peer.paths && !by_other) {
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
  look_up(peer.port, 0, now, options_.doubt_apart);
  if (usable) user_.moved(id, now);
}

void Directory::check(PeerId id, Time now) {
  if (checks_.size() == options_.checks) return;
  const Peer& peer = peers_.get(id);
  for (const auto& [number, check] : checks_)
    if (check.port == peer.port && check.path == peer.path()) return;
  const std::uint64_t number = ++last_number_;
  const PeerPath path = peer.path();
  const Guid port = peer.port;
  if (!user_.ask(number, {.kind = Question::Kind::kEnd, .of = port, .path = path}, now)) return;
  checks_.emplace(number, Check{.port = port, .path = path, .until = now + options_.check_for});
}

void Directory::checked(const Check& check, const Answer& answer, Time now) {
  const auto known = ports_.find(check.port);
  if (known == ports_.end() || !known->second.peer) return;
  const PeerId id = *known->second.peer;
  if (peers_.get(id).path() != check.path) return;
  if (const auto* const end = std::get_if<DatagramEnd>(&answer)) {
    // It is another program by now.
    if (*end != peers_.get(id).end) look_up(check.port, 0, now, options_.apart);
  } else if (std::holds_alternative<Absent>(answer)) {
    out_of_service(check.port, now);
  } else {
    path_failed(id, now);
  }
}

void Directory::end_checks(Time now) {
  std::vector<Check> over;
  std::erase_if(checks_, [&](const auto& each) {
    const bool is_over = now >= each.second.until;
    if (is_over) over.push_back(each.second);
    return is_over;
  });
  for (const Check& check : over)
    checked(check, Unanswered{}, now);
}

void Directory::lose(Port& port, Time now) {
  if (!port.peer) return;
  user_.went(*port.peer, now);
  peers_.remove(*port.peer);
  port.peer.reset();
}

}  // namespace weft::lan
