// SPDX-License-Identifier: Apache-2.0
#include "service/qp_map.h"

#include <algorithm>
#include <utility>

namespace weft::service {

Qpn QpMap::draw_number() {
  // Fewer than one in 256 numbers is taken: a few draws at most.
  for (;;) {
    const Qpn number{static_cast<std::uint32_t>(entropy_.draw())};
    if (number.value() <= kQp1.value() || number == kMulticastQpn) continue;
    if (!entries_.contains(number)) return number;
  }
}

QKey QpMap::draw_qkey() {
  return QKey{static_cast<std::uint32_t>(entropy_.draw()) & ~kPrivilegedQKeyBit};
}

bool QpMap::has_room(const Gid& owner) const {
  if (entries_.size() >= options_.entries) return false;
  const auto owned = owned_.find(owner);
  return owned == owned_.end() || owned->second < options_.entries_each;
}

MappedQp* QpMap::find(Qpn number) {
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : &found->second;
}

MappedQp* QpMap::find(const Gid& owner, Qpn real, const Gid& peer) {
  const auto found = by_real_.find({owner, peer, real});
  return found == by_real_.end() ? nullptr : find(found->second);
}

MappedQp* QpMap::show(const Gid& owner, Qpn real, const Gid& peer, Time now) {
  if (MappedQp* const known = find(owner, real, peer)) {
    known->used = now;
    return known;
  }
  if (!has_room(owner)) return nullptr;
  const Qpn number = draw_number();
  MappedQp& entry = entries_[number];
  entry = {.number = number, .owner = owner, .real = real, .peer = peer, .used = now};
  by_real_[{owner, peer, real}] = number;
  ++owned_[owner];
  embryonic_.push_back({.when = now + options_.embryonic, .number = number});
  news_.push_back(number);
  return &entry;
}

void QpMap::establish(Qpn number) {
  MappedQp* const entry = find(number);
  if (entry == nullptr || std::exchange(entry->established, true)) return;
  news_.push_back(number);
  if (entry->datagram) {
    datagrams_.push_back({.when = entry->used + options_.datagram_idle, .number = number});
  }
}

void QpMap::close(Qpn number, Time now) {
  MappedQp* const entry = find(number);
  if (entry == nullptr) return;
  if (!entry->established) return remove(number);
  if (std::exchange(entry->closing, true)) return;  // whoever says so again
  // A connection that its owner makes of it meanwhile has another number, and does not end with it.
  forget_real(*entry);
  closing_.push_back({.when = now + options_.time_wait, .number = number, .closing = true});
}

void QpMap::forget(const Gid& owner) {
  std::vector<Qpn> gone;
  for (const auto& [number, entry] : entries_) {
    if (entry.owner == owner) gone.push_back(number);
  }
  for (const Qpn number : gone)
    remove(number);
}

bool QpMap::restore(const MappedQp& entry, Time now) {
  if (entry.number.value() <= kQp1.value() || entry.number == kMulticastQpn) return false;
  const Real real{entry.owner, entry.peer, entry.real};
  if (MappedQp* const known = find(entry.number)) {
    if (!(Real{known->owner, known->peer, known->real} == real)) return false;
    const bool established = known->established;
    const bool closing = known->closing;
    *known = entry;
    known->established = established;
    known->closing = closing;
    if (entry.established) establish(entry.number);
    changed_.push_back(entry.number);
    return true;
  }
  if (!has_room(entry.owner)) return false;
  // The other instance has drawn a new number, so what had the one before has ended there.
  if (const auto before = by_real_.find(real); before != by_real_.end()) {
    close(Qpn(before->second), now);
  }
  MappedQp& fresh = entries_[entry.number];
  fresh = entry;
  fresh.established = false;
  by_real_[real] = entry.number;
  ++owned_[entry.owner];
  embryonic_.push_back({.when = entry.used + options_.embryonic, .number = entry.number});
  if (entry.established) establish(entry.number);
  changed_.push_back(entry.number);
  return true;
}

void QpMap::forget_real(const MappedQp& entry) {
  const auto found = by_real_.find({entry.owner, entry.peer, entry.real});
  if (found != by_real_.end() && found->second == entry.number) by_real_.erase(found);
}

void QpMap::remove(Qpn number) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  const MappedQp& entry = found->second;
  forget_real(entry);
  const auto owned = owned_.find(entry.owner);
  if (--owned->second == 0) owned_.erase(owned);
  changed_.push_back(number);
  news_.push_back(number);
  entries_.erase(found);
}

std::vector<Qpn> QpMap::take_changed() {
  return std::exchange(changed_, {});
}

std::vector<Qpn> QpMap::take_news() {
  std::vector<Qpn> out = std::exchange(news_, {});
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void QpMap::look_at(const Timed& due, Time now) {
  MappedQp* const entry = find(due.number);
  if (entry == nullptr) return;
  if (due.closing) return remove(due.number);
  if (!entry->established) return remove(due.number);
  if (!entry->datagram) return;
  if (entry->used + options_.datagram_idle <= now) return remove(due.number);
  // Packets of a flow that is known pass without anybody looking here: the next one is to.
  changed_.push_back(due.number);
  datagrams_.push_back({.when = now + options_.datagram_idle, .number = due.number});
}

void QpMap::run(Time now) {
  for (std::deque<Timed>* const queue : {&closing_, &datagrams_}) {
    while (!queue->empty() && queue->front().when <= now) {
      const Timed due = queue->front();
      queue->pop_front();
      look_at(due, now);
    }
  }
  while (!embryonic_.empty() && embryonic_.front().when <= now) {
    const Timed due = embryonic_.front();
    embryonic_.pop_front();
    if (const MappedQp* const entry = find(due.number); entry != nullptr && !entry->established) {
      remove(due.number);
    }
  }
}

std::optional<Time> QpMap::deadline() const {
  std::optional<Time> first;
  for (const std::deque<Timed>* const queue : {&embryonic_, &closing_, &datagrams_}) {
    if (!queue->empty()) first = std::min(first.value_or(queue->front().when), queue->front().when);
  }
  return first;
}

}  // namespace weft::service
