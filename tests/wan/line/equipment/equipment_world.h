// SPDX-License-Identifier: Apache-2.0
// Two ends of a line in virtual time, with equipment between them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "line_world.h"
#include "wan/line/equipment/line_equipment.h"

namespace weft::wan {

class EquipmentWorld : public LineWorld {
 public:
  EquipmentWorld(const std::string& stack, const std::string& list, std::uint32_t seed,
                 const Circuits& circuits = {}, std::size_t piece = 4096)
      : LineWorld(stack, seed, kFastest, circuits), piece_(piece) {
    put(list);
    spoil = [this](std::size_t from, std::vector<std::byte>& octets) { pass(from, octets); };
  }

  // In place of what there was, of which all is lost.
  void put(const std::string& list) {
    equipment_ = std::move(LineEquipment::parse(list).value());
    for (auto& held : held_)
      held.clear();
  }
  [[nodiscard]] std::map<std::string_view, std::uint64_t> counters() const {
    std::vector<CounterValue> all;
    for (const auto& each : equipment_)
      accumulate(all, each->counters());
    std::map<std::string_view, std::uint64_t> out;
    for (const CounterValue& counter : all)
      out[counter.name] = counter.value;
    return out;
  }

 private:
  // In pieces, as a stream brings them.
  void pass(std::size_t from, std::vector<std::byte>& octets) {
    std::vector<std::byte>& held = held_[from];
    held.insert(held.end(), octets.begin(), octets.end());
    octets.clear();
    if (held.size() < piece_) return;
    octets.swap(held);
    using From = LineEquipment::From;
    if (from == 0) {
      for (const auto& each : equipment_)
        each->pass(From::kFirst, octets, now);
    } else {
      for (auto each = equipment_.rbegin(); each != equipment_.rend(); ++each)
        (*each)->pass(From::kSecond, octets, now);
    }
  }

  const std::size_t piece_;
  std::vector<std::unique_ptr<LineEquipment>> equipment_;
  std::array<std::vector<std::byte>, 2> held_;
};

}  // namespace weft::wan
