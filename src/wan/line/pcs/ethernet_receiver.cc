// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/ethernet_receiver.h"

#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::byte kStartDelimiter{0xD5};

}  // namespace

void EthernetReceiver::frame(Bytes octets) {
  if (octets.size() < kPreamble + kShortest) return counters_.add_in_turn(EthernetCounter::kRunts);
  if (octets[kPreamble - 1] != kStartDelimiter) {
    return counters_.add_in_turn(EthernetCounter::kBadPreambles);
  }
  const Bytes frame = octets.subspan(kPreamble);
  if (frame.size() > longest_) return counters_.add_in_turn(EthernetCounter::kOverlong);
  const Bytes content = frame.first(frame.size() - kFcs);
  const auto fcs = wire::crc32_finish(wire::crc32_update(wire::kIcrcPreset, content));
  if (wire::load_le32(frame.data() + content.size()) != fcs) {
    return counters_.add_in_turn(EthernetCounter::kBadFcs);
  }
  counters_.add_in_turn(EthernetCounter::kArrived);
  sink_.packet(content);
}

}  // namespace weft::wan
