// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "daemon/wan/emulated_direction.h"
#include "daemon/wan/stream_address.h"
#include "daemon/wan/wan_proxy.h"
#include "io/reactor.h"
#include "wan/line/equipment/line_equipment.h"

namespace weft::daemon {

// An emulated WAN for streams, TCP or Unix: each connection to it is joined to one of its own to
// the target. Of a stream nothing is lost; a full queue, and a receiver that does not read, hold
// the sender back. The line of a direction is shared by all connections.
class StreamProxy : public WanProxy {
 public:
  static constexpr std::size_t kMostConnections = 1024;

  // `memory`: of each direction, in bytes. `equipment`: what stands in each connection, as
  // wan::LineEquipment::parse() takes it. Errors name the address, or the equipment.
  static Expected<std::unique_ptr<StreamProxy>> open(io::Reactor& reactor, StreamAddress listen,
                                                     const StreamAddress& target,
                                                     std::size_t memory,
                                                     const std::string& equipment = {});

  std::optional<Time> run(Time now) override;
  void change(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
              Time now) override;
  [[nodiscard]] std::string listens() const override { return listen_.to_string(); }
  [[nodiscard]] nlohmann::json report(Time now) override;

 private:
  enum Side : std::size_t {
    kClient,
    kTarget
  };  // also: what the client sends, what the target does
  using Equipment = std::vector<std::unique_ptr<wan::LineEquipment>>;
  // From one end of a connection to the other.
  struct Pipe {
    std::deque<wan::DelayLine::Held> out;  // has come, and waits for its receiver
    std::size_t waiting = 0;               // bytes of that
    std::size_t written = 0;               // of the first of them
    bool wants = false;                    // may have something to read
    bool hung_up = false;                  // who sends does not take anything any more either
    bool read_all = false;
    bool wrote_all = false;
  };
  struct Connection {
    std::array<io::UniqueFd, 2> ends;
    std::array<io::Reactor::Registration, 2> watches;
    std::array<Pipe, 2> pipes;  // by the side that sends
    Equipment equipment;        // from the client to the target
  };

  StreamProxy(io::Reactor& reactor, StreamAddress listen, const StreamAddress& target,
              std::size_t memory);
  void accept_all();
  void ready(std::uint32_t number, Side side, std::uint32_t events);
  static void hang_up(Connection& connection, Side side);
  [[nodiscard]] bool may_read(const Pipe& pipe, Side from, Time now) const;
  // False: the connection is broken.
  [[nodiscard]] bool read(std::uint32_t number, Connection& connection, Side from, Time now);
  [[nodiscard]] bool write(Connection& connection, Side from);
  void consume(Pipe& pipe, Side from, std::size_t bytes);
  void deliver(Side from, Time now);
  void watch_what_matters(std::uint32_t number, Connection& connection, Time now);
  void close(std::uint32_t number);
  static void pass(const Connection& connection, Side from, MutableBytes piece, Time now);
  [[nodiscard]] nlohmann::json equipment_report() const;

  io::Reactor& reactor_;
  StreamAddress listen_;
  StreamAddress target_;
  std::string equipment_;
  std::vector<CounterValue> equipment_gone_;  // counters of connections that have ended
  io::UniqueFd listener_;
  io::SpareDescriptor spare_;
  std::array<EmulatedDirection, 2> directions_;
  std::unordered_map<std::uint32_t, Connection> connections_;
  std::uint32_t last_connection_ = 0;
  std::uint64_t refused_ = 0;  // connections that could not be joined
  std::uint64_t broken_ = 0;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
