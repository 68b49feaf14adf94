// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/line/gfp/gfp_receiver.h"
#include "wan/line/gfp/gfp_session.h"
#include "wan/line/gfp/gfp_transmitter.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

GfpUser gfp_user_of(const Carried& carried) {
  if (carried.ether_type == Ipv6Layer::kEtherType) return GfpUser::kIpv6;
  if (carried.ether_type == Ipv4Layer::kEtherType) return GfpUser::kIpv4;
  if (carried.ether_type == MplsLayer::kEtherType) return GfpUser::kMpls;
  if (carried.ether_type == kFrame.ether_type) return GfpUser::kInfiniBand;
  return GfpUser::kEthernet;
}

class GfpLine final : public Line {
 public:
  explicit GfpLine(const LineUse& use)
      : options_{.user = gfp_user_of(use.carried)},
        transmitter_(options_, use.packets),
        receiver_(options_, use.sink),
        session_({}, receiver_, transmitter_) {}

  OctetSource& out() override { return transmitter_; }
  OctetSink& in() override { return receiver_; }
  LineSession& session() override { return session_; }
  [[nodiscard]] std::size_t longest_packet() const override { return kLongestLinePacket; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = transmitter_.counters().snapshot();
    accumulate(out, receiver_.counters().snapshot());
    return out;
  }

 private:
  const GfpOptions options_;
  GfpTransmitter transmitter_;
  GfpReceiver receiver_;
  GfpSession session_;
};

}  // namespace

std::unique_ptr<Line> make_gfp_line(const LineUse& use) {
  return std::make_unique<GfpLine>(use);
}

}  // namespace weft::wan
