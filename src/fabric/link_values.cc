// SPDX-License-Identifier: Apache-2.0
#include "fabric/link_values.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace weft::fabric {
namespace {

struct WidthRow {
  LinkWidth width;
  std::string_view name;
  std::uint8_t bit;  // 2x came last
};
constexpr std::array<WidthRow, 5> kWidths{{{LinkWidth::k1x, "1x", 1},
                                           {LinkWidth::k2x, "2x", 16},
                                           {LinkWidth::k4x, "4x", 2},
                                           {LinkWidth::k8x, "8x", 4},
                                           {LinkWidth::k12x, "12x", 8}}};

struct SpeedRow {
  LinkSpeed speed;
  std::string_view name;
  SpeedBits bits;
};
constexpr std::array<SpeedRow, 6> kSpeeds{{{LinkSpeed::kSdr, "sdr", {1, 0}},
                                           {LinkSpeed::kDdr, "ddr", {2, 0}},
                                           {LinkSpeed::kQdr, "qdr", {4, 0}},
                                           {LinkSpeed::kFdr, "fdr", {0, 1}},
                                           {LinkSpeed::kEdr, "edr", {0, 2}},
                                           {LinkSpeed::kHdr, "hdr", {0, 4}}}};

const WidthRow& row(LinkWidth width) {
  return *std::find_if(kWidths.begin(), kWidths.end() - 1,
                       [&](const WidthRow& row) { return row.width == width; });
}

const SpeedRow& row(LinkSpeed speed) {
  return *std::find_if(kSpeeds.begin(), kSpeeds.end() - 1,
                       [&](const SpeedRow& row) { return row.speed == speed; });
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::string_view to_string(LinkWidth width) {
  return row(width).name;
}

std::string_view to_string(LinkSpeed speed) {
  return row(speed).name;
}

std::optional<LinkWidth> parse_width(std::string_view text) {
  for (const WidthRow& row : kWidths) {
    if (same_word(text, row.name)) return row.width;
  }
  return std::nullopt;
}

std::optional<LinkSpeed> parse_speed(std::string_view text) {
  for (const SpeedRow& row : kSpeeds) {
    if (same_word(text, row.name)) return row.speed;
  }
  return std::nullopt;
}

std::uint8_t width_bit(LinkWidth width) {
  return row(width).bit;
}

std::uint8_t width_bits_up_to(LinkWidth widest) {
  std::uint8_t bits = 0;
  for (const WidthRow& row : kWidths) {
    // 2x came with HDR, long after the others: a port that is wider does not list it.
    if (row.width <= widest && (row.width != LinkWidth::k2x || widest == LinkWidth::k2x)) {
      bits = static_cast<std::uint8_t>(bits | row.bit);
    }
  }
  return bits;
}

LinkWidth widest(std::uint8_t bits) {
  LinkWidth best = LinkWidth::k1x;
  for (const WidthRow& row : kWidths) {
    if ((bits & row.bit) != 0) best = row.width;
  }
  return best;
}

SpeedBits speed_bit(LinkSpeed speed) {
  return row(speed).bits;
}

SpeedBits speed_bits_up_to(LinkSpeed fastest) {
  SpeedBits bits;
  for (const SpeedRow& row : kSpeeds) {
    if (row.speed > fastest) continue;
    bits.speed = static_cast<std::uint8_t>(bits.speed | row.bits.speed);
    bits.extended = static_cast<std::uint8_t>(bits.extended | row.bits.extended);
  }
  return bits;
}

LinkSpeed fastest(SpeedBits bits) {
  LinkSpeed best = LinkSpeed::kSdr;
  for (const SpeedRow& row : kSpeeds) {
    if ((bits.speed & row.bits.speed) != 0 || (bits.extended & row.bits.extended) != 0) {
      best = row.speed;
    }
  }
  return best;
}

}  // namespace weft::fabric
