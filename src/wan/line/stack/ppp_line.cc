// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wan/encapsulation/mpls_layer.h"
#include "wan/line/ppp/ppp_receiver.h"
#include "wan/line/ppp/ppp_session.h"
#include "wan/line/ppp/ppp_transmitter.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

PppPayload ppp_payload_of(const Carried& carried) {
  if (carried.ether_type == Ipv6Layer::kEtherType) return PppPayload::kIpv6;
  if (carried.ether_type == Ipv4Layer::kEtherType) return PppPayload::kIpv4;
  if (carried.ether_type == MplsLayer::kEtherType) return PppPayload::kMpls;
  return PppPayload::kInfiniBand;
}

constexpr std::size_t kReceiveUnit = kLongestLinePacket + kVendorHeader;

// PPP as PppSession leaves it once it has opened everything, for nobody to open anything with.
class OpenFrames final : public PppFrameSource, public PppFrameSink, public LineSession {
 public:
  OpenFrames(PppPayload payload, PacketSource& packets, PacketSink& sink)
      : header_(ppp_data_header(payload)), packets_(packets), sink_(sink) {}

  [[nodiscard]] PppFrame next() override {
    const Bytes packet = packets_.next();
    if (packet.empty()) return {};
    return {.header = header_, .information = packet};
  }
  void frame(PppProtocol protocol, Bytes information) override {
    const auto own = ppp_header(protocol);
    const std::size_t vendor = header_.size() - kPppHeader;
    if (!std::equal(own.begin(), own.end(), header_.begin()) || information.size() <= vendor)
      return;
    sink_.packet(information.subspan(vendor));
  }
  [[nodiscard]] bool up() const override { return true; }
  [[nodiscard]] Time next_deadline() const override { return Time::max(); }
  void advance(Time) override {}

 private:
  const std::vector<std::byte> header_;
  PacketSource& packets_;
  PacketSink& sink_;
};

class PppLine final : public Line {
 public:
  explicit PppLine(const LineUse& use) : payload_(ppp_payload_of(use.carried)) {
    if (use.entropy != nullptr) {
      session_.emplace(PppSessionOptions{.payload = payload_, .receive_unit = kReceiveUnit},
                       use.packets, use.sink, *use.entropy);
    } else {
      open_.emplace(payload_, use.packets, use.sink);
    }
    PppFrameSource& source = session_ ? static_cast<PppFrameSource&>(*session_) : *open_;
    PppFrameSink& sink = session_ ? static_cast<PppFrameSink&>(*session_) : *open_;
    transmitter_.emplace(PppFcs::k32, source);
    receiver_.emplace(PppFcs::k32, kReceiveUnit, sink);
  }

  OctetSource& out() override { return *transmitter_; }
  OctetSink& in() override { return *receiver_; }
  LineSession& session() override {
    return session_ ? static_cast<LineSession&>(*session_) : *open_;
  }
  [[nodiscard]] std::size_t longest_packet() const override {
    const std::size_t taken = session_ ? session_->link().send_unit() : kReceiveUnit;
    const std::size_t vendor = payload_ == PppPayload::kInfiniBand ? kVendorHeader : 0;
    return std::min(kLongestLinePacket, taken - std::min(taken, vendor));
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = receiver_->counters().snapshot();
    if (session_) accumulate(out, session_->counters().snapshot());
    return out;
  }

 private:
  const PppPayload payload_;
  std::optional<PppSession> session_;
  std::optional<OpenFrames> open_;
  std::optional<PppTransmitter> transmitter_;
  std::optional<PppReceiver> receiver_;
};

}  // namespace

std::unique_ptr<Line> make_ppp_line(const LineUse& use) {
  return std::make_unique<PppLine>(use);
}

}  // namespace weft::wan
