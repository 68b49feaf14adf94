// SPDX-License-Identifier: Apache-2.0
// The network's side of signalling in a switch: stations at its ports set connections up to each
// other by their addresses.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "wan/line/atm/cell_switch.h"
#include "wan/line/atm/signalling_channel.h"

namespace weft::wan::atm {

class SwitchCalls {
 public:
  // `cells` outlives this. Of `options`, the side is the network's.
  SwitchCalls(CellSwitch& cells, const SignallingOptions& options);

  // Who has this address is at that port.
  void add_station(const Aesa& address, std::size_t port) { stations_[address] = port; }

  // Of a switch with two ports: addresses that nobody was said to have are at the other port than
  // the one by which they are asked for. Else there are none such.
  void set_unknown_elsewhere(bool elsewhere) { unknown_elsewhere_ = elsewhere; }

  // Cells of the signalling channel that came by a port.
  void take(std::size_t port, const CellRun& run, Time now);
  // Those that leave by a port, before what is in its queue.
  [[nodiscard]] std::size_t put_cells(std::size_t port, MutableBytes cells);

  void advance(Time now);
  [[nodiscard]] Time next_deadline() const;

  // Calls between two stations, whether they have come about or not.
  [[nodiscard]] std::size_t calls() const { return legs_.size() / 2; }
  [[nodiscard]] const SignallingEnd& end(std::size_t port) const {
    return sides_[port]->channel.end();
  }

 private:
  struct Leg {
    std::size_t port = 0;
    CallId call;
    friend auto operator<=>(const Leg&, const Leg&) = default;
  };
  struct Other {
    Leg leg;
    Channel own;  // of this leg
  };
  // What comes of a port's signalling.
  struct SwitchSide final : CallOwner {
    SwitchSide(SwitchCalls& all, std::size_t at, const SignallingOptions& options)
        : calls(all), port(at), channel(options, *this) {}
    void link_changed(bool, Time) override {}
    void call_came(const CallId& call, const SignallingMessage& setup, Time now) override {
      calls.came({port, call}, setup, now);
    }
    void call_connected(const CallId& call, const Channel&, Time now) override {
      calls.connected({port, call}, now);
    }
    void call_ended(const CallId& call, Cause cause, Time now) override {
      calls.ended({port, call}, cause, now);
    }
    SwitchCalls& calls;
    const std::size_t port;
    SignallingChannel channel;
  };

  [[nodiscard]] SignallingEnd& side(std::size_t port) { return sides_[port]->channel.end(); }
  [[nodiscard]] std::optional<std::size_t> port_of(const Aesa& address, std::size_t asked_at) const;
  void came(const Leg& leg, const SignallingMessage& setup, Time now);
  void connected(const Leg& leg, Time now);
  void ended(const Leg& leg, Cause cause, Time now);

  CellSwitch& cells_;
  std::vector<std::unique_ptr<SwitchSide>> sides_;
  std::map<Aesa, std::size_t> stations_;
  std::map<Leg, Other> legs_;
  bool unknown_elsewhere_ = false;
};

}  // namespace weft::wan::atm
