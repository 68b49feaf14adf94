// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/settings.h"

#include <array>
#include <cassert>
#include <cmath>

#include "phy/channel/range_check.h"

namespace weft::phy {
namespace {

constexpr std::array<TransmitSetting, kMostSettings> kTransmitSettings{{
    {.amplitude_mv = 800, .pre_cursor = 0, .post_cursor = 0},
    {.amplitude_mv = 850, .pre_cursor = 0, .post_cursor = -0.03},
    {.amplitude_mv = 900, .pre_cursor = 0, .post_cursor = -0.06},
    {.amplitude_mv = 950, .pre_cursor = 0, .post_cursor = -0.09},
    {.amplitude_mv = 1000, .pre_cursor = 0, .post_cursor = -0.12},
    {.amplitude_mv = 1000, .pre_cursor = -0.02, .post_cursor = -0.14},
    {.amplitude_mv = 1050, .pre_cursor = -0.03, .post_cursor = -0.17},
    {.amplitude_mv = 1100, .pre_cursor = -0.04, .post_cursor = -0.2},
    {.amplitude_mv = 1100, .pre_cursor = -0.05, .post_cursor = -0.24},
}};

constexpr std::array<ReceiveSetting, kMostSettings> kReceiveSettings{{
    {.peaking_db = 0, .feedback_1 = 0, .feedback_2 = 0},
    {.peaking_db = 0.75, .feedback_1 = 0, .feedback_2 = 0},
    {.peaking_db = 1.5, .feedback_1 = 0.02, .feedback_2 = 0},
    {.peaking_db = 2.25, .feedback_1 = 0.03, .feedback_2 = 0},
    {.peaking_db = 3, .feedback_1 = 0.04, .feedback_2 = 0.01},
    {.peaking_db = 3.75, .feedback_1 = 0.05, .feedback_2 = 0.01},
    {.peaking_db = 4.5, .feedback_1 = 0.06, .feedback_2 = 0.02},
    {.peaking_db = 5.25, .feedback_1 = 0.08, .feedback_2 = 0.02},
    {.peaking_db = 6, .feedback_1 = 0.1, .feedback_2 = 0.03},
}};

template <class Setting>
std::vector<Setting> spread_evenly(const std::array<Setting, kMostSettings>& all,
                                   std::size_t count) {
  assert(count >= 1 && count <= kMostSettings);
  if (count == 1) return {all[kMostSettings / 2]};
  std::vector<Setting> some;
  some.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(all[i * (kMostSettings - 1) / (count - 1)]);
  return some;
}

}  // namespace

double TransmitSetting::main_cursor() const {
  return 1 - std::abs(pre_cursor) - std::abs(post_cursor);
}

Expected<void> check(const TransmitSetting& setting) {
  for (const RangedField& field : {RangedField{"amplitude_mv", setting.amplitude_mv, 50, 2000},
                                   RangedField{"pre_cursor", setting.pre_cursor, -0.3, 0.3},
                                   RangedField{"post_cursor", setting.post_cursor, -0.4, 0.4}}) {
    if (auto good = check_range(field); !good) return good;
  }
  return {};
}

Expected<void> check(const ReceiveSetting& setting) {
  for (const RangedField& field : {RangedField{"peaking_db", setting.peaking_db, 0, 20},
                                   RangedField{"feedback_1", setting.feedback_1, 0, 0.5},
                                   RangedField{"feedback_2", setting.feedback_2, 0, 0.5}}) {
    if (auto good = check_range(field); !good) return good;
  }
  return {};
}

std::vector<TransmitSetting> default_transmit_settings(std::size_t count) {
  return spread_evenly(kTransmitSettings, count);
}

std::vector<ReceiveSetting> default_receive_settings(std::size_t count) {
  return spread_evenly(kReceiveSettings, count);
}

TransmitSetting sdr_transmit_setting() {
  return {.amplitude_mv = 1000, .pre_cursor = 0, .post_cursor = -0.2};
}

ReceiveSetting sdr_receive_setting() {
  return {.peaking_db = 4, .feedback_1 = 0, .feedback_2 = 0};
}

}  // namespace weft::phy
