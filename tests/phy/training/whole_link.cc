// SPDX-License-Identifier: Apache-2.0
#include "whole_link.h"

#include <algorithm>
#include <utility>

#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/flow_control.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

namespace weft::phy {
namespace {

constexpr Duration kSymbolTime = 4ns;  // at SDR, by the clock of the test
// So often machines are told what lanes carry: once in an ordered set.
constexpr std::uint64_t kStepsInSet = kTrainingSetSize;

}  // namespace

SentPacket data_packet(Random& random, std::size_t payload) {
  SentPacket packet;
  packet.bytes.resize(8 + 12 + payload + 4 + 2);
  wire::Lrh{.dlid = Lid{2},
            .packet_words = static_cast<std::uint16_t>((packet.bytes.size() - 2) / 4),
            .slid = Lid{1}}
      .write(packet.bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only, .dest_qp = Qpn{7}}.write(
      MutableBytes(packet.bytes).subspan(8));
  for (std::size_t i = 0; i < payload; ++i)
    packet.bytes[20 + i] = static_cast<std::byte>(random.next());
  wire::seal_link_packet(packet.bytes);
  return packet;
}

SentPacket flow_control_packet(Random& random) {
  const wire::FlowControl packet{.vl = Vl{static_cast<std::uint8_t>(random.below(8))},
                                 .fctbs = static_cast<std::uint16_t>(random.below(4096)),
                                 .fccl = static_cast<std::uint16_t>(random.below(4096))};
  const auto bytes = packet.bytes();
  return {.kind = PacketKind::kLink, .bytes = {bytes.begin(), bytes.end()}};
}

bool is_whole(const ArrivedPacket& packet) {
  if (packet.kind == PacketKind::kLink) return wire::FlowControl::parse(packet.bytes).has_value();
  const Bytes covered = Bytes(packet.bytes).first(packet.bytes.size() - 2);
  return wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, covered)) ==
         wire::load_le16(packet.bytes.data() + covered.size());
}

WholePort::WholePort(const TrainingOptions& options, LinkWidth width, double clock_ppm)
    : training(options, *this),
      transmitter(width),
      receiver(LinkReceiver::Options{
          .width = width, .own_clock = true, .correct_polarity = false, .correct_reversal = false}),
      lanes_(lanes_of(width)),
      clock_(1 + clock_ppm * 1e-6),
      told_(lanes_) {
}

void WholePort::trained(const TrainingStep&, Time) {
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    receiver.set_inverted(lane, training.receiver(lane).inverts);
  const auto& in = training.receive_map();
  receiver.set_reversed(in && in->mirror != 0);
  const auto out = training.transmit_map();
  transmitter.set_reversed(out && out->mirror != 0);
}

void WholePort::receive(const ReceivedPacket& packet) {
  arrived.push_back({packet.kind, packet.fault, {packet.bytes.begin(), packet.bytes.end()}});
}

namespace {

std::size_t whole_part(double& share) {
  const auto whole = static_cast<std::size_t>(share);
  share -= static_cast<double>(whole);
  return whole;
}

}  // namespace

std::size_t WholePort::bits_to_send() {
  bit_share_ += kSymbolBits * clock_;
  return whole_part(bit_share_);
}

std::size_t WholePort::symbol_times() {
  tick_share_ += clock_;
  return whole_part(tick_share_);
}

void WholePort::produce() {
  switch (training.transmit(0).send) {
    case LaneSend::kSilence:
      return;
    case LaneSend::kTs1:
      return transmitter.send_training(OrderedSet::kTs1, 1);
    case LaneSend::kTs2:
      return transmitter.send_training(OrderedSet::kTs2, 1);
    case LaneSend::kIdle:
      return transmitter.send_idle(kTrainingSetSize);
    case LaneSend::kData:
      break;
  }
  if (to_send.empty()) return transmitter.send_idle(kTrainingSetSize);
  SentPacket packet = std::move(to_send.front());
  to_send.pop_front();
  packet.from = transmitter.symbol_times() * kSymbolBits;
  transmitter.send_packet(packet.kind, packet.bytes);
  packet.to = transmitter.symbol_times() * kSymbolBits;
  sent.push_back(std::move(packet));
  transmitter.send_idle(2);
}

