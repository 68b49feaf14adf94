// SPDX-License-Identifier: Apache-2.0
// What a connected queue pair does with a packet before one of its halves has it.
#include <cassert>

#include "hca/connected_queue_pair.h"
#include "hca/partition.h"
#include "wire/ip.h"
#include "wire/riding_ack.h"

namespace weft::hca {
namespace {

// By a router, in the IP header, or by a switch of InfiniBand.
bool marked(const InDatagram& datagram, const wire::Bth& bth) {
  return (datagram.traffic_class & wire::kEcnBits) == wire::kCongestionExperienced || bth.fecn;
}

// Whether the peer could send less of what this packet is of: requests, and what was read. Marks of
// acknowledgements say nothing that they who caused them can act upon, and a notification is never
// answered with another one.
bool carries_data(const wire::OpcodeInfo& info) {
  return info.operation != wire::Operation::congestion &&
         (!info.is_response || info.operation == wire::Operation::read_response);
}

// Whether a packet has come from the end that `path` leads to (IBA 9.6.1). On a fabric that is to
// be seen in the LIDs, and in the GIDs where packets have them; a GRH too many or too few counts.
bool comes_by(const InDatagram& datagram, const Path& path) {
  if (!path.by_lid()) return datagram.source == path.dgid;
  if (datagram.slid != path.dlid || datagram.path_bits != path.source_path_bits) return false;
  if (datagram.global != path.global) return false;
  return !path.global || (datagram.source == path.dgid && datagram.destination == path.sgid);
}

}  // namespace

// The checks of IBA 9.6.1 in the order in which their counters are documented.
void ConnectedQueuePair::receive(const InDatagram& datagram, Time now) {
  see(now);
  const auto drop = [this](ConnectedCounter reason) { connection_.counters.add_in_turn(reason); };
  ByteCursor cursor(datagram.transport);
  const auto bth_bytes = cursor.take(wire::Bth::kSize);
  if (!bth_bytes || datagram.transport.size() % 4 != 0) return drop(ConnectedCounter::kRxMalformed);
  const wire::Bth bth = *wire::Bth::parse(*bth_bytes);
  const wire::OpcodeInfo& info = wire::info(bth.opcode);
  const auto extended = cursor.take(info.headers_size);
  if (!extended) return drop(ConnectedCounter::kRxMalformed);
  const auto in_packet = datagram.payload(cursor.rest(), bth.pad_count);
  if (!in_packet) return drop(ConnectedCounter::kRxMalformed);
  const Bytes payload = *in_packet;
  if (!payload.empty() && !info.has_payload) return drop(ConnectedCounter::kRxMalformed);

  if (bth.transport_version != 0) return drop(ConnectedCounter::kRxBadVersion);
  if (!takes(info, bth.opcode)) return drop(ConnectedCounter::kRxBadOpcode);
  if (const auto reason = check_address(datagram, bth)) return drop(*reason);
  if (info.is_response && !requests()) return drop(ConnectedCounter::kRxWrongState);

  watch_.heard(now_);
  if (marked(datagram, bth)) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxEcnMarked);
    if (carries_data(info)) responder_.congestion_experienced(now_);
  }
  if (bth.opcode == wire::Opcode::weft_piece) return join_piece(datagram, bth, payload);
  connection_.counters.add_in_turn(ConnectedCounter::kRxPackets);
  connection_.counters.add_in_turn(ConnectedCounter::kRxBytes, payload.size());
  // The MigReq of a CNP means nothing (annex A17 has its BTH filled in apart from that of
  // requests).
  if (bth.opcode != wire::Opcode::cnp) note_migration(datagram, bth);
  const InPacket packet{.opcode = bth.opcode,
                        .info = &info,
                        .psn = bth.psn,
                        .ack_request = bth.ack_request,
                        .solicited = bth.solicited,
                        .congestion = info.is_response && bth.becn,
                        .pad = bth.pad_count,
                        .extended = *extended,
                        .payload = payload};
  if (info.has(wire::kRidingAck)) {
    dispatch_two(packet);
  } else {
    dispatch(packet);
  }
  settle();
}

// As if two packets had come, the acknowledgement and the message that it rides with: an adapter
// acknowledges before its program can answer, and programs that wait for events rely on the order.
void ConnectedQueuePair::dispatch_two(const InPacket& packet) {
  const std::size_t own = packet.extended.size() - wire::RidingAck::kSize;
  const Bytes riding = packet.extended.subspan(own);
  if (requests()) {
    dispatch({.opcode = wire::Opcode::rc_acknowledge,
              .info = &wire::info(wire::Opcode::rc_acknowledge),
              .psn = wire::RidingAck::parse(riding)->psn,
              .extended = riding.first(wire::Aeth::kSize)});
  }
  InPacket message = packet;
  message.opcode = *wire::without_riding_ack(packet.opcode);
  message.info = &wire::info(message.opcode);
  message.extended = packet.extended.first(own);
  dispatch(message);
}

