// SPDX-License-Identifier: Apache-2.0
// A station of an Ethernet under whatever others say of addresses: it finds only what it looks for,
// answers only who asks for it, with messages that can be read, says nothing without end, and what
// is read is written back as it was.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "input.h"
#include "wan/neighbour/neighbour_cache.h"

namespace {

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

constexpr MacAddress kOwnMac{2, 0, 0, 0, 0, 1};

Gid address(bool ipv4, std::uint8_t last) {
  return ipv4 ? Gid::from_ipv4(0xC0000200U + last)
              : Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

struct Station final : NeighbourUser {
  explicit Station(bool ipv4) : own(address(ipv4, 1)), cache(kOwnMac, own, {}, *this) {}
  void send(const NeighbourFrame& frame, Time) override {
    const auto read = read_neighbour_message(frame.bytes());
    require(read && read->sender == own && read->mac == kOwnMac);
    ++sent;
  }
  void found(const Gid& of, Time) override {
    require(looked_for(of));
    require(cache.find(of) != MacAddress{});
  }
  [[nodiscard]] bool looked_for(const Gid& of) const {
    return std::find(wanted.begin(), wanted.end(), of) != wanted.end();
  }

  Gid own;
  std::vector<Gid> wanted;
  unsigned sent = 0;
  NeighbourCache cache;
};

void check_message(Bytes frame) {
  const auto read = read_neighbour_message(frame);
  if (!read) return;
  require(!read->target.is_zero());
  require((read->mac[0] & 1) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const bool ipv4 = (input.byte() & 1) != 0;
  Station station(ipv4);
  Time now = Time{} + 1h;
  for (const std::uint8_t last : {std::uint8_t{2}, std::uint8_t{3}}) {
    station.wanted.push_back(address(ipv4, last));
    station.cache.look_for(station.wanted.back(), now);
  }
  while (!input.empty()) {
    const std::uint8_t what = input.byte();
    const unsigned before = station.sent;
    if (what < 0x40) {
      now += std::chrono::milliseconds(100) * (what + 1);
      station.cache.run(now);
      require(station.sent - before <= station.wanted.size());
      require(station.cache.deadline() > now);
      continue;
    }
    if (what < 0x60) {
      station.cache.confirm(address(ipv4, what & 3), now);
      continue;
    }
    const Bytes frame = input.some();
    check_message(frame);
    station.cache.receive(frame, now);
    require(station.sent - before <= 1);
    for (const Gid& of : station.wanted) {
      const auto mac = station.cache.find(of);
      require(!mac || ((*mac)[0] & 1) == 0);
    }
  }
  return 0;
}
