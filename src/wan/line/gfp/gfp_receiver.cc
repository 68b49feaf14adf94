// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_receiver.h"

#include <algorithm>
#include <cassert>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using Count = GfpReceiveCounter;
using Outcome = GfpChecked::Outcome;

constexpr std::size_t kDescramblerOctets = 6;  // that hold the 43 bits before

}  // namespace

GfpReceiver::GfpReceiver(const GfpOptions& options, PacketSink& packets)
    : options_(options), packets_(packets), area_(kGfpLongestPayloadArea) {
  assert(options.delta >= 1 && options.delta <= 7);
}

void GfpReceiver::take(Bytes octets) {
  while (!octets.empty()) {
    if (state_ == State::kHunt) {
      octets = hunt(octets);
    } else if (in_payload_) {
      octets = read_payload(octets);
    } else {
      octets = read_header(octets);
    }
  }
}

void GfpReceiver::interrupted() {
  if (state_ == State::kSync) {
    if (in_payload_ || window_octets_ != 0) count(Count::kFramesCut);
    count(Count::kSyncLosses);
  }
  state_ = State::kHunt;
  in_payload_ = false;
  window_octets_ = 0;
  descrambles_ = false;
  heard_ = 0;
}

Bytes GfpReceiver::hunt(Bytes octets) {
  for (std::size_t at = 0; at < octets.size(); ++at) {
    if (window_octets_ == kGfpHeader) {
      // The first octet of the window is none of a header.
      count(Count::kOctetsHunted);
      descrambles_ = false;
      heard_ = 0;
    } else {
      ++window_octets_;
    }
    window_ = window_ << 8 | std::to_integer<std::uint32_t>(octets[at]);
    if (window_octets_ < kGfpHeader || !gfp_is_right(window_ ^ kGfpCoreScramble)) continue;
    state_ = State::kPresync;
    confirmed_ = 0;
    begin_payload(static_cast<std::uint16_t>((window_ ^ kGfpCoreScramble) >> 16));
    return octets.subspan(at + 1);
  }
  return {};
}

Bytes GfpReceiver::read_header(Bytes octets) {
  if (state_ == State::kSync && window_octets_ == 0) octets = skip_idle(octets);
  const std::size_t size = std::min<std::size_t>(kGfpHeader - window_octets_, octets.size());
  for (const std::byte octet : octets.first(size))
    window_ = window_ << 8 | std::to_integer<std::uint32_t>(octet);
  window_octets_ += static_cast<unsigned>(size);
  if (window_octets_ == kGfpHeader) header_read();
  return octets.subspan(size);
}

// Most of a line that is not busy is idle frames.
Bytes GfpReceiver::skip_idle(Bytes octets) {
  std::size_t frames = 0;
  while ((frames + 1) * kGfpHeader <= octets.size() &&
         wire::load_be32(octets.data() + frames * kGfpHeader) == kGfpIdleFrame)
    ++frames;
  counters_.add_in_turn(Count::kIdleFrames, frames);
  return octets.subspan(frames * kGfpHeader);
}

void GfpReceiver::header_read() {
  const std::uint32_t word = window_ ^ kGfpCoreScramble;
  const GfpChecked header = gfp_check(word);
  const bool corrects = state_ == State::kSync;
  if (header.outcome == Outcome::kWrong || (header.outcome == Outcome::kCorrected && !corrects)) {
    lose_sync();
    return;
  }
  if (header.outcome == Outcome::kCorrected) count(Count::kCoreCorrected);
  if (state_ == State::kPresync && ++confirmed_ >= options_.delta) state_ = State::kSync;
  begin_payload(header.value);
}

// The hunt begins within the four octets that are no header: they stay in the window.
void GfpReceiver::lose_sync() {
  count(state_ == State::kSync ? Count::kSyncLosses : Count::kFalseDelineations);
  state_ = State::kHunt;
}

