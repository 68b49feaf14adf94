// SPDX-License-Identifier: Apache-2.0
#include "sm/changes.h"

#include <fmt/format.h>

#include <utility>

namespace weft::sm {

void Changes::get(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
                  SmpQueue::Handler done) {
  smps_.get(route, attribute, modifier, std::move(done));
}

void Changes::set(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
                  Bytes data, SmpQueue::Handler done) {
  ++writes_;
  smps_.set(route, attribute, modifier, data, std::move(done));
}

void Changes::left_undone(std::string what) {
  ++failures_;
  if (first_failure_.empty()) first_failure_ = std::move(what);
}

void Changes::failed(const std::string& what, const SmpResult& result) {
  if (result.outcome == SmpResult::Outcome::kTimedOut) ++unanswered_;
  left_undone(result.outcome == SmpResult::Outcome::kTimedOut
                  ? what + ": no answer"
                  : fmt::format("{}: refused with status {:#06x}", what, result.status));
}

void Changes::warn(std::string text) {
  if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(text));
}

}  // namespace weft::sm
