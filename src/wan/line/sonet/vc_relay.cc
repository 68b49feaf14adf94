// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/vc_relay.h"

#include <algorithm>

namespace weft::wan::sonet {
namespace {

// In quarters of a container.
constexpr std::size_t kRelayRoom = 16;
constexpr std::size_t kRelayMiddle = 10;
constexpr unsigned kFramesPerStep = 4;
constexpr PointerAction kRelayAis{.step = PointerStep::kNone, .value = 0, .ais = true};

}  // namespace

VcRelay::VcRelay(Level level, SonetCounters& counters)
    : g_(geometry(level)), counters_(counters), ring_(kRelayRoom * g_.vc() / 4) {
}

void VcRelay::take(Bytes octets, std::size_t position) {
  if (waiting() + octets.size() > ring_.size()) {
    counters_.add_in_turn(SonetCounter::kOverruns);
    clear();
  }
  if (position == 0) starts_.push_back(written_);
  while (!octets.empty()) {
    const std::size_t at = written_ % ring_.size();
    const std::size_t size = std::min(octets.size(), ring_.size() - at);
    std::copy_n(octets.begin(), size, ring_.begin() + static_cast<std::ptrdiff_t>(at));
    written_ += size;
    octets = octets.subspan(size);
  }
}

void VcRelay::clear() {
  read_ = written_;
  starts_.clear();
  runs_ = false;
}

void VcRelay::forget_starts() {
  while (!starts_.empty() && starts_.front() < read_)
    starts_.pop_front();
}

std::size_t VcRelay::fullness() const {
  return waiting() + (receiver_ == nullptr ? 0 : receiver_->vc_octets_under_way());
}

// Sends containers again, when it is full to the middle, the first one from its beginning on.
PointerAction VcRelay::begin() {
  const std::size_t full = fullness();
  const std::size_t middle = kRelayMiddle * g_.vc() / 4;
  if (full < middle) return kRelayAis;
  read_ += std::min((full - middle) / g_.unit() * g_.unit(), waiting());
  forget_starts();
  if (starts_.empty()) return kRelayAis;
  const auto ahead = static_cast<std::size_t>(starts_.front() - read_);
  read_ += ahead >= g_.vc() ? ahead : ahead % g_.unit();
  if (waiting() < g_.vc() + g_.unit()) return kRelayAis;
  runs_ = true;
  since_step_ = 0;
  value_ = static_cast<std::uint16_t>((starts_.front() - read_) / g_.unit());
  return {.step = PointerStep::kNewData, .value = value_, .ais = false};
}

PointerStep VcRelay::step_wanted() {
  if (since_step_ < kFramesPerStep) return PointerStep::kNone;
  const std::size_t full = fullness();
  if (full > (kRelayMiddle + 1) * g_.vc() / 4) return PointerStep::kDecrement;
  if (full < (kRelayMiddle - 1) * g_.vc() / 4) return PointerStep::kIncrement;
  return PointerStep::kNone;
}

PointerAction VcRelay::next_pointer() {
  if (!runs_) return begin();
  // Until the next pointers, as much as a container and a unit may be sent.
  forget_starts();
  const std::size_t ahead =
      starts_.empty() ? ring_.size() : static_cast<std::size_t>(starts_.front() - read_);
  if (waiting() < g_.vc() + g_.unit() || ahead >= g_.vc() || ahead % g_.unit() != 0) {
    counters_.add_in_turn(SonetCounter::kUnderruns);
    clear();
    return kRelayAis;
  }
  if (since_step_ < kFramesPerStep) ++since_step_;
  const auto value = static_cast<std::uint16_t>(ahead / g_.unit());
  if (value != value_) {
    value_ = value;
    since_step_ = 0;
    return {.step = PointerStep::kNewData, .value = value_, .ais = false};
  }
  const PointerStep step = step_wanted();
  if (step != PointerStep::kNone) {
    since_step_ = 0;
    const unsigned by = step == PointerStep::kIncrement ? 1 : kPointers - 1;
    value_ = static_cast<std::uint16_t>((value_ + by) % kPointers);
  }
  return {.step = step, .value = value_, .ais = false};
}

// What is dropped after the pointers of a frame is missing in what that frame and the first rows of
// the next one have: they are filled up.
void VcRelay::fill(MutableBytes octets) {
  if (octets.size() > waiting()) {
    std::ranges::fill(octets.subspan(waiting()), std::byte{0xFF});
    octets = octets.first(waiting());
  }
  while (!octets.empty()) {
    const std::size_t at = read_ % ring_.size();
    const std::size_t size = std::min(octets.size(), ring_.size() - at);
    std::copy_n(ring_.begin() + static_cast<std::ptrdiff_t>(at), size, octets.begin());
    read_ += size;
    octets = octets.subspan(size);
  }
}

}  // namespace weft::wan::sonet