void GfpReceiver::begin_payload(std::uint16_t pli) {
  window_octets_ = 0;
  if (pli < kGfpLeastPayloadArea) {
    if (state_ == State::kSync) count(pli == 0 ? Count::kIdleFrames : Count::kControlFrames);
    return;
  }
  in_payload_ = true;
  area_octets_ = pli;
  area_read_ = 0;
  area_descrambled_ = descrambles_;
}

Bytes GfpReceiver::read_payload(Bytes octets) {
  const std::size_t size = std::min(area_octets_ - area_read_, octets.size());
  descrambler_.descramble(octets.first(size), MutableBytes(area_).subspan(area_read_));
  area_read_ += size;
  heard_ = std::min(heard_ + size, kDescramblerOctets);
  if (heard_ == kDescramblerOctets) descrambles_ = true;
  if (area_read_ == area_octets_) {
    in_payload_ = false;
    frame_read();
  }
  return octets.subspan(size);
}

void GfpReceiver::frame_read() {
  if (state_ != State::kSync) {
    count(Count::kFramesUnconfirmed);
    return;
  }
  if (!area_descrambled_) {
    count(Count::kNotDescrambled);
    return;
  }
  const Bytes area = Bytes(area_).first(area_octets_);
  const GfpChecked type = gfp_check(wire::load_be32(area.data()));
  if (type.outcome == Outcome::kWrong) {
    count(Count::kTypeWrong);
    return;
  }
  if (type.outcome == Outcome::kCorrected) count(Count::kTypeCorrected);
  count(judge(GfpType::parse(type.value), area));
}

GfpReceiveCounter GfpReceiver::judge(const GfpType& type, Bytes area) {
  if (area.size() < type.overhead()) return Count::kInvalid;
  if (type.payload == GfpPayload::kClientData) return judge_data(type, area);
  if (type.payload == GfpPayload::kClientManagement) return judge_management(type, area);
  return Count::kOtherPayload;
}

GfpReceiveCounter GfpReceiver::judge_data(const GfpType& type, Bytes area) {
  const GfpType agreed = options_.data_type();
  if (type.upi != agreed.upi) return Count::kUserMismatch;
  if (type.extension != agreed.extension) return Count::kExtensionMismatch;
  if (type.fcs != agreed.fcs) return Count::kFcsMismatch;
  Bytes packet = area.subspan(kGfpHeader);
  if (type.extension == GfpExtension::kLinear) {
    const GfpChecked linear = gfp_check(wire::load_be32(packet.data()));
    if (linear.outcome == Outcome::kWrong) return Count::kExtensionWrong;
    if (linear.outcome == Outcome::kCorrected) count(Count::kExtensionCorrected);
    if (linear.value >> 8 != *options_.channel) return Count::kChannelMismatch;
    packet = packet.subspan(kGfpHeader);
  }
  if (type.fcs) {
    if (crc32_msb_update(kCrc32MsbPreset, packet) != kCrc32MsbResidue) return Count::kFcsWrong;
    packet = packet.first(packet.size() - kGfpFcs);
  }
  if (packet.empty()) return Count::kInvalid;
  if (packet.size() > options_.longest_packet) return Count::kTooLong;
  packets_.packet(packet);
  return Count::kPackets;
}

// With an FCS or without, as whoever sends it likes.
GfpReceiveCounter GfpReceiver::judge_management(const GfpType& type, Bytes area) {
  const bool known = type.upi >= static_cast<unsigned>(GfpManagement::kLossOfSignal) &&
                     type.upi <= static_cast<unsigned>(GfpManagement::kReverseDefect);
  if (!known || type.extension != GfpExtension::kNull) return Count::kOtherPayload;
  if (type.fcs && crc32_msb_update(kCrc32MsbPreset, area.subspan(kGfpHeader)) != kCrc32MsbResidue)
    return Count::kFcsWrong;
  if (management_ != nullptr) management_->managed(GfpManagement(type.upi));
  return Count::kManagementFrames;
}

}  // namespace weft::wan
