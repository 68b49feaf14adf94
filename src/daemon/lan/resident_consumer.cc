// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/resident_consumer.h"

#include <algorithm>
#include <utility>

#include "daemon/lab/attach_facts.h"
#include "wire/bth.h"
#include "wire/packet.h"

namespace weft::daemon {

Expected<std::unique_ptr<ResidentConsumer>> ResidentConsumer::open(fabric::ChannelAdapter& adapter,
                                                                   mgmt::PortNumber port,
                                                                   link::PacketPool& pool,
                                                                   FrameMemory& memory,
                                                                   Owner& owner) {
  std::unique_ptr<ResidentConsumer> consumer(
      new ResidentConsumer(adapter, port, pool, memory, owner));
  auto attachment = adapter.attach(port, *consumer);
  if (!attachment) return tl::unexpected(attachment.error());
  consumer->attachment_ = std::move(*attachment);
  consumer->read_facts();
  return consumer;
}

ResidentConsumer::ResidentConsumer(fabric::ChannelAdapter& adapter, mgmt::PortNumber port,
                                   link::PacketPool& pool, FrameMemory& memory, Owner& owner)
    : adapter_(adapter),
      port_(port),
      pool_(pool),
      memory_(memory),
      owner_(owner),
      pkeys_(std::array<PKey, hca::PKeyTable::kMost>{}) {
}

// The message that programs are sent says all that there is to know of a port.
void ResidentConsumer::read_facts() {
  facts_ = port::parse_facts(program_facts(adapter_, port_, attachment_->epoch(), 0)).value();
  pkeys_.assign(facts_.attributes.pkeys);
}

void ResidentConsumer::add(hca::QueuePair& queue_pair) {
  members_[queue_pair.qpn()].queue_pair = &queue_pair;
}

void ResidentConsumer::remove(hca::QueuePair& queue_pair) {
  if (Member* const member = members_.find(queue_pair.qpn())) std::erase(ready_, member);
  members_.erase(queue_pair.qpn());
  // It fails only for a number that is not ours.
  static_cast<void>(attachment_->release(queue_pair.qpn()));
}

Expected<void> ResidentConsumer::join(Qpn qpn, const Gid& group) {
  const auto joined = attachment_->join(qpn, group);
  if (!joined) return joined;
  std::vector<Gid>& groups = members_[qpn].groups;
  if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  return joined;
}

Expected<void> ResidentConsumer::leave(Qpn qpn, const Gid& group) {
  const auto left = attachment_->leave(qpn, group);
  if (left) std::erase(members_[qpn].groups, group);
  return left;
}

void ResidentConsumer::make_ready(Member& member) {
  if (!std::exchange(member.ready, true)) ready_.push_back(&member);
  owner_.touched();
}

void ResidentConsumer::posted(hca::QueuePair& queue_pair) {
  Member* const member = members_.find(queue_pair.qpn());
  if (member != nullptr && queue_pair.has_work()) make_ready(*member);
}

void ResidentConsumer::run(Time now) {
  look_at_deadlines(now);
  if (!drain(now)) return;
  running_.swap(ready_);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Member& member = *running_[i];
    if (std::exchange(member.received, false)) member.queue_pair->end_run(now);
    member.ready = false;
    const bool all = send_all(member, now);
    member.due = member.queue_pair->deadline();
    if (member.due && (!earliest_ || *member.due < *earliest_)) earliest_ = member.due;
    if (all) continue;
    // The rest has its turn when the port takes more.
    for (; i < running_.size(); ++i) {
      running_[i]->ready = false;  // it is in running_, which ends here
      make_ready(*running_[i]);
    }
  }
  running_.clear();
}

void ResidentConsumer::look_at_deadlines(Time now) {
  if (!earliest_ || *earliest_ > now) return;
  earliest_.reset();
  for (auto& [qpn, member] : members_) {
    if (!member.due) continue;
    if (*member.due <= now) {
      make_ready(member);
    } else if (!earliest_ || *member.due < *earliest_) {
      earliest_ = member.due;
    }
  }
}

bool ResidentConsumer::send_all(Member& member, Time now) {
  hca::QueuePair& queue_pair = *member.queue_pair;
  // The first time also for what only time has brought about.
  const bool due = member.due && *member.due <= now;
  if (!due && !queue_pair.has_work()) return true;
  while (queue_pair.next_burst(burst_, now)) {
    take_burst(queue_pair.qpn());
    queue_pair.sent(burst_, {hca::SendOutcome::kSent}, now);
    if (!drain(now)) return false;
    if (!queue_pair.has_work()) break;
  }
  return true;
}

