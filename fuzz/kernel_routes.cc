// SPDX-License-Identifier: Apache-2.0
// Messages of rtnetlink, one after the other as they lie in a datagram: each is a route that can
// be, of the table that was asked for, or none; nothing is read beyond a message's end.
#include "io/kernel_routes.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "input.h"

using namespace weft;
using fuzz::require;

namespace {

constexpr std::uint32_t kTable = 254;

void look_at(Bytes message) {
  // In memory of its own, so that what is read beyond it is noticed.
  const std::vector<std::byte> copy(message.begin(), message.end());
  const auto route = io::parse_kernel_route(copy, kTable);
  if (!route) return;
  require(route->prefix.bits() <= GidPrefix::kMostBits);
  require(route->prefix == route->prefix.first(route->prefix.bits()));
  require(!io::parse_kernel_route(copy, kTable + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes left = std::as_bytes(std::span(data, size));
  look_at(left);
  while (left.size() >= sizeof(std::uint32_t)) {
    std::uint32_t length = 0;
    std::memcpy(&length, left.data(), sizeof length);
    if (length < sizeof length || length > left.size()) return 0;
    look_at(left.first(length));
    left = left.subspan(length);
  }
  return 0;
}
