// SPDX-License-Identifier: Apache-2.0
// Each kind of equipment, out of the word that asks for it. Internal to line_equipment.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "wan/line/equipment/line_equipment.h"
#include "wan/line/sonet/geometry.h"

namespace weft::wan {

// One of the list: "cell-mux:stm1:channel=1/100:foreign=10Mb/s".
struct EquipmentWord {
  std::string_view text;  // the whole
  std::string_view kind{};
  std::string_view line{};  // empty: nothing is said of it
  std::vector<std::pair<std::string_view, std::string_view>> settings{};
  std::size_t place = 0;  // in the list
  // Where it has a host: how fast that sends, in bytes per second, and to which side. Of the hosts
  // of a list the first two are a pair, and the next two.
  std::uint64_t foreign_bytes_per_s = 0;
  LineEquipment::From foreign_towards = LineEquipment::From::kSecond;
  std::size_t foreign_pair = 0;

  // The first of its settings that is none of these; empty: all are.
  [[nodiscard]] std::string_view unknown_setting(
      std::initializer_list<std::string_view> known) const;
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view why) const;
};

using MadeEquipment = Expected<std::unique_ptr<LineEquipment>>;
[[nodiscard]] MadeEquipment make_regenerator(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_add_drop(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_cell_switch(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_cell_mux(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_router(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_bridge(const EquipmentWord& word);
[[nodiscard]] MadeEquipment make_relay(const EquipmentWord& word);

[[nodiscard]] std::optional<sonet::Level> level_of(std::string_view name);

// What takes its clock from the line keeps a little at most: it is given, and asked for, less than
// a frame at a time. `between` is called once what came is there.
template <class Sink, class Source, class Between>
void pass_in_pieces(MutableBytes octets, Sink& from, Source& to, Between between) {
  constexpr std::size_t kPiece = 1024;
  while (!octets.empty()) {
    const MutableBytes piece = octets.first(std::min(octets.size(), kPiece));
    from.take(piece);
    between();
    to.fill(piece);
    octets = octets.subspan(piece.size());
  }
}

}  // namespace weft::wan
