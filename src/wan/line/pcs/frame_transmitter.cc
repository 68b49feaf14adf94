// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/frame_transmitter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::array<std::byte, 7> kPreamble{std::byte{0x55}, std::byte{0x55}, std::byte{0x55},
                                             std::byte{0x55}, std::byte{0x55}, std::byte{0x55},
                                             std::byte{0xD5}};
constexpr std::uint32_t kIdleColumn = 0x0707'0707;
constexpr std::uint32_t kRemoteFaultColumn =
    to_column({OrderedSet::Code::kSequence, kRemoteFaultValue});

}  // namespace

void FrameTransmitter::fill(std::span<std::uint64_t> octets, std::span<std::uint8_t> control) {
  for (std::size_t i = 0; i < octets.size();) {
    // What words of a frame are in memory.
    const std::size_t left = (frame_.size() - gone_) / sizeof(std::uint64_t);
    const std::size_t run = gone_ == 0 ? 0 : std::min(left, octets.size() - i);
    if (run > 0) {
      std::memcpy(octets.data() + i, frame_.data() + gone_, run * sizeof(std::uint64_t));
      std::ranges::fill(control.subspan(i, run), std::uint8_t{0});
      gone_ += run * sizeof(std::uint64_t);
      i += run;
      continue;
    }
    const XgmiiWord word = next();
    octets[i] = word.octets;
    control[i] = word.control;
    ++i;
  }
}

XgmiiWord FrameTransmitter::next() {
  std::uint8_t low = 0;
  std::uint8_t high = 0;
  const std::uint64_t first = column(low);
  const std::uint64_t second = column(high);
  return {first | second << 32, static_cast<std::uint8_t>(low | high << 4)};
}

// Lanes 0 to 3, or 4 to 7.
std::uint32_t FrameTransmitter::column(std::uint8_t& control) {
  if (!frame_.empty()) return frame_column(control);
  // No block has an ordered set beside a /T/.
  if (since_ < sizeof(std::uint64_t)) return idle_column(control);
  if (fault_ == LinkFault::kLocal) {
    since_ += 4;
    control = 1;
    return kRemoteFaultColumn;
  }
  if (!sets_.empty()) {
    since_ += 4;
    control = 1;
    const OrderedSet set = sets_.front();
    sets_.pop_front();
    return to_column(set);
  }
  if (fault_ != LinkFault::kNone || !may_start()) return idle_column(control);
  const Bytes packet = source_.next();
  if (packet.empty()) return idle_column(control);
  load(packet);
  return frame_column(control);
}

std::uint32_t FrameTransmitter::idle_column(std::uint8_t& control) {
  since_ += 4;
  control = 0xF;
  return kIdleColumn;
}

std::uint32_t FrameTransmitter::frame_column(std::uint8_t& control) {
  std::uint32_t octets = 0;
  control = gone_ == 0 ? 1 : 0;
  for (unsigned lane = 0; lane < 4; ++lane) {
    std::uint32_t octet = Xgmii::kIdle;
    if (gone_ < frame_.size()) {
      octet = std::to_integer<std::uint32_t>(frame_[gone_++]);
    } else {
      if (gone_++ == frame_.size()) octet = Xgmii::kTerminate;
      control = static_cast<std::uint8_t>(control | 1U << lane);
    }
    octets |= octet << (8 * lane);
  }
  if (gone_ > frame_.size()) {
    since_ = gone_ - frame_.size();
    frame_.clear();
    gone_ = 0;
  }
  return octets;
}

void FrameTransmitter::load(Bytes packet) {
  deficit_ = since_ >= kGap + deficit_ ? 0 : deficit_ + kGap - since_;
  const bool is_ethernet = kind_ == LineFrames::kEthernet;
  frame_.push_back(std::byte{Xgmii::kStart});
  if (is_ethernet) frame_.insert(frame_.end(), kPreamble.begin(), kPreamble.end());
  const std::size_t at = frame_.size();
  frame_.insert(frame_.end(), packet.begin(), packet.end());
  if (is_ethernet) {
    frame_.resize(at + std::max(packet.size(), kShortest));
    const auto fcs =
        wire::crc32_finish(wire::crc32_update(wire::kIcrcPreset, Bytes(frame_).subspan(at)));
    frame_.resize(frame_.size() + sizeof fcs);
    wire::store_le32(frame_.data() + frame_.size() - sizeof fcs, fcs);
  }
}

}  // namespace weft::wan
