// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_receiver.h"

#include <algorithm>
#include <cassert>

#include "wan/line/octet_run.h"
#include "wan/line/ppp/frame_check.h"
#include "wan/line/ppp/octet_stuffing.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using FramingCount = PppReceiveCounter;

}  // namespace

PppReceiver::PppReceiver(PppFcs fcs, std::size_t longest, PppFrameSink& frames)
    : fcs_(fcs), frames_(frames), frame_(kPppHeader + longest + ppp_fcs_size(fcs)) {
  assert(longest <= 0xFFFF);
}

void PppReceiver::take(Bytes octets) {
  if (!in_step_) {
    const auto flag = std::find(octets.begin(), octets.end(), kPppFlag);
    const auto skipped = static_cast<std::size_t>(flag - octets.begin());
    counters_.add_in_turn(FramingCount::kOctetsSkipped, skipped);
    octets = octets.subspan(skipped);
  }
  while (!octets.empty()) {
    const std::byte octet = octets.front();
    if (octet == kPppFlag) {
      end_frame();
      begin_frame();
      // While a line is idle there is nothing but flags: between them is nothing to judge.
      octets = octets.subspan(octet_run(octets, kPppFlag));
      continue;
    }
    if (escaped_) {
      escaped_ = false;
      if (used_ < frame_.size()) {
        frame_[used_++] = octet ^ kPppEscapeBit;
      } else {
        too_long_ = true;
      }
    } else if (octet == kPppEscape) {
      escaped_ = true;
      empty_ = false;
    } else {
      empty_ = false;
      const MutableBytes room = MutableBytes(frame_).subspan(used_);
      const std::size_t plain = copy_plain(octets, room);
      used_ += plain;
      // Past the end it is only looked for what ends the frame.
      if (plain != 0) {
        octets = octets.subspan(plain);
        continue;
      }
      too_long_ = true;
    }
    octets = octets.subspan(1);
  }
}

void PppReceiver::begin_frame() {
  in_step_ = true;
  escaped_ = false;
  too_long_ = false;
  empty_ = true;
  used_ = 0;
}

void PppReceiver::interrupted() {
  if (in_step_ && !empty_) counters_.add_in_turn(FramingCount::kInterrupted);
  begin_frame();
  in_step_ = false;
}

void PppReceiver::end_frame() {
  if (!in_step_ || empty_) return;
  counters_.add_in_turn(judge(Bytes(frame_).first(used_)));
}

PppReceiveCounter PppReceiver::judge(Bytes frame) {
  if (escaped_) return FramingCount::kAborted;
  if (too_long_) return FramingCount::kTooLong;
  if (frame.size() < kPppHeader + ppp_fcs_size(fcs_)) return FramingCount::kTooShort;
  if (ppp_fcs_update(fcs_, ppp_fcs_preset(fcs_), frame) != ppp_fcs_residue(fcs_))
    return FramingCount::kFcsWrong;
  if (wire::load_be16(frame.data()) != kPppAddressControl) return FramingCount::kAddressWrong;
  // The last bit of a protocol is one, and that of its first octet is zero (RFC 1661, 2).
  const std::uint16_t protocol = wire::load_be16(frame.data() + 2);
  if ((protocol & 0x0101) != 0x0001) return FramingCount::kProtocolWrong;
  frame = frame.first(frame.size() - ppp_fcs_size(fcs_));
  frames_.frame(PppProtocol(protocol), frame.subspan(kPppHeader));
  return FramingCount::kFrames;
}

}  // namespace weft::wan
