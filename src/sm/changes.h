// SPDX-License-Identifier: Apache-2.0
// What a manager writes, and what became of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sm/smp_queue.h"

namespace weft::sm {

class Changes {
 public:
  // Beyond these, warnings are only counted.
  static constexpr std::size_t kMostWarnings = 100;

  // `smps` outlives it; handlers refer to it until smps.idle().
  explicit Changes(SmpQueue& smps) : smps_(smps) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void get(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
           SmpQueue::Handler done);
  // `data`: up to 64 bytes of attribute. It is for `done` to call failed().
  void set(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
           Bytes data, SmpQueue::Handler done);
  // The next sweep tries again.
  void left_undone(std::string what);
  // `what` names in words what was to be written.
  void failed(const std::string& what, const SmpResult& result);
  // What cannot be as it is to be, and will not be the next time either.
  void warn(std::string text);

  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  // Of them, those that nobody has answered.
  [[nodiscard]] std::uint64_t unanswered() const { return unanswered_; }
  // The first of them, in words.
  [[nodiscard]] const std::string& first_failure() const { return first_failure_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  SmpQueue& smps_;
  std::uint64_t writes_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t unanswered_ = 0;
  std::string first_failure_;
  std::vector<std::string> warnings_;
};

}  // namespace weft::sm
