// SPDX-License-Identifier: Apache-2.0
#include "port/ring/raw_endpoint.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "port/ring/filled_slots.h"
#include "port/ring/raw_frame.h"

namespace weft::port {
namespace {

constexpr hca::SendResult kRawEndpointBadMemory{hca::SendOutcome::kRefused,
                                                hca::CompletionStatus::kLocalProtectionError};
constexpr hca::SendResult kNoPacket{hca::SendOutcome::kRefused,
                                    hca::CompletionStatus::kLocalLengthError};
// IBA 7.7.8: headers and ICRC of the longest packet, and its VCRC.
constexpr std::size_t kAroundMtu = 124 + 2;

Expected<void> in_no_group() {
  return fail(std::errc::invalid_argument,
              "a raw queue pair gets what its flows say, and is in no multicast group");
}

}  // namespace

Expected<std::unique_ptr<RawEndpoint>> RawEndpoint::open(std::shared_ptr<FabricShared> shared,
                                                         std::shared_ptr<Inlet> inlet) {
  const auto qpn = shared->attachment->allocate();
  if (!qpn) return tl::unexpected(qpn.error());
  std::unique_ptr<RawEndpoint> out(new RawEndpoint(std::move(shared), std::move(inlet), *qpn));
  if (auto made = out->shared_->attachment->make_raw(*qpn); !made) {
    return tl::unexpected(made.error());
  }
  return out;
}

RawEndpoint::~RawEndpoint() {
  // Fails only where the daemon has gone, and the number with it.
  static_cast<void>(shared_->attachment->release(qpn_));
}

Expected<void> RawEndpoint::move_to(std::uint8_t port) {
  if (!rules_.empty()) {
    return fail(std::errc::device_or_resource_busy,
                "a raw queue pair that has flows stays on their port");
  }
  if (auto moved = shared_->attachment->move(qpn_, port); !moved) return moved;
  if (auto made = shared_->attachment->make_raw(qpn_); !made) return made;
  const std::lock_guard guard(shared_->sending);
  port_ = port;
  return {};
}

Expected<void> RawEndpoint::attach(const Gid&) {
  return in_no_group();
}

Expected<void> RawEndpoint::detach(const Gid&) {
  return in_no_group();
}

Expected<void> RawEndpoint::divert(const hca::RawRule& rule) {
  if (std::find(rules_.begin(), rules_.end(), rule) != rules_.end()) {
    return fail(std::errc::file_exists, "this queue pair has such a flow already");
  }
  auto diverted = shared_->attachment->divert(qpn_, rule);
  if (diverted) rules_.push_back(rule);
  return diverted;
}

Expected<void> RawEndpoint::restore(const hca::RawRule& rule) {
  auto restored = shared_->attachment->restore(qpn_, rule);
  if (restored) std::erase(rules_, rule);
  return restored;
}

hca::SendResult RawEndpoint::send(const hca::Burst& burst) {
  using enum hca::SendOutcome;
  if (shared_->gone.load(std::memory_order_relaxed) || shared_->end->is_broken()) {
    shared_->counters.add(RingCounter::kTxGone, burst.size());
    return {kRefused};
  }
  const std::lock_guard guard(shared_->sending);
  const PortFacts& facts = *shared_->facts[port_];
  if (!facts.is_active()) {
    shared_->counters.add_in_turn(RingCounter::kTxInactive, burst.size());
    return {kSent};
  }
  // The first packet of a burst is its longest.
  if (burst.packets().front().payload_length > facts.neighbor_mtu + kAroundMtu) {
    shared_->counters.add_in_turn(RingCounter::kTxTooLong, burst.size());
    return {kSent};
  }
  return hand_over(burst, facts);
}

hca::SendResult RawEndpoint::hand_over(const hca::Burst& burst, const PortFacts& facts) {
  struct Work {
    ProgramEnd& end;
    const hca::Burst& burst;
    std::array<std::uint32_t, hca::Burst::kMaxPackets> blocks;
    std::size_t good = 0;  // so many, from the first on

    [[nodiscard]] bool write(std::size_t i) const {
      const hca::OutPacket& packet = burst.packets()[i];
      const MutableBytes block =
          blocks[i] == ring::kNoBlock ? MutableBytes{} : end.block(blocks[i]);
      return write_raw_packet(burst.pieces(packet), *burst.raw, block, end.slot(i));
    }
  } work{*shared_->end, burst, {}};
  const auto packets = burst.packets();
  const auto apart = static_cast<std::size_t>(std::count_if(
      packets.begin(), packets.end(),
      [](const hca::OutPacket& packet) { return needs_block(packet.payload_length); }));
  if (!work.end.has_room(packets.size(), apart)) {
    shared_->counters.add_in_turn(RingCounter::kTxBlocked);
    return {hca::SendOutcome::kWouldBlock};
  }
  for (std::size_t i = 0; i < packets.size(); ++i) {
    work.blocks[i] =
        needs_block(packets[i].payload_length) ? work.end.take_block() : ring::kNoBlock;
  }
  const bool readable = shared_->guard(
      [](void* argument) {
        Work& now = *static_cast<Work*>(argument);
        while (now.good < now.burst.size() && now.write(now.good))
          ++now.good;
      },
      &work);
  const bool all_good = readable && work.good == packets.size();
  for (std::size_t i = 0; i < packets.size(); ++i) {
    // A block that turned out not to be needed goes back, too.
    const bool needed = all_good && work.end.slot(i).payload_size != 0;
    if (work.blocks[i] != ring::kNoBlock && !needed) {
      work.end.give_back(work.blocks[i]);
      work.blocks[i] = ring::kNoBlock;
    }
    say_sender(work.end, i, qpn_, facts, work.blocks[i]);
  }
  if (!readable) return kRawEndpointBadMemory;
  if (!all_good) return kNoPacket;
  if (shared_->capture) record(packets.size());
  publish(*shared_, packets.size());
  return {hca::SendOutcome::kSent};
}

void RawEndpoint::record(std::size_t packets) {
  ProgramEnd& end = *shared_->end;
  LinkFrame frame;
  for (std::size_t i = 0; i < packets; ++i) {
    const bool sealed = end.slot(i).unsealed == 0;
    if (copy_raw_packet(pieces_in(end, i), sealed, frame)) shared_->capture->record(frame.all());
  }
}

}  // namespace weft::port
