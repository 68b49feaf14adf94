// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_rate.h"

#include <fmt/format.h>

#include <array>

namespace weft::verbs {
namespace {

constexpr std::array kRates{LinkRate{2'500, 1, 1, "1X SDR"},    LinkRate{5'000, 1, 2, "1X DDR"},
                            LinkRate{10'000, 1, 4, "1X QDR"},   LinkRate{14'000, 1, 16, "1X FDR"},
                            LinkRate{20'000, 2, 2, "4X DDR"},   LinkRate{25'000, 1, 32, "1X EDR"},
                            LinkRate{40'000, 2, 4, "4X QDR"},   LinkRate{50'000, 1, 64, "1X HDR"},
                            LinkRate{56'000, 2, 16, "4X FDR"},  LinkRate{100'000, 2, 32, "4X EDR"},
                            LinkRate{200'000, 2, 64, "4X HDR"}, LinkRate{400'000, 2, 128, "4X NDR"},
                            LinkRate{800'000, 4, 128, "8X NDR"}};

}  // namespace

LinkRate link_rate(std::uint64_t rate_mbps) {
  LinkRate best = kRates.front();
  for (const LinkRate& rate : kRates) {
    if (rate.mbps <= rate_mbps) best = rate;
  }
  return best;
}

std::string to_string(const LinkRate& rate) {
  return fmt::format("{:g} Gb/sec ({})", static_cast<double>(rate.mbps) / 1000.0, rate.name);
}

}  // namespace weft::verbs
