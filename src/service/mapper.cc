// SPDX-License-Identifier: Apache-2.0
#include "service/mapper.h"

#include <algorithm>
#include <array>

#include "wire/endian.h"

namespace weft::service {
namespace {

using wire::CmMessage;
using State = CmConnection::State;

// Where fields stand in the bodies of messages (wire/cm_connect.h and its neighbours).
constexpr std::size_t kReqQKey = 28;
constexpr std::size_t kReqQpn = 32;
constexpr std::size_t kRepQKey = 8;
constexpr std::size_t kRepQpn = 12;
constexpr std::size_t kDreqQpn = 8;
constexpr std::size_t kLapQpn = 12;
constexpr std::size_t kSidrQpn = 8;
constexpr std::size_t kSidrQKey = 20;

std::size_t body_at(const Fields& fields) {
  return fields.payload_at + wire::MadHeader::kSize;
}

void write_qpn(wire::LinkPatch& patch, std::size_t at, Qpn qpn) {
  std::array<std::byte, 3> bytes;
  wire::store_be24(bytes.data(), qpn.value());
  patch.write(at, bytes);
}

void write_qkey(wire::LinkPatch& patch, std::size_t at, QKey qkey) {
  std::array<std::byte, 4> bytes;
  wire::store_be32(bytes.data(), qkey.value());
  patch.write(at, bytes);
}

// In a link-layer address of IPoIB (RFC 4391, 9.1.1), and in the checksum over it, if there is one
// (RFC 1624, equation 3). It stands at an even place from where that begins to count.
void write_address(wire::LinkPatch& patch, std::size_t at, std::size_t checksum_at, Qpn qpn) {
  constexpr std::size_t kWords = 4;  // one byte of flags, and the number
  const auto sum = [&] {
    const std::byte* const words = patch.packet().data() + at;
    return std::uint32_t{wire::load_be16(words)} + wire::load_be16(words + kWords / 2);
  };
  const std::uint32_t before = sum();
  write_qpn(patch, at + 1, qpn);
  if (checksum_at == 0) return;
  const std::uint32_t old = wire::load_be16(patch.packet().data() + checksum_at);
  std::uint32_t total = (~old & 0xFFFF) + (0x1'FFFE - before) + sum();
  while (total > 0xFFFF)
    total = (total & 0xFFFF) + (total >> 16);
  std::array<std::byte, 2> bytes;
  wire::store_be16(bytes.data(), static_cast<std::uint16_t>(~total));
  patch.write(checksum_at, bytes);
}

Gid peer_of(const Fields& fields, const Ends& ends) {
  return fields.multicast() ? Gid{} : ends.to;
}

bool is_of(const MappedQp& entry, const Ends& ends) {
  return entry.owner == ends.to && (entry.peer == Gid{} || entry.peer == ends.from);
}

}  // namespace

MapResult Mapper::undo_message(const Fields& fields, const Ends& ends, wire::LinkPatch& patch) {
  const bool dreq = fields.cm.message == CmMessage::kDreq;
  if (!dreq && fields.cm.message != CmMessage::kLap) return MapResult::kDone;
  const MappedQp* const entry = qps_.find(fields.cm.remote_qp);
  if (entry == nullptr) return MapResult::kNoMapping;
  if (!is_of(*entry, ends)) return MapResult::kForeign;
  write_qpn(patch, body_at(fields) + (dreq ? kDreqQpn : kLapQpn), entry->real);
  return MapResult::kDone;
}

// In ARP the receiver's own address, as its sender was told it. What is sent to a group names
// nobody who could be told so.
MapResult Mapper::undo_address(const Fields& fields, const Ends& ends, wire::LinkPatch& patch) {
  const ArpFields& arp = fields.arp;
  const bool is_arp = arp.target_at != 0 && fields.ip.version == 0;
  if (!is_arp || fields.problem != Problem::kNone || arp.target_gid != ends.to) {
    return MapResult::kDone;
  }
  const MappedQp* const entry = qps_.find(arp.target_qp);
  if (entry == nullptr) return MapResult::kNoMapping;
  if (!is_of(*entry, ends)) return MapResult::kForeign;
  write_address(patch, arp.target_at, 0, entry->real);
  return MapResult::kDone;
}

MapResult Mapper::undo(const Fields& fields, const Ends& ends, Time now, wire::LinkPatch& patch,
                       Rewrite& rewrite, Undone& undone) {
  if (fields.transport_at == 0) return MapResult::kDone;  // raw: there are no queue pairs
  if (fields.dest_qp.value() <= kQp1.value()) {
    return fields.cm.present ? undo_message(fields, ends, patch) : MapResult::kDone;
  }
  if (fields.multicast()) return MapResult::kDone;
  MappedQp* const entry = qps_.find(fields.dest_qp);
  if (entry == nullptr) return MapResult::kNoMapping;
  if (!is_of(*entry, ends)) return MapResult::kForeign;
  entry->used = now;
  undone.mapped = true;
  undone.number = entry->number;
  rewrite.has |= Rewrite::kDestQp;
  rewrite.dest_qp = entry->real;
  patch.set_dest_qp(entry->real);
  if (const MapResult result = undo_address(fields, ends, patch); result != MapResult::kDone) {
    return result;
  }
  if (!fields.has_source_qp || !entry->has_qkey) return MapResult::kDone;
  if (fields.qkey != entry->shown_qkey) return MapResult::kBadQKey;
  undone.has_qkey = true;
  undone.shown = entry->shown_qkey;
  undone.real = entry->real_qkey;
  rewrite.has |= Rewrite::kQKey;
  rewrite.qkey = entry->real_qkey;
  patch.set_qkey(entry->real_qkey);
  return MapResult::kDone;
}

MapResult Mapper::hide(const Fields& fields, const Ends& ends, const Undone& undone, Time now,
                       wire::LinkPatch& patch, Rewrite& rewrite) {
  if (fields.cm.present && fields.dest_qp == kQp1) {
    return hide_message(fields, ends, now, patch);
  }
  if (!fields.has_source_qp || fields.source_qp.value() <= kQp1.value()) return MapResult::kDone;
  MappedQp* const entry = qps_.show(ends.from, fields.source_qp, peer_of(fields, ends), now);
  if (entry == nullptr) return MapResult::kFull;
  entry->datagram = true;
  if (undone.has_qkey && !entry->has_qkey) {
    // Both ends of an exchange of datagrams use one Q_Key: the one answers with what the other sent
    // to it, so what was put in on the way there is taken out on the way back.
    entry->has_qkey = true;
    entry->real_qkey = undone.shown;
    entry->shown_qkey = undone.real;
    qps_.note_news(entry->number);
  }
  qps_.establish(entry->number);
  rewrite.has |= Rewrite::kSourceQp;
  rewrite.source_qp = entry->number;
  patch.set_source_qp(entry->number);
  return hide_addresses(fields, ends, now, patch);
}

// Its own addresses, as its receiver may use them. It tells no others: whoever believed it would
// send to a number that is nobody's.
MapResult Mapper::hide_addresses(const Fields& fields, const Ends& ends, Time now,
                                 wire::LinkPatch& patch) {
  const ArpFields& arp = fields.arp;
  if (arp.operation == 0 || fields.problem != Problem::kNone) return MapResult::kDone;
  const auto hide_one = [&](std::size_t at, Qpn qpn, const Gid& gid) {
    if (at == 0 || (gid.is_zero() && qpn == Qpn{})) return MapResult::kDone;
    const bool can_be = qpn.value() > kQp1.value() && qpn != kMulticastQpn;
    if (gid != ends.from || !can_be) return MapResult::kForeign;
    MappedQp* const entry = qps_.show(ends.from, qpn, peer_of(fields, ends), now);
    if (entry == nullptr) return MapResult::kFull;
    entry->datagram = true;
    qps_.establish(entry->number);
    write_address(patch, at, arp.checksum_at, entry->number);
    return MapResult::kDone;
  };
  const MapResult sender = hide_one(arp.sender_at, arp.sender_qp, arp.sender_gid);
  if (sender != MapResult::kDone) return sender;
  // In ARP the target's is the receiver's, or means nothing; but a host may tell its own one there.
  const bool own = fields.ip.version != 0 || arp.target_gid == ends.from;
  return own ? hide_one(arp.target_at, arp.target_qp, arp.target_gid) : MapResult::kDone;
}

MapResult Mapper::hide_message(const Fields& fields, const Ends& ends, Time now,
                               wire::LinkPatch& patch) {
  switch (fields.cm.message) {
    case CmMessage::kReq:
      return hide_request(fields, ends, now, patch);
    case CmMessage::kSidrReq: {
      const auto* const exchange =
          connections_.request(ends.from, fields.cm.local_comm_id, ends.to, true, now);
      return exchange == nullptr ? MapResult::kFull : MapResult::kDone;
    }
    case CmMessage::kRep:
      return hide_reply(fields, ends, now, patch);
    case CmMessage::kSidrRep:
      return hide_resolved(fields, ends, now, patch);
    default:
      return follow(fields, ends, now);
  }
}

MapResult Mapper::hide_request(const Fields& fields, const Ends& ends, Time now,
                               wire::LinkPatch& patch) {
  CmConnection* const connection =
      connections_.request(ends.from, fields.cm.local_comm_id, ends.to, false, now);
  if (connection == nullptr) return MapResult::kFull;
  const MappedQp* const entry = qps_.show(ends.from, fields.cm.local_qp, ends.to, now);
  if (entry == nullptr) return MapResult::kFull;
  connection->requester_number = entry->number;
  write_qpn(patch, body_at(fields) + kReqQpn, entry->number);
  // Of a reliable datagram's queue pair; of a connection it is 0, and says nothing.
  if (fields.cm.qkey != QKey{}) write_qkey(patch, body_at(fields) + kReqQKey, qps_.draw_qkey());
  return MapResult::kDone;
}

MapResult Mapper::hide_reply(const Fields& fields, const Ends& ends, Time now,
                             wire::LinkPatch& patch) {
  const CmFields& cm = fields.cm;
  CmConnection* const connection =
      connections_.find(ends.from, cm.local_comm_id, ends.to, cm.remote_comm_id);
  if (connection == nullptr || connection->responder != ends.from) {
    return MapResult::kUnknownConnection;
  }
  const MappedQp* const entry = qps_.show(ends.from, cm.local_qp, ends.to, now);
  if (entry == nullptr) return MapResult::kFull;
  connection->responder_id = cm.local_comm_id;
  connection->responder_number = entry->number;
  connections_.answered(*connection);
  write_qpn(patch, body_at(fields) + kRepQpn, entry->number);
  if (cm.qkey != QKey{}) write_qkey(patch, body_at(fields) + kRepQKey, qps_.draw_qkey());
  qps_.establish(connection->requester_number);
  qps_.establish(entry->number);
  news_.push_back(*connection);
  return MapResult::kDone;
}

MapResult Mapper::hide_resolved(const Fields& fields, const Ends& ends, Time now,
                                wire::LinkPatch& patch) {
  const CmFields& cm = fields.cm;
  if (connections_.find_sidr(ends.from, ends.to, cm.local_comm_id) == nullptr) {
    return MapResult::kUnknownConnection;
  }
  if (cm.reason != static_cast<std::uint16_t>(wire::SidrStatus::kValid)) return MapResult::kDone;
  MappedQp* const entry = qps_.show(ends.from, cm.local_qp, ends.to, now);
  if (entry == nullptr) return MapResult::kFull;
  entry->datagram = true;
  if (!entry->has_qkey) entry->shown_qkey = qps_.draw_qkey();
  entry->has_qkey = true;
  entry->real_qkey = cm.qkey;
  qps_.note_news(entry->number);
  qps_.establish(entry->number);
  write_qpn(patch, body_at(fields) + kSidrQpn, entry->number);
  write_qkey(patch, body_at(fields) + kSidrQKey, entry->shown_qkey);
  return MapResult::kDone;
}

// Messages that say nothing of their sender's queue pair.
MapResult Mapper::follow(const Fields& fields, const Ends& ends, Time now) {
  const CmFields& cm = fields.cm;
  CmConnection* const connection =
      connections_.find(ends.from, cm.local_comm_id, ends.to, cm.remote_comm_id);
  if (connection == nullptr) return MapResult::kUnknownConnection;
  switch (cm.message) {
    case CmMessage::kRtu:
      if (connection->state == State::kReplied) connection->state = State::kEstablished;
      break;
    case CmMessage::kRej:
      close_numbers(*connection, now);
      connections_.close(*connection, now + options_.queue_pairs.time_wait);
      break;
    case CmMessage::kDreq:
      // Its answer may be lost, and whoever gave it may have gone.
      connections_.close(*connection, now + options_.connections.patience);
      break;
    case CmMessage::kDrep:
      close_numbers(*connection, now);
      connections_.close(*connection, now + options_.queue_pairs.time_wait);
      break;
    default:
      return MapResult::kDone;
  }
  news_.push_back(*connection);
  return MapResult::kDone;
}

void Mapper::close_numbers(const CmConnection& connection, Time now) {
  qps_.close(connection.requester_number, now);
  qps_.close(connection.responder_number, now);
}

std::vector<MapRecord> Mapper::take_news() {
  std::vector<MapRecord> out;
  for (const Qpn number : qps_.take_news()) {
    const MappedQp* const entry = qps_.find(number);
    // Of one that is gone its number says all; the other must be one that can be.
    out.push_back(entry != nullptr
                      ? MapRecord{.of = *entry}
                      : MapRecord{.gone = true, .of = MappedQp{.number = number, .real = number}});
  }
  for (const CmConnection& connection : news_)
    out.push_back({.of = connection});
  news_.clear();
  return out;
}

void Mapper::snapshot(Service::RecordSink& sink) const {
  // What closes is gone in a moment, and its queue pair may be of another connection already.
  qps_.for_each([&sink](const MappedQp& entry) {
    if (!entry.closing) sink.take(MapRecord{.of = entry}.bytes());
  });
  connections_.for_each([&sink](const CmConnection& connection) {
    if (connection.state == State::kRequested || connection.state == State::kSidr) return;
    sink.take(MapRecord{.of = connection}.bytes());
  });
}

bool Mapper::apply(Bytes record, Time now) {
  auto read = MapRecord::parse(record);
  if (!read) return false;
  bool done = true;
  if (auto* const entry = std::get_if<MappedQp>(&read->of)) {
    entry->used = now;
    if (read->gone) {
      qps_.forget_number(entry->number);
    } else {
      done = qps_.restore(*entry, now);
    }
  } else {
    const auto& connection = std::get<CmConnection>(read->of);
    done = connections_.restore(connection, now + options_.queue_pairs.time_wait);
    if (done && connection.state == State::kClosing) close_numbers(connection, now);
  }
  // Whoever said it knows.
  static_cast<void>(qps_.take_news());
  return done;
}

void Mapper::run(Time now) {
  connections_.run(now, [this, now](const CmConnection& gone) { close_numbers(gone, now); });
  qps_.run(now);
}

std::optional<Time> Mapper::deadline() const {
  const auto one = connections_.deadline();
  const auto other = qps_.deadline();
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

}  // namespace weft::service