void ResidentConsumer::take_burst(Qpn source) {
  const hca::Path& path = burst_.path;
  const auto& gids = facts_.attributes.gids;
  const bool addressed =
      facts_.is_active() && path.by_lid() && (!path.global || path.sgid_index < gids.size());
  if (!addressed) return count(ResidentCounter::kTxUnaddressed, burst_.size());
  const port::Route route = port::route_of(path, facts_);
  for (const hca::OutPacket& packet : burst_.packets()) {
    if (auto made = make_packet(route, packet)) {
      waiting_.push({source, facts_.epoch, std::move(made)});
    } else {
      count(ResidentCounter::kTxNoPacket);
    }
  }
}

link::PacketPtr ResidentConsumer::make_packet(const port::Route& route,
                                              const hca::OutPacket& packet) {
  std::array<std::byte, link::Packet::kMaxHeader> header;
  std::size_t size = port::write_link_headers(route, packet, header);
  const std::array<std::byte, link::Packet::kMaxTrailer> zeros{};
  const Bytes trailer = Bytes(zeros).first(packet.pad + wire::kIcrcSize + wire::kVcrcSize);
  auto pieces = burst_.pieces(packet);
  // Short pieces lie before the one that is referred to, as long as there is room.
  while (!pieces.empty() && pieces.front().size() <= header.size() - size) {
    std::copy(pieces.front().begin(), pieces.front().end(), header.data() + size);
    size += pieces.front().size();
    pieces = pieces.subspan(1);
  }
  link::PacketPtr made;
  BufferRef owner = pieces.size() == 1 ? memory_.share(pieces.front()) : BufferRef{};
  if (pieces.empty() || owner) {
    const Bytes payload = pieces.empty() ? Bytes{} : pieces.front();
    made = pool_.refer(Bytes(header).first(size), payload, std::move(owner), trailer);
  } else {
    std::array<std::byte, port::kLongestLinkPacket> whole;
    std::byte* at = std::copy_n(header.data(), size, whole.data());
    for (const Bytes piece : pieces)
      at = std::copy(piece.begin(), piece.end(), at);
    at = std::copy(trailer.begin(), trailer.end(), at);
    made = pool_.copy(Bytes(whole).first(static_cast<std::size_t>(at - whole.data())));
    count(ResidentCounter::kTxCopied);
  }
  if (made != nullptr) made->sealed = false;
  return made;
}

bool ResidentConsumer::drain(Time now) {
  while (!waiting_.empty() && !blocked_) {
    Waiting& next = waiting_.front();
    switch (attachment_->send(next.packet, next.source, next.epoch, now)) {
      case fabric::Sent::kNotNow:
        blocked_ = true;
        return false;
      case fabric::Sent::kTaken:
        count(ResidentCounter::kTxPackets);
        break;
      case fabric::Sent::kForged:
        count(ResidentCounter::kTxRefused);
    }
    waiting_.pop_front();
  }
  return !blocked_;
}

void ResidentConsumer::may_send(Time) {
  blocked_ = false;
  owner_.touched();
}

void ResidentConsumer::port_changed(bool reregister, Time) {
  read_facts();
  owner_.port_changed(reregister);
}

void ResidentConsumer::deliver(link::PacketPtr& packet, Time now) {
  const link::PacketPtr taken = std::move(packet);
  count(ResidentCounter::kRxPackets);
  const port::LinkPieces pieces{taken->header(), taken->payload(), taken->trailer()};
  port::GrhArea grh;
  const std::uint8_t lmc = facts_.attributes.lmc;
  if (!taken->sealed) {
    if (const auto in_place = port::datagram_in_place(pieces, lmc, frame_, grh)) {
      return hand_on(*in_place, now);
    }
  }
  switch (taken->sealed ? port::join_link_packet(pieces, frame_)
                        : port::join_unsealed_packet(pieces, frame_)) {
    case port::FrameVerdict::kMalformed:
      return count(ResidentCounter::kRxMalformed);
    case port::FrameVerdict::kBadIcrc:
      return count(ResidentCounter::kRxBadIcrc);
    case port::FrameVerdict::kGood:
      return hand_on(port::link_datagram(frame_.all(), lmc, grh), now);
  }
}

void ResidentConsumer::hand_on(const hca::InDatagram& datagram, Time now) {
  const auto give = [&](Member& member) {
    member.received = true;
    member.queue_pair->receive(datagram, now);
    make_ready(member);
  };
  const auto bth = wire::Bth::parse(datagram.transport);
  if (!bth) return count(ResidentCounter::kRxMalformed);
  if (bth->dest_qp != kMulticastQpn) {
    Member* const member = members_.find(bth->dest_qp);
    if (member == nullptr) return count(ResidentCounter::kRxNoQueuePair);
    return give(*member);
  }
  bool given = false;
  for (auto& [qpn, member] : members_) {
    if (std::ranges::find(member.groups, datagram.destination) == member.groups.end()) continue;
    give(member);
    given = true;
  }
  // It left on its way here.
  if (!given) count(ResidentCounter::kRxNoQueuePair);
}

}  // namespace weft::daemon
