// SPDX-License-Identifier: Apache-2.0
#include "port/udp/port_numbers.h"

namespace weft::port {

PortNumbers::PortNumbers(std::uint16_t first, std::uint16_t last, Entropy& entropy,
                         std::optional<std::uint16_t> except)
    : first_(first), last_(last) {
  const std::uint32_t count = std::uint32_t{last} - first + 1;
  const auto start = static_cast<std::uint32_t>(entropy.draw() % count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint16_t>(first + (start + i) % count);
    if (number != except) free_.push_back(number);
  }
}

std::optional<std::uint16_t> PortNumbers::take() {
  const std::lock_guard guard(mutex_);
  if (free_.empty()) return std::nullopt;
  const std::uint16_t port = free_.front();
  free_.pop_front();
  return port;
}

void PortNumbers::give_back(std::uint16_t port) {
  const std::lock_guard guard(mutex_);
  free_.push_back(port);
}

std::size_t PortNumbers::available() const {
  const std::lock_guard guard(mutex_);
  return free_.size();
}

}  // namespace weft::port
