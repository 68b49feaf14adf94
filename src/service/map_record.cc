// SPDX-License-Identifier: Apache-2.0
#include "service/map_record.h"

#include <cassert>

#include "wire/endian.h"
#include "wire/grh.h"

namespace weft::service {
namespace {

constexpr std::uint8_t kQueuePair = 1;
constexpr std::uint8_t kQueuePairGone = 2;
constexpr std::uint8_t kConnection = 3;

constexpr std::uint8_t kHasQKey = 1;
constexpr std::uint8_t kEstablished = 2;
constexpr std::uint8_t kDatagram = 4;

bool is_number(Qpn qpn) {
  return qpn.value() > kQp1.value() && qpn != kMulticastQpn;
}

MappedQp read_queue_pair(const std::byte* at) {
  const std::uint8_t flags = wire::load_u8(at + 1);
  return {.number = Qpn{wire::load_be24(at + 4)},
          .owner = wire::load_gid(at + 32),
          .real = Qpn{wire::load_be24(at + 8)},
          .peer = wire::load_gid(at + 48),
          .has_qkey = (flags & kHasQKey) != 0,
          .real_qkey = QKey{wire::load_be32(at + 12)},
          .shown_qkey = QKey{wire::load_be32(at + 16)},
          .established = (flags & kEstablished) != 0,
          .datagram = (flags & kDatagram) != 0};
}

CmConnection read_connection(const std::byte* at) {
  return {.requester = wire::load_gid(at + 32),
          .responder = wire::load_gid(at + 48),
          .requester_id = wire::CommId{wire::load_be32(at + 12)},
          .responder_id = wire::CommId{wire::load_be32(at + 16)},
          .state = static_cast<CmConnection::State>(wire::load_u8(at + 1)),
          .requester_number = Qpn{wire::load_be24(at + 4)},
          .responder_number = Qpn{wire::load_be24(at + 8)}};
}

void write_fields(const MappedQp& entry, std::byte* at) {
  wire::store_u8(at + 1, static_cast<std::uint8_t>((entry.has_qkey ? kHasQKey : 0) |
                                                   (entry.established ? kEstablished : 0) |
                                                   (entry.datagram ? kDatagram : 0)));
  wire::store_be24(at + 4, entry.number.value());
  wire::store_be24(at + 8, entry.real.value());
  wire::store_be32(at + 12, entry.real_qkey.value());
  wire::store_be32(at + 16, entry.shown_qkey.value());
  wire::store_gid(at + 32, entry.owner);
  wire::store_gid(at + 48, entry.peer);
}

void write_fields(const CmConnection& connection, std::byte* at) {
  wire::store_u8(at + 1, static_cast<std::uint8_t>(connection.state));
  wire::store_be24(at + 4, connection.requester_number.value());
  wire::store_be24(at + 8, connection.responder_number.value());
  wire::store_be32(at + 12, connection.requester_id.value());
  wire::store_be32(at + 16, connection.responder_id.value());
  wire::store_gid(at + 32, connection.requester);
  wire::store_gid(at + 48, connection.responder);
}

}  // namespace

std::optional<MapRecord> MapRecord::parse(Bytes bytes) {
  if (bytes.size() != kSize) return std::nullopt;
  const std::byte* const at = bytes.data();
  const std::uint8_t what = wire::load_u8(at);
  if (what == kQueuePair || what == kQueuePairGone) {
    const MappedQp entry = read_queue_pair(at);
    if (!is_number(entry.number) || !is_number(entry.real)) return std::nullopt;
    return MapRecord{.gone = what != kQueuePair, .of = entry};
  }
  if (what != kConnection) return std::nullopt;
  const CmConnection connection = read_connection(at);
  if (connection.state > CmConnection::State::kSidr) return std::nullopt;
  return MapRecord{.of = connection};
}

std::array<std::byte, MapRecord::kSize> MapRecord::bytes() const {
  std::array<std::byte, kSize> out{};
  const bool queue_pair = std::holds_alternative<MappedQp>(of);
  assert(queue_pair || !gone);
  wire::store_u8(out.data(), !queue_pair ? kConnection : gone ? kQueuePairGone : kQueuePair);
  std::visit([&out](const auto& what) { write_fields(what, out.data()); }, of);
  return out;
}

}  // namespace weft::service