bool WholePort::sends(std::size_t bits) {
  const auto ready = [&] { return cleared_bits_ + transmitter.bits(0).count - sent_bits; };
  if (ready() == 0) {
    cleared_bits_ += transmitter.bits(0).count;
    transmitter.clear();
  }
  while (ready() < bits) {
    const auto before = ready();
    produce();
    if (ready() == before) return false;
  }
  return true;
}

void WholePort::tell_training(Time now) {
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const LaneInput& input = receiver.lane(lane).input();
    if (input != told_[lane]) training.receive(lane, input, now);
    // A step that turns the wires of a lane makes it silent.
    told_[lane] = receiver.lane(lane).input();
    if (const auto errors = receiver.take_errors(lane)) training.symbol_errors(lane, errors, now);
  }
  training.run(now);
}

WholeLink::WholeLink(LinkWidth width, const std::array<TrainingOptions, 2>& options,
                     const std::array<Wiring, 2>& wirings, const std::array<double, 2>& clocks_ppm,
                     std::uint64_t seed)
    : lanes_(lanes_of(width)), random_(seed), wirings_(wirings) {
  for (std::size_t side = 0; side < 2; ++side) {
    ports_[side] = std::make_unique<WholePort>(options[side], width, clocks_ppm[side]);
    on_wire_[side].resize(lanes_);
  }
}

void WholeLink::poll() {
  for (const auto& port : ports_)
    port->training.command(wire::PortPhysicalState::kPolling, now_);
}

bool WholeLink::up() const {
  return ports_[0]->training.may_send_packets() && ports_[1]->training.may_send_packets();
}

bool WholeLink::run_until_up(Duration most) {
  for (const Time end = now_ + most; now_ < end && !up();)
    step();
  return up();
}

void WholeLink::run(Duration time) {
  for (const Time end = now_ + time; now_ < end;)
    step();
}

// A symbol time.
void WholeLink::step() {
  now_ += kSymbolTime;
  ++steps_;
  carry(0);
  carry(1);
  if (steps_ % kStepsInSet != 0) return;
  for (const auto& port : ports_)
    port->tell_training(now_);
}

bool WholeLink::spoils(const Wiring& wiring) {
  return wiring.bit_errors > 0 && random_.chance(wiring.bit_errors);
}

// What a port sends in that time, at its clock, and what the other one reads, at its own.
void WholeLink::carry(std::size_t from) {
  WholePort& sender = *ports_[from];
  WholePort& receiver = *ports_[1 - from];
  const Wiring& wiring = wirings_[from];
  const std::size_t bits = sender.bits_to_send();
  const bool sounds = sender.sends(bits);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const std::size_t to = wiring.reversed ? lanes_ - 1 - lane : lane;
    std::deque<bool>& on_wire = on_wire_[from][lane];
    if (!sounds) {
      on_wire.clear();
      receiver.receiver.silence(to, bits);
      continue;
    }
    for (unsigned i = 0; on_wire.size() < wiring.late[lane]; ++i)
      on_wire.push_back(i / 2 % 2 != 0);  // what was there before the first bit
    const BitSpan out = sender.transmitter.bits(lane);
    BitVector in;
    for (std::size_t i = 0; i < bits; ++i) {
      const std::uint64_t at = sender.sent_bits + i;
      const bool wrong = spoils(wiring);
      if (wrong) spoilt_[from].push_back(at);
      const bool turned = wrong != ((wiring.crossed >> lane & 1) != 0);
      on_wire.push_back(out.bit(at - sender.cleared_bits_) != turned);
      in.put(on_wire.front() ? 1 : 0, 1);
      on_wire.pop_front();
    }
    receiver.receiver.receive(to, in.span());
  }
  if (sounds) sender.sent_bits += bits;
  receiver.receiver.tick(receiver.symbol_times(), receiver);
}

}  // namespace weft::phy
