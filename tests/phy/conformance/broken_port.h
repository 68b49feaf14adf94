// SPDX-License-Identifier: Apache-2.0
// Weft's port with something broken: what it is set to, says, hears, does with its SerDes, or
// answers a subnet manager.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "phy/conformance/port.h"

namespace weft::phy::conformance::test {

// What is not there is left as it is.
struct Breaks {
  std::function<void(NegotiationOptions& options)> options{};
  std::function<std::vector<wire::MadBuffer>(const wire::MadBuffer& mad)> sends{};
  std::function<std::optional<wire::MadBuffer>(wire::MadBuffer mad)> hears{};
  std::function<std::optional<std::pair<LinkSpeed, LineUse>>(LinkSpeed speed, LineUse use)> line{};
  std::function<unsigned(unsigned configuration)> transmit{};
  std::function<unsigned(unsigned configuration)> receive{};
  std::function<LaneMeasurement(LaneMeasurement measured)> measures{};
  std::function<bool(bool polling)> polling{};
  std::function<PortSpeeds(PortSpeeds speeds)> speeds{};
};

class BrokenPort final : public Port, private SerdesControl, private PortOutput {
 public:
  BrokenPort(Breaks breaks, NegotiationOptions options, SerdesControl& serdes, PortOutput& output)
      : breaks_(std::move(breaks)), serdes_(serdes), output_(output) {
    if (breaks_.options) breaks_.options(options);
    port_ = make_weft_port(options, *this, *this);
  }

  void start(Time now) override { port_->start(now); }
  void link_up(LinkSpeed speed, Time now) override { port_->link_up(speed, now); }
  void link_down(Time now) override { port_->link_down(now); }
  void receive(wire::MadBytes mad, Time now) override {
    std::optional<wire::MadBuffer> heard = copy_of(mad);
    if (breaks_.hears) heard = breaks_.hears(*heard);
    if (heard) port_->receive(*heard, now);
  }
  void expire(Time now) override { port_->expire(now); }
  [[nodiscard]] std::optional<Time> deadline() const override { return port_->deadline(); }
  [[nodiscard]] bool polling() const override {
    return breaks_.polling ? breaks_.polling(port_->polling()) : port_->polling();
  }
  [[nodiscard]] PortSpeeds speeds() const override {
    return breaks_.speeds ? breaks_.speeds(port_->speeds()) : port_->speeds();
  }

 private:
  static wire::MadBuffer copy_of(wire::MadBytes mad) {
    wire::MadBuffer out;
    std::copy(mad.begin(), mad.end(), out.begin());
    return out;
  }

  void send(wire::MadBytes mad, Time now) override {
    if (!breaks_.sends) return output_.send(mad, now);
    for (const wire::MadBuffer& sent : breaks_.sends(copy_of(mad)))
      output_.send(sent, now);
  }
  void set_line(LinkSpeed speed, LineUse use) override {
    std::optional set{std::pair{speed, use}};
    if (breaks_.line) set = breaks_.line(speed, use);
    if (set) serdes_.set_line(set->first, set->second);
  }
  void set_transmit(unsigned configuration) override {
    serdes_.set_transmit(breaks_.transmit ? breaks_.transmit(configuration) : configuration);
  }
  void set_receive(unsigned lane, unsigned configuration) override {
    serdes_.set_receive(lane, breaks_.receive ? breaks_.receive(configuration) : configuration);
  }
  LaneMeasurement measure(unsigned lane) override {
    const LaneMeasurement measured = serdes_.measure(lane);
    return breaks_.measures ? breaks_.measures(measured) : measured;
  }

  const Breaks breaks_;
  SerdesControl& serdes_;
  PortOutput& output_;
  std::unique_ptr<Port> port_;
};

inline MakePort make_broken(const Breaks& breaks) {
  return [breaks](const NegotiationOptions& options, SerdesControl& serdes, PortOutput& output) {
    return std::make_unique<BrokenPort>(breaks, options, serdes, output);
  };
}

}  // namespace weft::phy::conformance::test
