// SPDX-License-Identifier: Apache-2.0
#include "hca/loss_noise.h"

#include <algorithm>

namespace weft::hca {
namespace {

// What is enough to know a rate of losses by, give or take a third.
constexpr std::uint32_t kClear = 8;
// One packet in so many: TCP, whose window is a hundred packets or more, brings about fewer losses
// when it takes its fair share of a path (RFC 9438, 5.2).
constexpr double kRarest = 1.0 / 4096;
constexpr double kMargin = 2;  // what is borne, by what was measured

}  // namespace

double LossNoise::rate() const {
  return losses_ < kClear ? 0 : static_cast<double>(losses_) / (packets_ + losses_);
}

void LossNoise::delivered(std::uint32_t packets, bool low) {
  if (low) {
    packets_ += packets;
  } else {
    bearable_ = std::min<double>(bearable_ + kMargin * rate() * packets, kClear);
  }
}

bool LossNoise::lost_when_low() {
  ++losses_;
  if (clear_ || rate() < kRarest) return false;
  clear_ = true;
  bearable_ = kClear;
  return true;
}

bool LossNoise::bears() {
  if (bearable_ < 1) return false;
  bearable_ -= 1;
  return true;
}

}  // namespace weft::hca
