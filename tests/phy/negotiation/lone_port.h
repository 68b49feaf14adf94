// SPDX-License-Identifier: Apache-2.0
// One port, whose link and peer are whatever a test says.
#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "phy/negotiation/ddr_negotiation.h"

namespace weft::phy::test {

class LonePort final : SerdesControl, NegotiationOutput {
 public:
  static constexpr std::uint32_t kId = 0x100;

  explicit LonePort(NegotiationOptions options = {})
      : port(
            [&] {
              options.first_id = kId;
              return options;
            }(),
            *this, *this) {
    port.start(now);
  }

  void link_up(LinkSpeed at = LinkSpeed::kSdr) { port.link_up(at, now); }
  // Lets the port do what is due until then.
  void wait(Duration time) {
    const Time end = now + time;
    while (port.deadline() && *port.deadline() <= end) {
      now = std::max(now, *port.deadline());
      port.expire(now);
    }
    now = end;
  }
  // A request of the peer's negotiation `id`, or an acknowledgement of this port's.
  DdrNegotiation::Receipt hear(Advertisement message, std::uint32_t id = 7) {
    if (message.acknowledge) id = port.variables().own_id;
    return hear_exactly({message, std::uint64_t{id} << 32 | 1});
  }
  DdrNegotiation::Receipt hear_exactly(const AdvertisementMad& mad) {
    return port.receive(make_advertisement_mad(mad), now);
  }
  // What was sent since this was last asked, each burst once.
  std::vector<Advertisement> said() {
    std::vector<Advertisement> bursts;
    for (std::size_t i = 0; i < sent.size(); i += port.options().burst_len)
      bursts.push_back(sent[i].advertisement);
    sent.clear();
    return bursts;
  }
  [[nodiscard]] std::uint64_t count(NegotiationCounter counter) const {
    return port.counters().get(counter);
  }
  // With a peer that takes part, and a link that does not come back after the sweep.
  void sweep_in_vain(const Advertisement& peer) {
    link_up();
    hear(peer);
    Advertisement ack = peer;
    ack.acknowledge = true;
    hear(ack);
    wait(100s);
  }

  Time now{1s};
  LinkSpeed speed = LinkSpeed::kSdr;
  LineUse use = LineUse::kIdle;
  unsigned transmit = 0;
  std::vector<unsigned> receive = std::vector<unsigned>(12);
  LaneMeasurement quality{true, 0, 1.0};
  std::vector<AdvertisementMad> sent;
  std::vector<TimelineEvent> events;
  DdrNegotiation port;

 private:
  void set_line(LinkSpeed s, LineUse u) override {
    speed = s;
    use = u;
  }
  void set_transmit(unsigned configuration) override { transmit = configuration; }
  void set_receive(unsigned lane, unsigned configuration) override {
    receive[lane] = configuration;
  }
  LaneMeasurement measure(unsigned) override { return quality; }
  void send(wire::MadBytes mad, Time) override {
    sent.push_back(std::get<AdvertisementMad>(parse_advertisement_mad(mad)));
  }
  void record(const TimelineEvent& event) override { events.push_back(event); }
};

inline Advertisement capabilities() {
  return {.ddr = true, .iteration_ms = 500, .iterations = 5};
}
inline Advertisement acknowledged(Advertisement message) {
  message.acknowledge = true;
  return message;
}
inline Advertisement result(std::uint32_t chosen) {
  return {.serdes_configured = true, .ddr = true, .iteration_ms = 500, .iterations = chosen};
}

}  // namespace weft::phy::test
