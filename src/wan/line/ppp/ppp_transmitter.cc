// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_transmitter.h"

#include <algorithm>

#include "wan/line/ppp/frame_check.h"
#include "wan/line/ppp/octet_stuffing.h"
#include "wire/endian.h"

namespace weft::wan {

void PppTransmitter::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (owed_) {
      octets.front() = *owed_;
      owed_.reset();
      octets = octets.subspan(1);
      continue;
    }
    if (!in_frame_ && (!flagged_ || !begin())) {
      // Nothing waits, and whether anything does is asked again when octets are.
      const std::size_t idle = flagged_ ? octets.size() : 1;
      std::fill_n(octets.begin(), idle, kPppFlag);
      octets = octets.subspan(idle);
      flagged_ = true;
      continue;
    }
    for (Bytes* const part : {&header_, &information_, &check_})
      while (!part->empty() && !octets.empty() && !owed_)
        stuff(*part, octets);
    if (!header_.empty() || !information_.empty() || !check_.empty() || owed_) continue;
    in_frame_ = false;
    owed_ = kPppFlag;
  }
}

bool PppTransmitter::begin() {
  const PppFrame frame = frames_.next();
  if (frame.header.empty()) return false;
  header_ = frame.header;
  information_ = frame.information;
  std::uint32_t state = ppp_fcs_update(fcs_, ppp_fcs_preset(fcs_), header_);
  state = ppp_fcs_update(fcs_, state, information_);
  wire::store_le32(check_octets_.data(), ~state);
  check_ = Bytes(check_octets_).first(ppp_fcs_size(fcs_));
  in_frame_ = true;
  ++frames_sent_;
  return true;
}

// Octets up to one that has to be a pair, of which the second is owed.
void PppTransmitter::stuff(Bytes& from, MutableBytes& octets) {
  const std::size_t plain = copy_plain(from, octets);
  from = from.subspan(plain);
  octets = octets.subspan(plain);
  if (from.empty() || octets.empty()) return;
  octets.front() = kPppEscape;
  octets = octets.subspan(1);
  owed_ = from.front() ^ kPppEscapeBit;
  from = from.subspan(1);
  if (octets.empty()) return;
  octets.front() = *owed_;
  octets = octets.subspan(1);
  owed_.reset();
}

}  // namespace weft::wan
