// SPDX-License-Identifier: Apache-2.0
#include "wan/router/local_paths.h"

#include <utility>

namespace weft::wan {

void LocalPaths::send(const PathQuestion& to, link::PacketPtr packet, Time now) {
  Entry* const entry = place(to, now);
  if (entry == nullptr) return user_.lost(NoPath::kTooMany, 1);
  const bool holds = now < entry->until;
  if (entry->path && holds) {
    // Who cannot be asked now will be with a later packet.
    if (entry->asked == 0 && now >= entry->renew_at) (void)ask(to, *entry, now);
    return user_.ready(std::move(packet), *entry->path, now);
  }
  if (entry->absent && holds) return user_.lost(NoPath::kAbsent, 1);
  if (entry->asked == 0) {
    entry->path.reset();
    entry->absent = false;
    if (asked_.size() >= options_.questions) return user_.lost(NoPath::kTooMany, 1);
    if (!ask(to, *entry, now)) return user_.lost(NoPath::kUnanswered, 1);
  }
  wait(*entry, std::move(packet));
}

// Null: there are too many.
LocalPaths::Entry* LocalPaths::place(const PathQuestion& to, Time now) {
  if (const auto known = paths_.find(to); known != paths_.end()) return &known->second;
  if (paths_.size() >= options_.paths) {
    // One that asks for ever new ones does not have all of them looked through each time.
    if (now < swept_at_ + options_.absent_for) return nullptr;
    sweep(now);
    if (paths_.size() >= options_.paths) return nullptr;
  }
  if (paths_.empty()) swept_at_ = now;
  return &paths_[to];
}

bool LocalPaths::ask(const PathQuestion& to, Entry& entry, Time now) {
  if (asked_.size() >= options_.questions || !user_.ask(last_number_ + 1, to, now)) return false;
  entry.asked = ++last_number_;
  entry.doubted = false;
  asked_.emplace(entry.asked, to);
  return true;
}

void LocalPaths::wait(Entry& entry, link::PacketPtr packet) {
  if (waiting_ >= options_.waiting || entry.waiting.size() >= options_.waiting_each) {
    return user_.lost(NoPath::kTooMany, 1);
  }
  ++waiting_;
  entry.waiting.push(std::move(packet));
}

LocalPaths::Map::iterator LocalPaths::answered(std::uint64_t number) {
  const auto question = asked_.find(number);
  if (question == asked_.end()) return paths_.end();
  const auto found = paths_.find(question->second);
  asked_.erase(question);
  found->second.asked = 0;
  return found;
}

void LocalPaths::drop(Entry& entry, NoPath why) {
  if (entry.waiting.empty()) return;
  user_.lost(why, entry.waiting.size());
  waiting_ -= entry.waiting.size();
  entry.waiting.clear();
}

void LocalPaths::found(std::uint64_t number, const LocalPath& path, Time now) {
  const auto place = answered(number);
  if (place == paths_.end()) return;
  Entry& entry = place->second;
  entry.path = path;
  entry.absent = false;
  entry.until = now + options_.lifetime;
  // An answer to what was asked before things changed will do for once.
  entry.renew_at = entry.doubted ? now : now + options_.renew_after;
  while (!entry.waiting.empty()) {
    --waiting_;
    user_.ready(entry.waiting.pop(), path, now);
  }
}

void LocalPaths::absent(std::uint64_t number, Time now) {
  const auto place = answered(number);
  if (place == paths_.end()) return;
  Entry& entry = place->second;
  entry.path.reset();
  entry.absent = true;
  entry.until = now + options_.absent_for;
  drop(entry, NoPath::kAbsent);
}

// Nothing is known by that: what is in use stays so until its time is over.
void LocalPaths::unanswered(std::uint64_t number, Time now) {
  const auto place = answered(number);
  if (place == paths_.end()) return;
  Entry& entry = place->second;
  entry.renew_at = now + options_.absent_for;
  if (!entry.path) entry.until = now;
  drop(entry, NoPath::kUnanswered);
}

void LocalPaths::forget() {
  for (auto& [question, entry] : paths_) {
    entry.path.reset();
    entry.absent = false;
    entry.until = {};
    entry.doubted = entry.asked != 0;
  }
}

void LocalPaths::drop_waiting(NoPath why) {
  for (auto& [question, entry] : paths_)
    drop(entry, why);
}

void LocalPaths::run(Time now) {
  if (const auto due = deadline(); due && *due <= now) sweep(now);
}

void LocalPaths::sweep(Time now) {
  swept_at_ = now;
  std::erase_if(paths_, [now](const auto& each) { return is_idle(each.second, now); });
}

std::optional<Time> LocalPaths::deadline() const {
  return paths_.empty() ? std::nullopt : std::optional(swept_at_ + options_.lifetime);
}

}  // namespace weft::wan
