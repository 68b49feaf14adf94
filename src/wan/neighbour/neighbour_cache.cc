// SPDX-License-Identifier: Apache-2.0
#include "wan/neighbour/neighbour_cache.h"

#include <algorithm>

namespace weft::wan {

using Kind = NeighbourMessage::Kind;

void NeighbourCache::look_for(const Gid& address, Time now) {
  if (find_entry(address) == nullptr) entries_.push_back({.address = address, .due = now});
}

NeighbourCache::Entry* NeighbourCache::find_entry(const Gid& address) {
  const auto entry = std::ranges::find(entries_, address, &Entry::address);
  return entry == entries_.end() ? nullptr : &*entry;
}

std::optional<MacAddress> NeighbourCache::find(const Gid& address) const {
  const auto entry = std::ranges::find(entries_, address, &Entry::address);
  if (entry == entries_.end() || entry->state == State::kLooking) return std::nullopt;
  return entry->mac;
}

std::string_view NeighbourCache::state_text(const Gid& address) const {
  const auto entry = std::ranges::find(entries_, address, &Entry::address);
  if (entry == entries_.end() || entry->state == State::kLooking) return "looking";
  return entry->state == State::kReachable ? "reachable" : "probing";
}

void NeighbourCache::confirm(const Gid& address, Time now) {
  Entry* const entry = find_entry(address);
  if (entry == nullptr || entry->state == State::kLooking) return;
  entry->state = State::kReachable;
  entry->due = now + settings_.reachable;
}

bool NeighbourCache::receive(Bytes frame, Time now) {
  const auto message = read_neighbour_message(frame);
  if (!message) {
    if (message.error() == NotNeighbour::kOther) return false;
    counters_.add_in_turn(NeighbourCounter::kMalformed);
    return true;
  }
  if (message->mac == mac_) return true;  // our own, come back
  if (message->kind == Kind::kSolicitation) {
    heard_question(*message, now);
  } else {
    heard_answer(*message, now);
  }
  return true;
}

void NeighbourCache::heard_question(const NeighbourMessage& question, Time now) {
  // Who asks us is about to talk to us, and has said where he is.
  Entry* const asker = find_entry(question.sender);
  const bool says_where = question.mac != MacAddress{};
  if (asker != nullptr && says_where &&
      (asker->state == State::kLooking || asker->mac != question.mac)) {
    doubt(*asker, question.mac, now);
  }
  if (question.sender == own_) counters_.add_in_turn(NeighbourCounter::kConflict);
  if (question.target == own_) answer(question, now);
}

void NeighbourCache::answer(const NeighbourMessage& question, Time now) {
  counters_.add_in_turn(NeighbourCounter::kAnswered);
  const bool known = !question.sender.is_zero() && question.mac != MacAddress{};
  // ARP says where to answer also where it does not say who asks.
  const MacAddress to = own_.is_ipv4_mapped() || known ? question.mac : MacAddress{};
  const NeighbourMessage answer{.kind = Kind::kAdvertisement,
                                .sender = own_,
                                .target = own_,
                                .mac = mac_,
                                .solicited = known,
                                .overrides = true};
  user_.send(NeighbourFrame(answer, mac_, to, question.sender), now);
}

void NeighbourCache::heard_answer(const NeighbourMessage& answer, Time now) {
  if (answer.target == own_) return counters_.add_in_turn(NeighbourCounter::kConflict);
  Entry* const entry = find_entry(answer.target);
  if (entry == nullptr) return;
  if (answer.mac == MacAddress{}) {
    // Allowed where it answers who has asked that station alone (RFC 4861, 4.4).
    if (answer.solicited) confirm(answer.target, now);
    return;
  }
  const bool another = entry->state == State::kLooking || entry->mac != answer.mac;
  if (another && entry->state != State::kLooking && !answer.overrides) {
    return doubt(*entry, entry->mac, now);
  }
  if (answer.solicited) {
    reach(*entry, answer.mac, now);
  } else if (another) {
    doubt(*entry, answer.mac, now);
  }
}

void NeighbourCache::set_mac(Entry& entry, const MacAddress& mac, Time now) {
  const bool changed = entry.state == State::kLooking || entry.mac != mac;
  entry.mac = mac;
  if (!changed) return;
  // Told once it has left kLooking, so that find() says the new one.
  entry.state = State::kReachable;
  counters_.add_in_turn(NeighbourCounter::kResolved);
  user_.found(entry.address, now);
}

void NeighbourCache::reach(Entry& entry, const MacAddress& mac, Time now) {
  set_mac(entry, mac, now);
  entry.state = State::kReachable;
  entry.due = now + settings_.reachable;
}

// Used as it is, and asked whether it is there.
void NeighbourCache::doubt(Entry& entry, const MacAddress& mac, Time now) {
  set_mac(entry, mac, now);
  if (entry.state == State::kProbing) return;
  entry.state = State::kProbing;
  entry.asked = 0;
  entry.due = now;
}

void NeighbourCache::ask(const Entry& entry, Time now) {
  counters_.add_in_turn(NeighbourCounter::kAsked);
  const NeighbourMessage question{
      .kind = Kind::kSolicitation, .sender = own_, .target = entry.address, .mac = mac_};
  const MacAddress to = entry.state == State::kProbing ? entry.mac : MacAddress{};
  user_.send(NeighbourFrame(question, mac_, to, entry.address), now);
}

void NeighbourCache::run(Time now) {
  for (Entry& entry : entries_) {
    if (now < entry.due) continue;
    if (entry.state == State::kReachable) {
      entry.state = State::kProbing;
      entry.asked = 0;
    } else if (entry.state == State::kProbing && entry.asked >= settings_.probes) {
      entry.state = State::kLooking;
      counters_.add_in_turn(NeighbourCounter::kLost);
      user_.found(entry.address, now);
    }
    ++entry.asked;
    entry.due = now + settings_.retransmit;
    ask(entry, now);
  }
}

std::optional<Time> NeighbourCache::deadline() const {
  const auto first = std::ranges::min_element(entries_, {}, &Entry::due);
  if (first == entries_.end()) return std::nullopt;
  return first->due;
}

}  // namespace weft::wan
