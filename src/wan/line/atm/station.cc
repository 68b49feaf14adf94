// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/station.h"

#include <algorithm>

namespace weft::wan::atm {
namespace {

OamOptions oam_at(const Channel& channel, OamOptions options) {
  options.channel = channel;
  return options;
}

SignallingOptions at_user(SignallingOptions options) {
  options.side = Side::kUser;
  return options;
}

}  // namespace

Station::Connection::Connection(const Channel& at, const StationOptions& options,
                                PacketSource& from)
    : channel(at),
      oam(oam_at(at, options.oam)),
      packets(from, {.channel = at}, options.ether_type) {
}

Station::Station(const StationOptions& options, PacketSource& from, PacketSink& to)
    : options_(options),
      from_(from),
      to_(to),
      delineation_(*this, options.scrambled),
      reassembler_(options.limits),
      signalling_(at_user(options.signalling), *this),
      source_({this}, options.scrambled) {
  if (options.channel) open(*options.channel);
}

std::optional<Channel> Station::channel() const {
  if (!connection_) return std::nullopt;
  return connection_->channel;
}

void Station::open(const Channel& channel) {
  connection_ = std::make_unique<Connection>(channel, options_, from_);
  reassembler_.open(channel);
  connection_->oam.advance(now_);
}

// A packet of which some cells have gone is lost.
void Station::close() {
  if (!connection_) return;
  accumulate(oam_gone_, connection_->oam.counters().snapshot());
  reassembler_.close(connection_->channel);
  connection_.reset();
}

// --- cells -------------------------------------------------------------------------------------

// What keeps the connection goes first.
std::size_t Station::put_cells(MutableBytes cells) {
  std::size_t count = signalling_.put_cells(cells);
  if (!connection_) return count;
  count += connection_->oam.put_cells(cells.subspan(count * kCellSize));
  return count + connection_->packets.put_cells(cells.subspan(count * kCellSize));
}

void Station::take_cells(const CellRun& run) {
  if (run.header.channel == kSignalling && !options_.channel) {
    signalling_.take(run, now_);
    return;
  }
  if (!connection_ || run.header.channel != connection_->channel) {
    counters_.add_in_turn(StationCounter::kStrayCells, run.count);
    return;
  }
  if (run.header.is_user_data()) {
    connection_->oam.user_cells_came();
    reassembler_.take(run, delineation_.cell_times(), *this);
  } else if (run.header.payload_type == (options_.oam.segment ? kOamSegment : kOamEndToEnd)) {
    connection_->oam.take_oam(run);
  } else {
    counters_.add_in_turn(StationCounter::kStrayCells, run.count);
  }
}

void Station::pdu(const Channel&, Bytes payload, std::uint8_t) {
  const std::optional<LlcPacket> packet = read_llc_snap(payload);
  if (!packet || packet->ether_type != options_.ether_type || packet->packet.empty()) {
    counters_.add_in_turn(StationCounter::kOtherProtocols);
    return;
  }
  counters_.add_in_turn(StationCounter::kPackets);
  to_.packet(packet->packet);
}

// --- the call ----------------------------------------------------------------------------------

void Station::link_changed(bool up, Time now) {
  try_at_ = up ? now : now + options_.call_again;
}

void Station::call_came(const CallId& call, const SignallingMessage& setup, Time now) {
  const bool wanted = !options_.calls && !ending_ && !call_ && setup.channel &&
                      (!setup.called || *setup.called == options_.own) &&
                      (!setup.calling || *setup.calling == options_.other);
  if (!wanted) {
    counters_.add_in_turn(StationCounter::kCallsRefused);
    signalling_.end().release(call, call_ ? Cause::kUserBusy : Cause::kCallRejected, now);
    return;
  }
  call_ = call;
  signalling_.end().proceed(call, std::nullopt, now);
  signalling_.end().connect(call, std::nullopt, now);
}

void Station::call_connected(const CallId& call, const Channel& channel, Time now) {
  if (call_ != call) return;
  if (channel.vci < kFirstUserVci) {
    // The network has not said which connection it is.
    signalling_.end().release(call, Cause::kMandatoryElementMissing, now);
    call_ended(call, Cause::kMandatoryElementMissing, now);
    return;
  }
  open(channel);
}

void Station::call_ended(const CallId& call, Cause, Time now) {
  if (call_ != call) return;
  call_.reset();
  close();
  try_at_ = now + options_.call_again;
}

void Station::place_call(Time now) {
  call_ = signalling_.end().place({.type = MessageType::kSetup,
                                   .call = {},
                                   .longest_pdu = static_cast<std::uint16_t>(
                                       std::min(options_.limits.longest_payload, kLongestPayload)),
                                   .peak_rate = options_.peak_rate,
                                   .has_bearer = true,
                                   .has_qos = true,
                                   .called = options_.other,
                                   .calling = options_.own},
                                  now);
}

void Station::end(Time now) {
  ending_ = true;
  if (call_) signalling_.end().release(*call_, Cause::kNormalClearing, now);
  call_.reset();
  close();
}

std::vector<CounterValue> Station::all_counters() const {
  std::vector<CounterValue> out = delineation_.counters().snapshot();
  accumulate(out, reassembler_.counters().snapshot());
  accumulate(out, counters_.snapshot());
  accumulate(out, oam_gone_);
  if (connection_) accumulate(out, connection_->oam.counters().snapshot());
  if (options_.channel) return out;
  accumulate(out, signalling_.end().counters().snapshot());
  accumulate(out, signalling_.end().link_counters().snapshot());
  return out;
}

// --- time --------------------------------------------------------------------------------------

Time Station::next_deadline() const {
  Time next = connection_ ? connection_->oam.next_deadline() : Time::max();
  if (options_.channel) return next;
  next = std::min(next, signalling_.end().next_deadline());
  const bool tries = !ending_ && (!signalling_.end().link_up() || (options_.calls && !call_));
  return tries ? std::min(next, try_at_) : next;
}

void Station::advance(Time now) {
  now_ = now;
  reassembler_.expire(delineation_.cell_times());
  if (!options_.channel) {
    SignallingEnd& end = signalling_.end();
    end.advance(now);
    if (ending_) return;
    if (now >= try_at_ && !end.link_up()) {
      try_at_ = now + options_.call_again;
      end.establish(now);
    } else if (now >= try_at_ && options_.calls && !call_) {
      try_at_ = now + options_.call_again;
      place_call(now);
    }
  }
  if (connection_) connection_->oam.advance(now);
}

}  // namespace weft::wan::atm
