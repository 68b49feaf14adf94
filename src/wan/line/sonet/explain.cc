// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <span>
#include <string_view>

#include "wan/line/sonet/overhead.h"
#include "wan/line/sonet/pointer.h"
#include "wan/line/sonet/scrambler.h"

namespace weft::wan::sonet {
namespace {

struct OverheadName {
  std::string_view name;
  std::uint8_t row = 0;
  std::uint8_t column = 0;  // of STM-1's overhead
  bool is_wide = false;     // three of STM-1: 3 N octets
};

constexpr std::array kOverheadNames{
    OverheadName{"A1", 0, 0, true}, OverheadName{"A2", 0, 3, true}, OverheadName{"J0", 0, 6},
    OverheadName{"B1", 1, 0},       OverheadName{"E1", 1, 3},       OverheadName{"F1", 1, 6},
    OverheadName{"D1", 2, 0},       OverheadName{"D2", 2, 3},       OverheadName{"D3", 2, 6},
    OverheadName{"H1", 3, 0, true}, OverheadName{"H2", 3, 3, true}, OverheadName{"H3", 3, 6, true},
    OverheadName{"B2", 4, 0, true}, OverheadName{"K1", 4, 3},       OverheadName{"K2", 4, 6},
    OverheadName{"D4", 5, 0},       OverheadName{"D5", 5, 3},       OverheadName{"D6", 5, 6},
    OverheadName{"D7", 6, 0},       OverheadName{"D8", 6, 3},       OverheadName{"D9", 6, 6},
    OverheadName{"D10", 7, 0},      OverheadName{"D11", 7, 3},      OverheadName{"D12", 7, 6},
    OverheadName{"S1", 8, 0},       OverheadName{"M1", 8, 3},       OverheadName{"E2", 8, 6},
};
constexpr std::array<std::string_view, kRows> kPathNames{"J1", "B3", "C2", "G1", "F2",
                                                         "H4", "F3", "K3", "N1"};

std::string octets_text(Bytes octets) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (const std::byte octet : octets.first(std::min(octets.size(), kShown))) {
    fmt::format_to(std::back_inserter(text), "{}{:02x}", text.empty() ? "" : " ",
                   std::to_integer<unsigned>(octet));
  }
  const bool all_same =
      std::ranges::all_of(octets, [&](std::byte octet) { return octet == octets.front(); });
  if (octets.size() > kShown) text += all_same ? " ... all the same" : " ...";
  return text;
}

std::string_view k2_text(std::byte octet) {
  const std::byte signal = octet & kK2Signal;
  if (signal == kK2Ais) return ": AIS-L";
  return signal == kK2Rdi ? ": RDI-L" : "";
}

struct ShownPointer {
  std::uint16_t word = 0;
  std::uint16_t value = 0;
  bool is_valid = false;
};

ShownPointer pointer_of(Bytes plain, const Geometry& g) {
  const auto octet = [&](std::size_t column) {
    return std::to_integer<unsigned>(plain[g.at(kPointerRow, column)]);
  };
  ShownPointer pointer;
  pointer.word = static_cast<std::uint16_t>(octet(0) << 8 | octet(3));
  pointer.value = pointer.word & 0x3FF;
  pointer.is_valid = pointer.word != kAisPointer && pointer.value < kPointers;
  return pointer;
}

std::string pointer_text(const ShownPointer& pointer) {
  if (pointer.word == kAisPointer) return ": AIS-P";
  if (!pointer.is_valid) return fmt::format(": no pointer ({})", pointer.value);
  return fmt::format(": pointer {}{}", pointer.value,
                     pointer.word >> 12 == 0b1001 ? ", new data flag" : "");
}

std::string path_text(PathRow row, std::byte octet) {
  const auto value = std::to_integer<unsigned>(octet);
  if (row == PathRow::kC2) {
    return fmt::format(": {}", label_name(static_cast<std::uint8_t>(value)));
  }
  if (row == PathRow::kG1) {
    return fmt::format(": REI-P {}{}", value >> 4,
                       (octet & kG1Rdi) != std::byte{} ? ", RDI-P" : "");
  }
  return "";
}

void add_path(std::vector<FrameField>& fields, Bytes plain, const Geometry& g,
              std::uint16_t pointer) {
  for (std::size_t row = 0; row < kRows; ++row) {
    // Among the frame's octets of containers; of what is behind H3, the first are in row 4.
    const std::size_t spe =
        (kPointerRow * g.vc_row() + pointer * g.unit() + row * g.vc_row()) % g.vc();
    const std::size_t at = g.at(spe / g.vc_row(), 9) + spe % g.vc_row();
    fields.push_back({.name = std::string(kPathNames[row]),
                      .value = octets_text(plain.subspan(at, 1)) +
                               path_text(static_cast<PathRow>(row), plain[at]),
                      .at = at,
                      .size = 1});
  }
}

}  // namespace

std::vector<FrameField> explain(Level level, Bytes plain) {
  const Geometry g = geometry(level);
  assert(plain.size() == g.frame());
  const ShownPointer pointer = pointer_of(plain, g);
  std::vector<FrameField> fields;
  for (const OverheadName& name : kOverheadNames) {
    const std::size_t at = name.name == "M1" ? g.m1() : g.at(name.row, name.column);
    const std::size_t size = name.is_wide ? g.thirds() : 1;
    std::string value = octets_text(plain.subspan(at, size));
    if (name.name == "H1") value += pointer_text(pointer);
    if (name.name == "K2") value += k2_text(plain[at]);
    if (name.name == "M1") {
      value += fmt::format(": REI-L {}", std::to_integer<unsigned>(plain[at]));
    }
    fields.push_back(
        {.name = std::string(name.name), .value = std::move(value), .at = at, .size = size});
  }
  if (pointer.is_valid) add_path(fields, plain, g, pointer.value);
  std::ranges::stable_sort(fields, {}, &FrameField::at);
  return fields;
}

std::vector<FrameField> explain_line(Level level, Bytes line) {
  std::vector<std::byte> plain(line.size());
  scramble(line, scrambler_sequence(level), plain);
  return explain(level, plain);
}

}  // namespace weft::wan::sonet
