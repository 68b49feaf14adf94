// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/sampled_lane.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace weft::phy {
namespace {

constexpr int kBitsOfSymbol = 10;

// What each value of eight bits adds, of which the one of bit 0 was sent last, through the cursors
// from `first` on.
std::array<float, 256> sums_of_byte(const EqualisedLane& lane, int first, double offset) {
  std::array<float, 256> sums{};
  for (std::size_t value = 0; value < sums.size(); ++value) {
    double sum = 0;
    for (int bit = 0; bit < 8; ++bit)
      sum += (value >> bit & 1) != 0 ? lane.at(first + bit, offset) : -lane.at(first + bit, offset);
    sums[value] = static_cast<float>(sum);
  }
  return sums;
}

}  // namespace

SampledLane::SampledLane(const EqualisedLane& lane, Random random)
    : lane_(lane), draws_(random.fork()) {
  const double step = 2 * std::numbers::pi * lane.sinusoidal_jitter_turns;
  sine_step_ = std::sin(step);
  cosine_step_ = std::cos(step);
  const double start = 2 * std::numbers::pi * uniform(random);
  sine_ = std::sin(start);
  cosine_ = std::cos(start);
  for (std::size_t byte = kNearBytes; byte < kBytes; ++byte)
    tail_[byte - kNearBytes] = sums_of_byte(lane, static_cast<int>(8 * byte) - kAhead, 0);
}

void SampledLane::send(std::span<const Character> characters) {
  for (const Character character : characters) {
    const unsigned code = encoder_.encode(character);
    for (int bit = 0; bit < kBitsOfSymbol; ++bit)
      push(code >> bit & 1);
    // Rounding must not let the sine grow or fade.
    const double length = std::hypot(sine_, cosine_);
    sine_ /= length;
    cosine_ /= length;
  }
}

void SampledLane::push(unsigned bit) {
  sent_ = sent_ << 1 | bit;
  if (bits_ahead_ < kAhead) {
    ++bits_ahead_;
    return;
  }
  decide();
}

// The bit that was sent kAhead bits ago.
void SampledLane::decide() {
  const double sine = sine_;
  sine_ = sine * cosine_step_ + cosine_ * sine_step_;
  cosine_ = cosine_ * cosine_step_ - sine * sine_step_;
  const double jitter =
      lane_.sinusoidal_jitter_samples * sine + lane_.random_jitter_samples * draws_.next();
  constexpr double kPlacesInSample = static_cast<double>(kPlaces) / kSamplesInBit;
  // Rounded; jitter never takes it below -kPlaces.
  const int place = static_cast<int>(jitter * kPlacesInSample + (kPlaces + 0.5)) - kPlaces;
  const Row& sums = row(std::clamp(place, -kFarthest, kFarthest));
  double level = 0;
  for (std::size_t byte = 0; byte < kNearBytes; ++byte)
    level += sums[byte][sent_ >> (8 * byte) & 0xFF];
  for (std::size_t byte = kNearBytes; byte < kBytes; ++byte)
    level += tail_[byte - kNearBytes][sent_ >> (8 * byte) & 0xFF];
  level -= lane_.feedback_1_mv * last_ + lane_.feedback_2_mv * before_last_;
  level += lane_.noise_mv * draws_.next();

  const bool one = level > 0;
  before_last_ = last_;
  last_ = one ? 1 : -1;
  received_ |= unsigned{one} << received_bits_;
  expected_ |= static_cast<unsigned>(sent_ >> kAhead & 1) << received_bits_;
  if (++received_bits_ == kBitsOfSymbol) finish_symbol();
}

void SampledLane::finish_symbol() {
  const unsigned wrong = received_ ^ expected_;
  ++counts_.symbols;
  counts_.wrong_bits += static_cast<unsigned>(std::popcount(wrong));
  counts_.wrong_symbols += wrong != 0 ? 1 : 0;
  const Decoder::Decoded decoded = decoder_.decode(static_cast<std::uint16_t>(received_));
  counts_.reported_symbols += decoded.code_error || decoded.disparity_error ? 1 : 0;
  received_ = 0;
  expected_ = 0;
  received_bits_ = 0;
}

const SampledLane::Row& SampledLane::row(int place) {
  std::unique_ptr<Row>& row = rows_[static_cast<std::size_t>(place + kFarthest)];
  if (row == nullptr) row = make_row(place);
  return *row;
}

std::unique_ptr<SampledLane::Row> SampledLane::make_row(int place) const {
  auto row = std::make_unique<Row>();
  const double offset = place * static_cast<double>(kSamplesInBit) / kPlaces;
  for (std::size_t byte = 0; byte < kNearBytes; ++byte)
    (*row)[byte] = sums_of_byte(lane_, static_cast<int>(8 * byte) - kAhead, offset);
  return row;
}

}  // namespace weft::phy
