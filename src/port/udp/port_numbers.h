// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/entropy.h"

namespace weft::port {

// The free numbers of 16 bits that queue pair numbers are made of: UDP ports on most wires. Used
// once, a number comes around again only after all others, so that a late datagram for a queue pair
// that is gone does not find a new one under its number.
class PortNumbers {
 public:
  // first..last without `except`, starting at a random one: processes on one host do not try the
  // same ports.
  PortNumbers(std::uint16_t first, std::uint16_t last, Entropy& entropy,
              std::optional<std::uint16_t> except = {});

  std::optional<std::uint16_t> take();
  void give_back(std::uint16_t port);
  [[nodiscard]] std::size_t available() const;
  [[nodiscard]] std::uint16_t first() const { return first_; }
  [[nodiscard]] std::uint16_t last() const { return last_; }

 private:
  std::uint16_t first_;
  std::uint16_t last_;
  mutable std::mutex mutex_;
  std::deque<std::uint16_t> free_;
};

}  // namespace weft::port
