// SPDX-License-Identifier: Apache-2.0
#include "mgmt/perf/port_sampler.h"

#include <algorithm>
#include <limits>

#include "wire/endian.h"

namespace weft::mgmt {
namespace {

using wire::MadStatus;

// Bytes of PortSamplesControl: 1 PortSelect  3 CounterWidth  4-7 CounterMasks, 3 bits each
// 11 SampleStatus  28 SampleStart  32 SampleInterval  36 Tag  38-67 CounterSelects.
constexpr std::size_t kControlSize = 72;
constexpr std::size_t kSelectsOffset = 38;
constexpr std::uint8_t kWidth32 = 4;
// 1, for the mandatory selects, at each of the first five.
constexpr std::uint32_t kCounterMasks = 1u << 27 | 1u << 24 | 1u << 21 | 1u << 18 | 1u << 15;
// Of PortSamplesResult: 0 Tag  2-3 SampleStatus  4 and on, counters.
constexpr std::size_t kResultSize = 64;

// What CounterSelect 1 to 5 stand for, IBA 16.1.3.3.
constexpr std::array<std::uint64_t PortCounts::*, 5> kSelectable{
    &PortCounts::transmit_words, &PortCounts::receive_words, &PortCounts::transmit_packets,
    &PortCounts::receive_packets, &PortCounts::transmit_wait};

}  // namespace

MadStatus PortSampler::control(bool set, PortNumber port, MutableBytes data, Time now) {
  run(now);
  if (set) {
    Sampling asked{.start = wire::load_be32(data.data() + 28),
                   .interval = wire::load_be32(data.data() + 32),
                   .tag = wire::load_be16(data.data() + 36)};
    for (std::size_t i = 0; i < kCounters; ++i) {
      asked.selects[i] = wire::load_be16(data.data() + kSelectsOffset + 2 * i);
      if (asked.selects[i] > kSelectable.size()) return MadStatus::kInvalidValue;
    }
    Sampling& present = samplings_[port];
    if (present.status == Status::kDone) {
      present = asked;
      present.status = Status::kStarted;
      present.next = now + kTick * asked.start;
      advance(port, present, now);
    }
  }
  const auto found = samplings_.find(port);
  const Sampling shown = found == samplings_.end() ? Sampling{} : found->second;
  std::fill_n(data.begin(), kControlSize, std::byte{0});
  wire::store_u8(data.data() + 1, port);
  wire::store_u8(data.data() + 3, kWidth32);
  wire::store_be32(data.data() + 4, kCounterMasks);
  wire::store_u8(data.data() + 11, static_cast<std::uint8_t>(shown.status));
  wire::store_be32(data.data() + 28, shown.start);
  wire::store_be32(data.data() + 32, shown.interval);
  wire::store_be16(data.data() + 36, shown.tag);
  for (std::size_t i = 0; i < kCounters; ++i) {
    wire::store_be16(data.data() + kSelectsOffset + 2 * i, shown.selects[i]);
  }
  return MadStatus::kOk;
}

MadStatus PortSampler::result(bool set, PortNumber port, MutableBytes data) const {
  if (set) return MadStatus::kBadMethodAttribute;
  const auto found = samplings_.find(port);
  const Sampling shown = found == samplings_.end() ? Sampling{} : found->second;
  std::fill_n(data.begin(), kResultSize, std::byte{0});
  wire::store_be16(data.data(), shown.tag);
  wire::store_be16(data.data() + 2, static_cast<std::uint16_t>(shown.status));
  for (std::size_t i = 0; i < kCounters; ++i) {
    wire::store_be32(data.data() + 4 + 4 * i, shown.counts[i]);
  }
  return MadStatus::kOk;
}

void PortSampler::advance(PortNumber port, Sampling& sampling, Time now) {
  if (sampling.status == Status::kStarted && sampling.next <= now) {
    sampling.status = Status::kSampling;
    sampling.origin = node_.port_counts(port);
    sampling.next += kTick * sampling.interval;
  }
  if (sampling.status == Status::kSampling && sampling.next <= now) {
    sampling.status = Status::kDone;
    const PortCounts counts = node_.port_counts(port);
    for (std::size_t i = 0; i < kCounters; ++i) {
      if (sampling.selects[i] == 0) continue;
      const auto counter = kSelectable[sampling.selects[i] - 1u];
      sampling.counts[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(
          counts.*counter - sampling.origin.*counter, std::numeric_limits<std::uint32_t>::max()));
    }
  }
}

void PortSampler::run(Time now) {
  for (auto& [port, sampling] : samplings_)
    advance(port, sampling, now);
}

std::optional<Time> PortSampler::deadline() const {
  std::optional<Time> first;
  for (const auto& [port, sampling] : samplings_) {
    if (sampling.status == Status::kDone) continue;
    first = std::min(first.value_or(sampling.next), sampling.next);
  }
  return first;
}

}  // namespace weft::mgmt
