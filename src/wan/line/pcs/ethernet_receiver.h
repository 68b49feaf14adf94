// SPDX-License-Identifier: Apache-2.0
// Ethernet frames out of what is between /S/ and /T/: the receiving half of the MAC (IEEE 802.3,
// clause 4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"
#include "wan/line/octet_stream.h"
#include "wan/line/pcs/xgmii_receiver.h"

namespace weft::wan {

enum class EthernetCounter : std::uint8_t {
  kArrived,
  kRunts,
  kBadPreambles,
  kBadFcs,
  kOverlong,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(EthernetCounter::kCount)>
    kEthernetCounters{{
        {"ethernet_arrived", "frames whose FCS is right"},
        {"ethernet_runts", "frames of less than 64 octets"},
        {"ethernet_bad_preambles", "frames without a start delimiter where it has to be"},
        {"ethernet_bad_fcs", "frames that were damaged on the way"},
        {"ethernet_overlong", "frames that were longer than they may be"},
    }};

using EthernetCounters = CounterSet<EthernetCounter, kEthernetCounters>;

class EthernetReceiver final : public FrameSink {
 public:
  static constexpr std::size_t kShortest = 64;    // with its FCS
  static constexpr std::size_t kLongest = 9'236;  // what adapters take as jumbo frames, and tags
  static constexpr std::size_t kPreamble = 7;     // what is of it behind /S/
  static constexpr std::size_t kFcs = 4;

  // Frames go to `sink`, which outlives this, without their FCS, but with what fills them up.
  // `longest` with its FCS.
  explicit EthernetReceiver(PacketSink& sink, std::size_t longest = kLongest)
      : sink_(sink), longest_(longest) {}

  void frame(Bytes octets) override;
  // Those are counted where they are found (pcs_counters.h).
  void bad_frame() override {}
  // None of them means anything to a MAC.
  void ordered_set(const OrderedSet&) override {}

  [[nodiscard]] const EthernetCounters& counters() const { return counters_; }

 private:
  PacketSink& sink_;
  const std::size_t longest_;
  EthernetCounters counters_;
};

}  // namespace weft::wan
