// SPDX-License-Identifier: Apache-2.0
// When who is asked what. directory_ports.cc has what becomes of the answers.
#include "lan/directory.h"

#include <algorithm>
#include <utility>

namespace weft::lan {

Directory::Directory(const Options& options, DirectoryUser& user)
    : options_(options),
      user_(user),
      peers_(options.peers),
      retry_(options.retry_after),
      look_retry_(options.retry_after),
      // Others may have begun just now, as we have.
      repeats_(options.repeats),
      draws_(options.own.value()),
      late_(draws_.next()) {
}

void Directory::in_service(Guid port, Time now) {
  if (port != options_.own) look_up(port, options_.repeats, now, options_.apart);
}

void Directory::out_of_service(Guid port, Time now) {
  members_.erase(port);
  look_ups_.erase(port);
  if (const auto known = ports_.find(port); known != ports_.end()) {
    lose(known->second, now);
    ports_.erase(known);
  }
}

// The first one is likely to be right, and is waiting.
void Directory::stranger_heard(const Sender& sender, Time now) {
  const bool lately = doubted_ && now - *doubted_ < options_.doubt_apart;
  if (!lately) doubted_ = now;
  const Duration apart = lately ? options_.doubt_apart : options_.apart;
  // Nobody makes us remember more: those who are still there are heard again.
  if (sender.port && *sender.port != options_.own) {
    // The LID may be a data service's, of which the administrator knows no port.
    const bool room = look_ups_.size() < options_.look_ups;
    if (room || look_ups_.contains(*sender.port)) look_up(*sender.port, 0, now, apart);
    return;
  }
  if (std::ranges::find(strangers_, sender.lid) == strangers_.end()) {
    if (strangers_.size() == options_.look_ups) return;
    strangers_.push_back(sender.lid);
  }
  look_at(soon(now, apart));
}

void Directory::ways_changed(Time now) {
  for (auto& [guid, port] : ports_)
    port.doubted = true;
  hurry(now, options_.apart);
}

Time Directory::soon(Time now, Duration apart) const {
  const auto most = peers_.all().size() * static_cast<std::uint64_t>(options_.spread.count());
  Time at = now + options_.soon + Duration(late_ % (most + 1));
  if (round_began_) at = std::max(at, *round_began_ + apart);
  return at;
}

void Directory::look_up(Guid port, unsigned repeats, Time now, Duration apart) {
  const auto known = look_ups_.find(port);
  if (known == look_ups_.end() && look_ups_.size() == options_.look_ups) {
    repeats_ = std::max(repeats_, repeats);
    return hurry(now, apart);
  }
  LookUp& wanted = look_ups_[port];
  wanted = {.repeats = std::max(wanted.repeats, repeats), .asked = false};
  look_at(soon(now, apart));
}

void Directory::run(Time now) {
  end_checks(now);
  if (doing_ == Round::kNone && now >= next_round_) {
    begin_round(now);
  } else if (doing_ == Round::kNone && next_look_ && now >= *next_look_) {
    begin_look_ups(now);
  }
  if (doing_ != Round::kNone) ask_more(now);
}

// While questions wait for their answers, those are what happens next, and checks that end.
std::optional<Time> Directory::deadline() const {
  std::optional<Time> next;
  const auto earlier = [&](Time at) { next = std::min(next.value_or(at), at); };
  if (doing_ == Round::kNone) {
    earlier(next_round_);
    if (next_look_) earlier(*next_look_);
  }
  for (const auto& [number, check] : checks_)
    earlier(check.until);
  return next;
}

void Directory::begin(Round what, Time now) {
  doing_ = what;
  ++round_;
  round_began_ = now;
  unanswered_ = false;
  late_ = draws_.next();
}

// What is heard from now on may be too late for this one.
void Directory::begin_round(Time now) {
  begin(Round::kWhole, now);
  const Duration whole = options_.period * std::max(ports_.size(), options_.crowd) / options_.crowd;
  const double part = static_cast<double>(draws_.next() >> 11) * 0x1p-53;
  const double early = options_.early * part * static_cast<double>(whole.count());
  next_round_ = now + whole - Duration(static_cast<Duration::rep>(early));
  waiting_ = {{.kind = Question::Kind::kMembers}};
}

void Directory::begin_look_ups(Time now) {
  begin(Round::kLookUps, now);
  next_look_.reset();
  waiting_.clear();
  for (auto& [guid, wanted] : look_ups_) {
    wanted.asked = true;
    waiting_.push_back({.kind = Question::Kind::kMembers, .of = guid});
  }
  for (const Lid lid : std::exchange(strangers_, {}))
    waiting_.push_back({.kind = Question::Kind::kPortAt, .path = {.dlid = lid}});
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
  if (asking()) return;
  if (std::exchange(doing_, Round::kNone) == Round::kWhole) {
    end_round(now);
  } else {
    end_look_ups(now);
  }
}

void Directory::end_round(Time now) {
  if (unanswered_) {
    next_round_ = std::min(next_round_, now + retry_);
    retry_ = std::min(2 * retry_, options_.period);
    return;
  }
  retry_ = options_.retry_after;
  miss_ports(now);
  if (repeats_ == 0) return;
  --repeats_;
  next_round_ = std::min(next_round_, now + options_.repeat_after);
}

// Those who are missing may be about to say that they are there.
void Directory::miss_ports(Time now) {
  for (auto it = ports_.begin(); it != ports_.end();) {
    Port& port = it->second;
    const bool gone = port.missed && now - *port.missed >= options_.missing_for;
    if (port.round == round_) {
      port.missed.reset();
    } else if (gone) {
      lose(port, now);
      it = ports_.erase(it);
      continue;
    } else if (!port.missed) {
      port.missed = now;
      repeats_ = std::max(repeats_, options_.repeats);
    }
    ++it;
  }
}

void Directory::end_look_ups(Time now) {
  if (unanswered_) {
    look_at(now + look_retry_);
    look_retry_ = std::min(2 * look_retry_, options_.period);
    return;
  }
  look_retry_ = options_.retry_after;
  std::erase_if(look_ups_,
                [](const auto& each) { return each.second.asked && each.second.repeats == 0; });
  bool again = false;
  for (auto& [guid, wanted] : look_ups_) {
    if (std::exchange(wanted.asked, false)) --wanted.repeats;
    again = true;
  }
  if (again) look_at(now + options_.repeat_after);
}

void Directory::answer(std::uint64_t number, const Answer& answer, Time now) {
  if (const auto check = checks_.extract(number)) return checked(check.mapped(), answer, now);
  const auto asked = asked_.find(number);
  if (asked == asked_.end()) return;
  const Question question = asked->second;
  asked_.erase(asked);
  if (!heard(question, answer, now)) unanswered_ = true;
  ask_more(now);
}

}  // namespace weft::lan
