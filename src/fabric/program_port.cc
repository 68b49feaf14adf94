// SPDX-License-Identifier: Apache-2.0
#include "fabric/program_port.h"

#include <algorithm>
#include <utility>

#include "fabric/packet_view.h"

namespace weft::fabric {

ProgramPort::ProgramPort(Adapter& adapter, NodePort& port, Worker& worker, link::PacketPool& pool,
                         QueuePairTable& numbers)
    : adapter_(adapter), port_(port), worker_(worker), pool_(pool), numbers_(numbers) {
}

void ProgramPort::changed(bool reregister) {
  ++epoch_;
  changed_ = true;
  reregister_ = reregister_ || reregister;
  worker_.wake(*this);
}

void ProgramPort::remove(AttachedProgram& program) {
  programs_.erase(std::find(programs_.begin(), programs_.end(), &program));
}

void ProgramPort::leave(AttachedProgram& program, const Gid& group) {
  const auto members = groups_.find(group);
  members->second.erase(std::find(members->second.begin(), members->second.end(), &program));
  if (members->second.empty()) groups_.erase(members);
}

void ProgramPort::arrive(link::PacketPtr packet, const wire::Lrh& lrh, Qpn destination, Time now) {
  if (destination == kMulticastQpn) return arrive_multicast(std::move(packet), lrh, now);
  AttachedProgram* const program = is_multicast(lrh.dlid) ? nullptr : numbers_.owner(destination);
  if (program == nullptr || &program->port() != this) {
    return counters().add_in_turn(NodeCounter::kNoQueuePair);
  }
  program->arrive(std::move(packet), now);
}

// IBA 10.5.2: one for each program; it knows which of its queue pairs are members.
void ProgramPort::arrive_multicast(link::PacketPtr packet, const wire::Lrh& lrh, Time now) {
  const auto grh = lrh.next_header == wire::Lnh::iba_global
                       ? wire::Grh::parse(Bytes(packet->header()).subspan(wire::Lrh::kSize))
                       : std::nullopt;
  const auto members = grh ? groups_.find(grh->dgid) : groups_.end();
  if (members == groups_.end()) return counters().add_in_turn(NodeCounter::kNoQueuePair);
  for (std::size_t i = 1; i < members->second.size(); ++i) {
    link::PacketPtr copy = pool_.replicate(*packet);
    if (copy == nullptr) {
      counters().add_in_turn(NodeCounter::kNoPacket);
      continue;
    }
    counters().add_in_turn(NodeCounter::kReplicated);
    members->second[i]->arrive(std::move(copy), now);
  }
  members->second[0]->arrive(std::move(packet), now);
}

void ProgramPort::transmit(link::PacketPtr packet, const SentPacket& sent, Vl vl, Time now) {
  link::Port& link = port_.link();
  packet->arrived_at = now;
  counters().add_in_turn(NodeCounter::kSent);
  // What cannot be sent is the link's to drop and to count.
  if (link.state() != link::PortState::kActive) return link.transmit(std::move(packet), vl, now);
  if (port_.owns(sent.dlid) || adapter_.is_diverted(port_, sent.dlid)) {
    return loop_back(std::move(packet), vl, now);
  }
  if (is_multicast(sent.dlid) && sent.grh && groups_.contains(sent.grh->dgid)) {
    link::PacketPtr copy = pool_.replicate(*packet);
    counters().add_in_turn(copy == nullptr ? NodeCounter::kNoPacket : NodeCounter::kReplicated);
    if (copy != nullptr) loop_back(std::move(copy), vl, now);
  }
  link.transmit(std::move(packet), vl, now);
}

// Not on the sender's stack: two programs that answer each other would not come back from it.
void ProgramPort::loop_back(link::PacketPtr packet, Vl vl, Time) {
  if (packet->vl() != vl) packet->rewrite_vl(vl);
  counters().add_in_turn(NodeCounter::kLooped);
  looped_.push(std::move(packet));
  worker_.wake(*this);
}

void ProgramPort::run(Time now) {
  if (std::exchange(changed_, false)) {
    const bool reregister = std::exchange(reregister_, false);
    for (AttachedProgram* program : programs_)
      program->program().port_changed(reregister, now);
  }
  // What is looped by these waits for the next turn.
  for (std::size_t left = looped_.size(); left > 0; --left)
    adapter_.take_back(port_, looped_.pop(), now);
  for (AttachedProgram* program : programs_)
    program->run(now);
}

std::optional<Time> ProgramPort::deadline() const {
  std::optional<Time> first;
  for (const AttachedProgram* program : programs_) {
    const auto deadline = program->deadline();
    if (deadline && (!first || *deadline < *first)) first = deadline;
  }
  return first;
}

}  // namespace weft::fabric
