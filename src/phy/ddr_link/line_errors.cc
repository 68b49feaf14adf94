// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/line_errors.h"

#include <algorithm>

namespace weft::phy {
namespace {

constexpr std::int64_t kBitsInSymbol = 10;
constexpr std::int64_t kNsInSecond = 1'000'000'000;
// One in some ten years.
constexpr double kHardlyEver = 3e-9;  // a second

Duration symbol_time(LinkSpeed speed) {
  return Duration(kBitsInSymbol * kNsInSecond / static_cast<std::int64_t>(lane_bits_per_s(speed)));
}

}  // namespace

void LineErrors::begin(LinkSpeed speed, std::size_t lanes, double probability, std::uint64_t seed,
                       Time now) {
  end(now);
  up_ = true;
  lanes_ = lanes;
  column_ = symbol_time(speed);
  const double symbols_per_s =
      static_cast<double>(lanes) * kNsInSecond / static_cast<double>(column_.count());
  times_ = ErrorTimes(symbols_per_s, probability, seed);
  since_ = packets_until_ = now;
}

void LineErrors::end(Time now) {
  if (!up_) return;
  before_ = count(now);
  up_ = false;
}

bool LineErrors::any() const {
  return up_ && times_.per_second() > kHardlyEver;
}

std::uint64_t LineErrors::packet(std::size_t symbols, Time now) {
  if (!up_) return 0;
  const Time begins = std::max(now, packets_until_);
  const auto columns = static_cast<std::int64_t>((symbols + lanes_ - 1) / lanes_);
  packets_until_ = begins + columns * column_;
  return times_.before(packets_until_ - since_) - times_.before(begins - since_);
}

std::uint64_t LineErrors::count(Time now) const {
  if (!up_) return before_;
  return before_ + times_.before(std::max({now, packets_until_, since_}) - since_);
}

}  // namespace weft::phy
