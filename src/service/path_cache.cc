// SPDX-License-Identifier: Apache-2.0
#include "service/path_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::service {

PathCache::PathCache(const Options& options, PathAsker& asker, Settled settled)
    : options_(options),
      asker_(asker),
      settled_(std::move(settled)),
      paths_(options.paths),
      refusals_(options.refusals) {
}

PathCache::Found PathCache::find(const PathQuestion& question, Time now) {
  if (const auto pinned = pinned_.find(question.dgid); pinned != pinned_.end()) {
    return {State::kKnown, pinned->second};
  }
  if (const Known* const known = paths_.touch(question); known != nullptr && now < known->until) {
    return {State::kKnown, known->path};
  }
  if (open_.contains(question)) return {State::kAsking, {}};
  if (const Time* const until = refusals_.touch(question); until != nullptr && now < *until) {
    return {State::kRefused, {}};
  }
  if (asked_.size() >= options_.open) return {State::kBusy, {}};
  ask(question, now);
  return {State::kAsking, {}};
}

void PathCache::ask(const PathQuestion& question, Time now) {
  const std::uint64_t number = ++last_number_;
  asked_.emplace(number, Asked{question, now + options_.patience});
  open_[question] = number;
  asker_.ask(number, question);
}

void PathCache::answered(std::uint64_t number, const std::optional<Path>& path, Time now) {
  const auto found = asked_.find(number);
  if (found == asked_.end()) return;
  const PathQuestion question = found->second.question;
  asked_.erase(found);
  open_.erase(question);
  if (path) {
    const Known known{*path, now + options_.lifetime};
    if (Known* const old = paths_.find(question)) {
      *old = known;
    } else {
      paths_.insert(question, known);
    }
  } else {
    paths_.erase(question);
    const Time until = now + options_.refusal_lifetime;
    if (Time* const old = refusals_.find(question)) {
      *old = until;
    } else {
      refusals_.insert(question, until);
    }
  }
  settled_(question, path);
}

template <class Matches>
void PathCache::forget(Matches matches) {
  const auto collect = [&matches](const auto& list) {
    std::vector<PathQuestion> out;
    for (const auto& entry : list) {
      if (matches(entry.key)) out.push_back(entry.key);
    }
    return out;
  };
  for (const PathQuestion& question : collect(paths_))
    paths_.erase(question);
  for (const PathQuestion& question : collect(refusals_))
    refusals_.erase(question);
  // An answer that is under way may be from before the change.
  std::vector<std::pair<std::uint64_t, Asked>> again;
  for (const auto& [number, asked] : asked_) {
    if (matches(asked.question)) again.emplace_back(number, asked);
  }
  std::ranges::sort(again, {}, [](const auto& one) { return one.first; });
  for (const auto& [number, asked] : again) {
    asked_.erase(number);
    const std::uint64_t fresh = ++last_number_;
    asked_.emplace(fresh, asked);
    open_[asked.question] = fresh;
    asker_.ask(fresh, asked.question);
  }
}

void PathCache::invalidate(const Gid& gid) {
  forget([&gid](const PathQuestion& question) {
    return question.sgid == gid || question.dgid == gid;
  });
}

void PathCache::invalidate_all() {
  forget([](const PathQuestion&) { return true; });
}

void PathCache::run(Time now) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, asked] : asked_) {
    if (asked.until <= now) late.push_back(number);
  }
  std::ranges::sort(late);
  for (const std::uint64_t number : late)
    answered(number, std::nullopt, now);
}

std::optional<Time> PathCache::deadline() const {
  std::optional<Time> first;
  for (const auto& [number, asked] : asked_)
    first = std::min(first.value_or(asked.until), asked.until);
  return first;
}

}  // namespace weft::service
