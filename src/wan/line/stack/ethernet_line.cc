// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/ethernet_receiver.h"
#include "wan/line/pcs/frame_transmitter.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/pcs_session.h"
#include "wan/line/pcs/pcs_transmitter.h"
#include "wan/line/pcs/xgmii_receiver.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

class EthernetLine final : public Line {
 public:
  EthernetLine(EthernetPhy phy, const LineUse& use)
      : frames_(LineFrames::kEthernet, use.packets),
        transmitter_(order_of(phy), frames_),
        ethernet_(use.sink),
        lanes_(EthernetReceiver::kLongest + EthernetReceiver::kPreamble, ethernet_, pcs_),
        receiver_({.order = order_of(phy),
                   .error_rate_blocks = phy == EthernetPhy::kWan ? HighErrorRate::kBlocksOfWan
                                                                 : HighErrorRate::kBlocksOfLan},
                  lanes_, pcs_),
        session_({.silence = kLineSilence}, receiver_, lanes_, frames_) {}

  OctetSource& out() override { return transmitter_; }
  OctetSink& in() override { return receiver_; }
  LineSession& session() override { return session_; }
  [[nodiscard]] std::size_t longest_packet() const override { return kLongestLinePacket; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = pcs_.snapshot();
    accumulate(out, ethernet_.counters().snapshot());
    return out;
  }

 private:
  // The bits of a block go into the octets of an STS-192c one after the other.
  static BitOrder order_of(EthernetPhy phy) {
    return phy == EthernetPhy::kWan ? BitOrder::kMostFirst : BitOrder::kLeastFirst;
  }

  FrameTransmitter frames_;
  PcsTransmitter transmitter_;
  PcsCounters pcs_;
  EthernetReceiver ethernet_;
  XgmiiReceiver lanes_;
  PcsReceiver receiver_;
  PcsSession session_;
};

}  // namespace

std::unique_ptr<Line> make_ethernet_line(EthernetPhy phy, const LineUse& use) {
  return std::make_unique<EthernetLine>(phy, use);
}

}  // namespace weft::wan
