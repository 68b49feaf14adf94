// SPDX-License-Identifier: Apache-2.0
#include "port/ring/fabric_endpoint.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "port/ring/block_copy.h"
#include "port/ring/filled_slots.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/opcode.h"

namespace weft::port {
namespace {

constexpr hca::SendResult kFabricEndpointBadMemory{hca::SendOutcome::kRefused,
                                                   hca::CompletionStatus::kLocalProtectionError};
constexpr std::uint32_t kPrivilegedQKey = 0x8000'0000;  // IBA 10.2.5

// What no program may say, whatever the port: that is for management.
bool is_forbidden(const hca::OutPacket& packet, Qpn destination) {
  if (destination == kQp0 || destination == kQp1) return true;
  const auto opcode = static_cast<wire::Opcode>(wire::load_u8(packet.header.data()));
  if (wire::info(opcode).transport != wire::Transport::ud) return false;
  const auto deth = wire::Deth::parse(Bytes(packet.header).subspan(wire::Bth::kSize));
  return deth && (deth->qkey.value() & kPrivilegedQKey) != 0;
}

}  // namespace

FabricEndpoint::~FabricEndpoint() {
  // Fails only where the daemon has gone, and the number with it.
  static_cast<void>(shared_->attachment->release(qpn_));
}

Expected<void> FabricEndpoint::move_to(std::uint8_t port) {
  if (auto moved = shared_->attachment->move(qpn_, port); !moved) return moved;
  const std::lock_guard guard(shared_->sending);
  port_ = port;
  return {};
}

Expected<void> FabricEndpoint::attach(const Gid& group) {
  return shared_->attachment->join(qpn_, group);
}

Expected<void> FabricEndpoint::detach(const Gid& group) {
  return shared_->attachment->leave(qpn_, group);
}

std::optional<RingCounter> FabricEndpoint::objection(const hca::Burst& burst,
                                                     const PortFacts& facts) {
  if (!facts.is_active()) return RingCounter::kTxInactive;
  if (!burst.path.by_lid()) return RingCounter::kTxUnaddressed;
  const std::vector<GidEntry>& gids = facts.attributes.gids;
  if (burst.path.global &&
      (burst.path.sgid_index >= gids.size() || gids[burst.path.sgid_index].gid.is_zero())) {
    return RingCounter::kTxOutdated;
  }
  std::optional<PKey> good;
  for (const hca::OutPacket& packet : burst.packets()) {
    const wire::Bth bth = *wire::Bth::parse(Bytes(packet.header));
    if (bth.pkey != good && !facts.has_pkey(bth.pkey)) return RingCounter::kTxOutdated;
    good = bth.pkey;
    if (is_forbidden(packet, bth.dest_qp)) return RingCounter::kTxForbidden;
    if (packet.payload_length > facts.neighbor_mtu) return RingCounter::kTxTooLong;
  }
  return std::nullopt;
}

hca::SendResult FabricEndpoint::send(const hca::Burst& burst) {
  using enum hca::SendOutcome;
  if (shared_->gone.load(std::memory_order_relaxed) || shared_->end->is_broken()) {
    shared_->counters.add(RingCounter::kTxGone, burst.size());
    return {kRefused};
  }
  const std::lock_guard guard(shared_->sending);
  const PortFacts& facts = *shared_->facts[port_];
  if (const auto counter = objection(burst, facts)) {
    shared_->counters.add_in_turn(*counter, burst.size());
    return {kSent};
  }
  return hand_over(burst, facts);
}

hca::SendResult FabricEndpoint::hand_over(const hca::Burst& burst, const PortFacts& facts) {
  struct Work {
    ProgramEnd& end;
    const hca::Burst& burst;
    Route route;
    std::array<std::uint32_t, hca::Burst::kMaxPackets> blocks;

    [[nodiscard]] MutableBytes block(std::size_t i) const {
      return blocks[i] == ring::kNoBlock ? MutableBytes{} : end.block(blocks[i]);
    }
    // The slot and the block of a packet, while the one before is written.
    void ask_for(std::size_t i, std::size_t size) const {
      prefetch_to_write(&end.slot(i));
      if (blocks[i] != ring::kNoBlock) ring::ask_for_block(end.block(blocks[i]).data(), size);
    }
  } work{*shared_->end, burst, route_of(burst.path, facts), {}};
  const auto packets = burst.packets();
  const auto apart = static_cast<std::size_t>(
      std::count_if(packets.begin(), packets.end(),
                    [&](const hca::OutPacket& packet) { return !work.route.fits_header(packet); }));
  if (!work.end.has_room(packets.size(), apart)) {
    shared_->counters.add_in_turn(RingCounter::kTxBlocked);
    return {hca::SendOutcome::kWouldBlock};
  }
  for (std::size_t i = 0; i < packets.size(); ++i)
    work.blocks[i] = work.route.fits_header(packets[i]) ? ring::kNoBlock : work.end.take_block();

  const bool done = shared_->guard(
      [](void* argument) {
        Work& now = *static_cast<Work*>(argument);
        const auto packets = now.burst.packets();
        for (std::size_t i = 0; i < packets.size(); ++i) {
          if (i + 1 < packets.size()) now.ask_for(i + 1, packets[i + 1].payload_length);
          write_link_packet(now.route, packets[i], now.burst.pieces(packets[i]), now.block(i),
                            now.end.slot(i));
        }
      },
      &work);
  if (!done) {
    for (std::size_t i = 0; i < packets.size(); ++i) {
      if (work.blocks[i] != ring::kNoBlock) work.end.give_back(work.blocks[i]);
    }
    return kFabricEndpointBadMemory;
  }
  for (std::size_t i = 0; i < packets.size(); ++i)
    say_sender(work.end, i, qpn_, facts, work.blocks[i]);
  if (shared_->capture) record(packets.size());
  publish(*shared_, packets.size());
  return {hca::SendOutcome::kSent};
}

void FabricEndpoint::record(std::size_t packets) {
  LinkFrame frame;
  for (std::size_t i = 0; i < packets; ++i) {
    const FrameVerdict verdict = join_unsealed_packet(pieces_in(*shared_->end, i), frame);
    if (verdict != FrameVerdict::kGood) continue;  // it never is
    wire::seal_link_packet(frame.all());
    shared_->capture->record(frame.all());
  }
}

}  // namespace weft::port