// The whole packet is looked at as if it had come so. What is joined is no piece again.
void ConnectedQueuePair::join_piece(const InDatagram& datagram, const wire::Bth& bth, Bytes piece) {
  using Verdict = PacketJoiner::Verdict;
  connection_.counters.add_in_turn(ConnectedCounter::kRxPieces);
  const Verdict verdict = joiner_.add(bth.psn, piece);
  if (verdict == Verdict::kIncomplete) return;
  const auto nested = [this] {
    return joiner_.whole().front() == static_cast<std::byte>(wire::Opcode::weft_piece);
  };
  if (verdict == Verdict::kMalformed || nested()) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxMalformed);
    return;
  }
  InDatagram whole = datagram;
  whole.transport = joiner_.whole();
  receive(whole, now_);
}

// Whether a packet of this opcode may come to a queue pair of this kind at all.
bool ConnectedQueuePair::takes(const wire::OpcodeInfo& info, wire::Opcode opcode) const {
  using wire::Transport;
  if (opcode == wire::Opcode::cnp) return true;
  if (opcode == wire::Opcode::weft_piece) return is_reliable(type());
  if (opcode == wire::Opcode::weft_rc_acknowledge) {
    return is_reliable(type()) && type() != QpType::kXrcTarget;
  }
  if (!info.known()) return false;
  switch (type()) {
    case QpType::kRc:
      return info.transport == Transport::rc || opcode == wire::Opcode::weft_rc_write_middle ||
             opcode == wire::Opcode::weft_rc_write_last || info.has(wire::kRidingAck);
    case QpType::kUc:
      return info.transport == Transport::uc || opcode == wire::Opcode::weft_uc_credit;
    case QpType::kXrcInitiator:
      return info.transport == Transport::xrc && info.is_response;
    case QpType::kXrcTarget:
      return info.transport == Transport::xrc && !info.is_response;
    case QpType::kUd:
    case QpType::kRaw:
      break;
  }
  return false;
}

// Why this queue pair is not to have a packet that is addressed so; nothing when it is.
std::optional<ConnectedCounter> ConnectedQueuePair::check_address(const InDatagram& datagram,
                                                                  const wire::Bth& bth) const {
  if (bth.dest_qp != qpn() || datagram.multicast) return ConnectedCounter::kRxBadDestination;
  if (!responds()) return ConnectedCounter::kRxWrongState;
  // The peer that has migrated comes by its alternate path (IBA 17.2.8.1.3).
  const bool migrating = migrates(datagram, bth);
  if (!same_partition(bth.pkey, connection_.pkey()) &&
      !(migrating &&
        same_partition(bth.pkey, connection_.pkey_at(connection_.alternate_pkey_index)))) {
    if (PKeyTable* const table = connection_.config.pkeys) table->note_violation();
    return ConnectedCounter::kRxBadPKey;
  }
  if (!comes_by(datagram, connection_.path) && !migrating) return ConnectedCounter::kRxBadSource;
  return std::nullopt;
}

bool ConnectedQueuePair::migrates(const InDatagram& datagram, const wire::Bth& bth) const {
  return bth.migrated && connection_.migration == PathMigration::kArmed &&
         comes_by(datagram, connection_.alternate_path);
}

// IBA 17.2.8.1: MigReq tells the peer's state. It is clear while the peer is ready to migrate, and
// set again once it has.
void ConnectedQueuePair::note_migration(const InDatagram& datagram, const wire::Bth& bth) {
  if (connection_.migration == PathMigration::kRearm && !bth.migrated) {
    connection_.migration = PathMigration::kArmed;
  } else if (migrates(datagram, bth)) {
    connection_.migrate();
  }
}

void ConnectedQueuePair::dispatch(const InPacket& packet) {
  if (packet.opcode == wire::Opcode::cnp) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxCnps);
    if (requests()) requester_.congested(now_);
    return;
  }
  if (state_ == QpState::kRtr && !established_) {
    established_ = true;
    events_ |= kEventCommunicationEstablished;
  }
  if (packet.info->is_response) {
    requester_.receive(packet, now_);
  } else {
    responder_.receive(packet, now_);
  }
}

void ConnectedQueuePair::end_run(Time now) {
  see(now);
  requester_.end_run();
  responder_.end_run(now_);
}

bool ConnectedQueuePair::end_run_later(Time now) {
  end_run(now);
  return events_ == 0 && (only_acks_due() || !has_work());
}

}  // namespace weft::hca
