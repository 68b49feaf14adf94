// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_transmitter.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan {

GfpTransmitter::GfpTransmitter(const GfpOptions& options, PacketSource& packets)
    : options_(options), packets_(packets), leading_idles_(options.delta + 1U) {
}

// As much of `from` as there is room for, unscrambled.
std::size_t GfpTransmitter::put(Bytes& from, MutableBytes octets) {
  const std::size_t size = std::min(from.size(), octets.size());
  if (size != 0) std::memcpy(octets.data(), from.data(), size);
  from = from.subspan(size);
  return size;
}

void GfpTransmitter::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (core_.empty() && payload_header_.empty() && payload_.empty() && fcs_.empty() && !begin())
      octets = fill_idle(octets);
    octets = octets.subspan(put(core_, octets));
    for (Bytes* const part : {&payload_header_, &payload_, &fcs_}) {
      const std::size_t size = std::min(part->size(), octets.size());
      scrambler_.scramble(part->first(size), octets);
      *part = part->subspan(size);
      octets = octets.subspan(size);
    }
  }
}

// False: nothing is to be sent but idle frames.
bool GfpTransmitter::begin() {
  if (leading_idles_ != 0) {
    --leading_idles_;
    begin_idle();
    return true;
  }
  if (managed_.any()) {
    const std::size_t upi = managed_._Find_first();
    managed_.reset(upi);
    counters_.add_in_turn(GfpSendCounter::kManagementFrames);
    begin_frame(GfpOptions::management_type(GfpManagement(upi)), {});
    return true;
  }
  const Bytes packet = next_packet();
  if (packet.empty()) return false;
  counters_.add_in_turn(GfpSendCounter::kPackets);
  begin_frame(options_.data_type(), packet);
  return true;
}

// Whole idle frames, as many as there is room for, and the beginning of one: whether anything waits
// is asked again when octets are. What is left of the room is for that beginning.
MutableBytes GfpTransmitter::fill_idle(MutableBytes octets) {
  const std::size_t frames = octets.size() / kGfpHeader;
  for (std::size_t i = 0; i < frames; ++i)
    wire::store_be32(octets.data() + i * kGfpHeader, kGfpIdleFrame);
  counters_.add_in_turn(GfpSendCounter::kIdleFrames, frames);
  octets = octets.subspan(frames * kGfpHeader);
  if (!octets.empty()) begin_idle();
  return octets;
}

// The next one that fits into a frame.
Bytes GfpTransmitter::next_packet() {
  const std::size_t most = kGfpLongestPayloadArea - options_.data_type().overhead();
  Bytes packet = packets_.next();
  while (packet.size() > most) {
    counters_.add_in_turn(GfpSendCounter::kTooLong);
    packet = packets_.next();
  }
  return packet;
}

void GfpTransmitter::begin_idle() {
  counters_.add_in_turn(GfpSendCounter::kIdleFrames);
  wire::store_be32(head_.data(), kGfpIdleFrame);
  core_ = Bytes(head_).first(kGfpHeader);
}

void GfpTransmitter::begin_frame(const GfpType& type, Bytes payload) {
  const std::size_t area = type.overhead() + payload.size();
  assert(area <= kGfpLongestPayloadArea);
  const auto pli = static_cast<std::uint16_t>(area);
  wire::store_be32(head_.data(), gfp_with_hec(pli) ^ kGfpCoreScramble);
  wire::store_be32(head_.data() + kGfpHeader, gfp_with_hec(type.value()));
  std::size_t headers = 2 * kGfpHeader;
  if (type.extension == GfpExtension::kLinear) {
    const auto linear = static_cast<std::uint16_t>(*options_.channel << 8);
    wire::store_be32(head_.data() + headers, gfp_with_hec(linear));
    headers += kGfpHeader;
  }
  core_ = Bytes(head_).first(kGfpHeader);
  payload_header_ = Bytes(head_).subspan(kGfpHeader, headers - kGfpHeader);
  payload_ = payload;
  if (!type.fcs) return;
  wire::store_be32(fcs_octets_.data(), ~crc32_msb_update(kCrc32MsbPreset, payload));
  fcs_ = fcs_octets_;
}

}  // namespace weft::wan
