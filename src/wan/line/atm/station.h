// SPDX-License-Identifier: Apache-2.0
// The end of a line of ATM that carries packets to one other end: over a connection that is
// configured, or over one that is set up by signalling as soon as it can be, and again when it was
// lost. Packets go once the connection is there; whether the other end is, loopback cells tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/aal5_reassembler.h"
#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/cell_source.h"
#include "wan/line/atm/oam_end.h"
#include "wan/line/atm/signalling_channel.h"
#include "wan/line/line_session.h"

namespace weft::wan::atm {

enum class StationCounter : std::uint8_t {
  kPackets,
  kOtherProtocols,
  kStrayCells,
  kCallsRefused,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(StationCounter::kCount)>
    kStationCounters{{
        {"station_packets", "packets received"},
        {"other_protocols", "PDUs dropped: not of the protocol that is carried here"},
        {"stray_cells", "cells of no connection of this station"},
        {"calls_refused", "calls refused: from a stranger, or while there is one"},
    }};

using StationCounters = CounterSet<StationCounter, kStationCounters>;

struct StationOptions {
  bool scrambled = true;
  std::uint16_t ether_type = 0x88B5;  // of packets
  Aal5Limits limits{};
  OamOptions oam{};  // but for its channel

  // A connection that is configured; without, one is set up by signalling:
  std::optional<Channel> channel{};
  bool calls = true;  // else it is called
  Aesa own{};
  Aesa other{};
  std::uint32_t peak_rate = 0xFF'FFFF;  // cells a second, of the traffic descriptor
  Duration call_again = 1s;             // after a call or the signalling link was lost
  SignallingOptions signalling{};       // but for its side
};

class Station final : public OctetSource,
                      public OctetSink,
                      public LineSession,
                      CellFeed,
                      CellSink,
                      Aal5Sink,
                      CallOwner {
 public:
  // Both outlive this.
  Station(const StationOptions& options, PacketSource& from, PacketSink& to);

  void fill(MutableBytes octets) override { source_.fill(octets); }
  void take(Bytes octets) override { delineation_.take(octets); }
  void interrupted() override { delineation_.interrupted(); }

  [[nodiscard]] bool up() const override { return connection_ && connection_->oam.up(); }
  [[nodiscard]] Time next_deadline() const override;
  void advance(Time now) override;
  void set_line(bool present) override {
    if (connection_) connection_->oam.set_line(present);
  }
  // Releases the call; no other one is placed or taken.
  void end(Time now) override;
  [[nodiscard]] bool ended() const override { return signalling_.end().calls() == 0; }

  // What packets go over; nothing: no connection.
  [[nodiscard]] std::optional<Channel> channel() const;
  [[nodiscard]] const CellCounters& cell_counters() const { return delineation_.counters(); }
  [[nodiscard]] const Aal5Counters& aal5_counters() const { return reassembler_.counters(); }
  [[nodiscard]] const StationCounters& counters() const { return counters_; }
  // Of the connection as it is; nullptr: there is none.
  [[nodiscard]] const OamEnd* oam() const { return connection_ ? &connection_->oam : nullptr; }
  [[nodiscard]] const SignallingEnd& signalling() const { return signalling_.end(); }
  // All of them; of connections that there were as well.
  [[nodiscard]] std::vector<CounterValue> all_counters() const;

 private:
  struct Connection {
    Connection(const Channel& at, const StationOptions& options, PacketSource& from);
    Channel channel;
    OamEnd oam;
    PacketCells packets;
  };

  [[nodiscard]] std::size_t put_cells(MutableBytes cells) override;
  void take_cells(const CellRun& run) override;
  void pdu(const Channel& channel, Bytes payload, std::uint8_t user_to_user) override;
  void link_changed(bool up, Time now) override;
  void call_came(const CallId& call, const SignallingMessage& setup, Time now) override;
  void call_connected(const CallId& call, const Channel& channel, Time now) override;
  void call_ended(const CallId& call, Cause cause, Time now) override;
  void open(const Channel& channel);
  void close();
  void place_call(Time now);

  const StationOptions options_;
  PacketSource& from_;
  PacketSink& to_;
  CellDelineation delineation_;
  Aal5Reassembler reassembler_;
  SignallingChannel signalling_;
  std::optional<CallId> call_;
  Time try_at_ = Time::min();
  Time now_{};
  std::unique_ptr<Connection> connection_;
  CellSource source_;
  std::vector<CounterValue> oam_gone_;  // of connections that there were
  bool ending_ = false;
  StationCounters counters_;
};

}  // namespace weft::wan::atm
