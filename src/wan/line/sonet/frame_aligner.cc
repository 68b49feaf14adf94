// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/frame_aligner.h"

#include <algorithm>
#include <cassert>

#include "wan/line/sonet/overhead.h"
#include "wire/endian.h"

namespace weft::wan::sonet {
namespace {

constexpr std::uint64_t kFraming = 0xF6F6'F628'2828;
constexpr std::uint64_t kFramingBits = 0xFFFF'FFFF'FFFF;
constexpr std::size_t kFramingHalf = 3;
constexpr unsigned kBadToLose = 4;
constexpr std::size_t kFramesOfLof = 24;  // 3 ms

// 20 us of octets at STM-1, rounded up.
constexpr std::size_t kZerosOfLos = 389;

bool has_framing(Bytes frame, const Geometry& g) {
  const Bytes octets = frame.subspan(g.thirds() - kFramingHalf, 2 * kFramingHalf);
  return std::ranges::all_of(octets.first(kFramingHalf), [](std::byte b) { return b == kA1; }) &&
         std::ranges::all_of(octets.last(kFramingHalf), [](std::byte b) { return b == kA2; });
}

// `to` is `from` put `shift` bits later, after the last bits of `carry`.
std::byte shift_bits(Bytes from, unsigned shift, std::byte carry, std::byte* to) {
  std::uint64_t before = std::to_integer<std::uint64_t>(carry);
  std::size_t at = 0;
  for (; at + 8 <= from.size(); at += 8) {
    const std::uint64_t word = wire::load_be64(from.data() + at);
    wire::store_be64(to + at, before << (64 - shift) | word >> shift);
    before = word;
  }
  for (; at < from.size(); ++at) {
    const auto octet = std::to_integer<std::uint64_t>(from[at]);
    to[at] = static_cast<std::byte>(before << (8 - shift) | octet >> shift);
    before = octet;
  }
  return static_cast<std::byte>(before);
}

std::size_t leading_zeros(Bytes octets) {
  const auto other = std::ranges::find_if(octets, [](std::byte b) { return b != std::byte{}; });
  return static_cast<std::size_t>(other - octets.begin());
}

std::size_t trailing_zeros(Bytes octets) {
  std::size_t count = 0;
  while (count < octets.size() && octets[octets.size() - 1 - count] == std::byte{})
    ++count;
  return count;
}

}  // namespace

FrameAligner::FrameAligner(Level level, FrameSink& sink, Defects& defects, SonetCounters& counters)
    : g_(geometry(level)), sink_(sink), defects_(defects), counters_(counters), frame_(g_.frame()) {
  defects_.set(Defect::kOof, true);
}

void FrameAligner::take(Bytes octets) {
  octets_ += octets.size();
  watch_signal(octets);
  while (!octets.empty()) {
    const std::size_t done = state_ == State::kHunting ? hunt(octets) : collect(octets);
    octets = octets.subspan(done);
  }
}

void FrameAligner::interrupted() {
  zero_run_ = 0;
  lose_alignment();
}

void FrameAligner::lose_signal() {
  lose_alignment();
  defects_.set(Defect::kLos, true);
}

// Zeros for long enough are between two octets that are looked at, or are one of those.
void FrameAligner::watch_signal(Bytes octets) {
  const std::size_t enough = kZerosOfLos * g_.n;
  const std::size_t first = leading_zeros(octets);
  zeros(zero_run_ + first);
  if (first == octets.size()) {
    zero_run_ += first;
    return;
  }
  for (std::size_t at = first; at < octets.size(); at += enough / 2) {
    if (octets[at] != std::byte{}) continue;
    const std::size_t before = trailing_zeros(octets.first(at));
    const std::size_t behind = leading_zeros(octets.subspan(at));
    zeros(before + behind);
    at += behind;
  }
  zero_run_ = trailing_zeros(octets);
}

void FrameAligner::zeros(std::size_t run) {
  if (run >= kZerosOfLos * g_.n && !defects_.stands(Defect::kLos)) lose_signal();
}

void FrameAligner::lose_alignment() {
  const bool was_aligned = state_ == State::kAligned;
  state_ = State::kHunting;
  window_ = 0;
  used_ = 0;
  shift_ = 0;
  bad_ = 0;
  defects_.set(Defect::kOof, true);
  if (was_aligned) sink_.alignment_lost();
}

void FrameAligner::pass_time(std::size_t octets) {
  const std::size_t long_enough = kFramesOfLof * g_.frame();
  if (state_ == State::kAligned) {
    in_frame_ = std::min(in_frame_ + octets, long_enough);
    if (in_frame_ < long_enough) return;
    out_of_frame_ = 0;
    defects_.set(Defect::kLof, false);
  } else {
    in_frame_ = 0;
    out_of_frame_ = std::min(out_of_frame_ + octets, long_enough);
    if (out_of_frame_ == long_enough) defects_.set(Defect::kLof, true);
  }
}

std::size_t FrameAligner::hunt(Bytes octets) {
  for (std::size_t i = 0; i < octets.size(); ++i) {
    window_ = window_ << 8 | std::to_integer<std::uint64_t>(octets[i]);
    for (unsigned late = 0; late < 8; ++late) {
      if ((window_ >> late & kFramingBits) != kFraming) continue;
      std::ranges::fill(std::span(frame_).first(g_.thirds()), kA1);
      std::ranges::fill(std::span(frame_).subspan(g_.thirds(), kFramingHalf), kA2);
      state_ = State::kFirst;
      used_ = g_.thirds() + kFramingHalf;
      shift_ = late;
      carry_ = octets[i];
      counters_.add_in_turn(SonetCounter::kSkipped, i + 1);
      pass_time(i + 1);
      return i + 1;
    }
  }
  counters_.add_in_turn(SonetCounter::kSkipped, octets.size());
  pass_time(octets.size());
  return octets.size();
}

std::size_t FrameAligner::collect(Bytes octets) {
  if (used_ == 0 && shift_ == 0 && octets.size() >= g_.frame()) {
    complete(octets.first(g_.frame()));
    return g_.frame();
  }
  const Bytes now = octets.first(std::min(octets.size(), g_.frame() - used_));
  if (shift_ == 0) {
    std::copy(now.begin(), now.end(), frame_.begin() + static_cast<std::ptrdiff_t>(used_));
  } else {
    carry_ = shift_bits(now, shift_, carry_, frame_.data() + used_);
  }
  used_ += now.size();
  if (used_ < g_.frame()) return now.size();
  used_ = 0;
  complete(frame_);
  return now.size();
}

void FrameAligner::complete(Bytes frame) {
  if (state_ == State::kFirst) {
    state_ = State::kSecond;
    pass_time(g_.frame());
    return;
  }
  const bool good = has_framing(frame, g_);
  if (state_ == State::kSecond) {
    if (!good) {
      pass_time(g_.frame());
      lose_alignment();
      return;
    }
    state_ = State::kAligned;
    counters_.add_in_turn(SonetCounter::kReframed);
    defects_.set(Defect::kOof, false);
    defects_.set(Defect::kLos, false);
  }
  pass_time(g_.frame());
  bad_ = good ? 0 : bad_ + 1;
  if (!good) counters_.add_in_turn(SonetCounter::kBadFraming);
  if (bad_ == kBadToLose) {
    lose_alignment();
    return;
  }
  counters_.add_in_turn(SonetCounter::kFramesIn);
  sink_.frame(frame);
}

}  // namespace weft::wan::sonet
