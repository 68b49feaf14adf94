// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/xgmii_receiver.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "wire/endian.h"

namespace weft::wan {

XgmiiReceiver::XgmiiReceiver(std::size_t longest, FrameSink& sink, PcsCounters& counters)
    : longest_(longest), sink_(sink), counters_(counters), frame_(longest + sizeof(std::uint64_t)) {
}

void XgmiiReceiver::spoil(PcsCounter why) {
  in_frame_ = false;
  counters_.add_in_turn(why);
  sink_.bad_frame();
}

void XgmiiReceiver::data(std::span<const std::uint64_t> words) {
  faults_.quiet(static_cast<std::uint32_t>(2 * words.size()));
  if (!in_frame_) return;
  // Of what is too long, as much as there is room for. In memory words lie as they go.
  const std::size_t room = (longest_ - size_) / sizeof(std::uint64_t) + 1;
  const Bytes octets = std::as_bytes(words.first(std::min(words.size(), room)));
  std::memcpy(frame_.data() + size_, octets.data(), octets.size());
  size_ += octets.size();
  if (size_ > longest_) spoil(PcsCounter::kOverlong);
}

void XgmiiReceiver::control(const XgmiiWord& word) {
  if (word == kIdleWord) {
    faults_.quiet(2);
    if (in_frame_) spoil(PcsCounter::kBadFrames);
    return;
  }
  if (in_frame_ ? finish(word) : start(word)) return;
  column(word, 0);
  column(word, 4);
}

// A frame begins with it, and nothing else is in it: as most do.
bool XgmiiReceiver::start(const XgmiiWord& word) {
  if (word.control != 1 || word.octet(0) != Xgmii::kStart) return false;
  faults_.quiet(2);
  in_frame_ = true;
  wire::store_le64(frame_.data(), word.octets >> 8);
  size_ = sizeof word.octets - 1;
  if (size_ > longest_) spoil(PcsCounter::kOverlong);
  return true;
}

// It ends with it, and what is left is idle: as most do.
bool XgmiiReceiver::finish(const XgmiiWord& word) {
  constexpr std::uint64_t kEnd = (kIdleWord.octets & ~std::uint64_t{0xFF}) | Xgmii::kTerminate;
  const auto lane = static_cast<unsigned>(std::countr_zero(word.control));
  if (word.control == 0 || word.control != static_cast<std::uint8_t>(0xFF << lane) ||
      word.octets >> (8 * lane) != kEnd << (8 * lane) >> (8 * lane)) {
    return false;
  }
  faults_.quiet(2);
  wire::store_le64(frame_.data() + size_, word.octets);
  size_ += lane;
  if (size_ > longest_) {
    spoil(PcsCounter::kOverlong);
  } else {
    end();
  }
  return true;
}

void XgmiiReceiver::end() {
  in_frame_ = false;
  counters_.add_in_turn(PcsCounter::kFrames);
  sink_.frame(Bytes(frame_).first(size_));
}

void XgmiiReceiver::column(const XgmiiWord& word, unsigned first) {
  if (word.has(first, Xgmii::kSequence) || word.has(first, Xgmii::kSignal)) {
    if (in_frame_) spoil(PcsCounter::kBadFrames);
    return set(to_ordered_set(static_cast<std::uint32_t>(word.octets >> (8 * first))));
  }
  faults_.quiet(1);
  for (unsigned lane = first; lane < first + 4; ++lane) {
    if (word.is_control(lane)) {
      character(word.octet(lane));
    } else if (in_frame_) {
      frame_[size_++] = std::byte{word.octet(lane)};
      if (size_ > longest_) spoil(PcsCounter::kOverlong);
    }
  }
}

void XgmiiReceiver::character(std::uint8_t octet) {
  if (octet == Xgmii::kTerminate && in_frame_) return end();
  if (in_frame_) spoil(PcsCounter::kBadFrames);
  if (octet != Xgmii::kStart) return;
  in_frame_ = true;
  size_ = 0;
}

void XgmiiReceiver::set(const OrderedSet& set) {
  if (const auto fault = fault_of(set)) return faults_.see(*fault);
  faults_.quiet(1);
  counters_.add_in_turn(PcsCounter::kOrderedSets);
  sink_.ordered_set(set);
}

}  // namespace weft::wan
