// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "wan/encapsulation/ends.h"

namespace weft::wan {

// Where hosts are, by what was heard from them: here, or at one of the other sites.
class Stations {
 public:
  using Place = std::uint32_t;
  static constexpr Place kHere = 0;  // site n is n + 1

  struct Options {
    std::size_t most = 4096;  // at each place; those that are silent for longest go first
    Duration forget = 300s;   // IEEE 802.1Q, 8.8.3
    // A host that was heard from so lately is nowhere else: it is an impostor, or the sites are
    // connected by another way too, and what came is the echo.
    Duration recent = 2s;
  };

  explicit Stations(const Options& options) : options_(options) {}

  enum class Learnt : std::uint8_t {
    kYes,
    kForgot,    // yes, but another one of the place had to go
    kConflict,  // no: it has just been heard from elsewhere
  };
  Learnt heard(const MacAddress& mac, Place place, Time now);
  [[nodiscard]] std::optional<Place> find(const MacAddress& mac, Time now) const;
  [[nodiscard]] std::size_t size() const { return known_.size(); }
  [[nodiscard]] std::size_t size_at(Place place) const;

 private:
  struct Station {
    std::uint64_t key = 0;
    Place place = kHere;
    Time heard{};
  };
  using Order = std::list<Station>;  // those heard longest ago first

  static std::uint64_t key_of(const MacAddress& mac);
  // For one more. True: the one that was silent for longest went.
  bool make_room(Order& order);

  const Options options_;
  std::vector<Order> places_;
  std::unordered_map<std::uint64_t, Order::iterator> known_;
};

}  // namespace weft::wan
