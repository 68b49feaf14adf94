// SPDX-License-Identifier: Apache-2.0
// Request packets: which opcode, which headers, which part of the memory (IBA 9.3, 9.4, A14.3).
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "hca/requester.h"
#include "wire/atomic_eth.h"
#include "wire/bth.h"
#include "wire/ieth.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace weft::hca {
namespace {

using wire::Opcode;

constexpr unsigned operation_of(Opcode rc_opcode) {
  return static_cast<unsigned>(rc_opcode);
}

// What the last packet of a message carries besides.
enum class Tail : std::uint8_t { kNothing, kImmediate, kInvalidate };

Tail tail_of(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kSendWithImmediate:
    case SendOpcode::kRdmaWriteWithImmediate:
      return Tail::kImmediate;
    case SendOpcode::kSendWithInvalidate:
      return Tail::kInvalidate;
    default:
      return Tail::kNothing;
  }
}

bool is_write(SendOpcode opcode) {
  return opcode == SendOpcode::kRdmaWrite || opcode == SendOpcode::kRdmaWriteWithImmediate;
}

// As an RC opcode.
Opcode data_opcode(bool write, Tail tail, bool first, bool last) {
  using enum Opcode;
  if (first && !last) return write ? rc_write_first : rc_send_first;
  if (!last) return write ? rc_write_middle : rc_send_middle;
  switch (tail) {
    case Tail::kImmediate:
      if (write) return first ? rc_write_only_imm : rc_write_last_imm;
      return first ? rc_send_only_imm : rc_send_last_imm;
    case Tail::kInvalidate:
      return first ? rc_send_only_invalidate : rc_send_last_invalidate;
    case Tail::kNothing:
      break;
  }
  if (write) return first ? rc_write_only : rc_write_last;
  return first ? rc_send_only : rc_send_last;
}

}  // namespace

// The five low bits say the operation, the three high ones the transport service.
Opcode Requester::opcode(unsigned operation) const {
  assert(operation < 0x20);
  switch (connection_.config.type) {
    case QpType::kUc:
      return static_cast<Opcode>(0x20 | operation);
    case QpType::kXrcInitiator:
      return static_cast<Opcode>(0xA0 | operation);
    default:
      return static_cast<Opcode>(operation);
  }
}

// Whether this packet of a write carries a RETH though it is not the first: then it is as long as
// that one. With an immediate it would be longer.
bool Requester::repeats_address(const Slot& slot, bool first, bool last) const {
  return selective() && connection_.config.type == QpType::kRc && !first &&
         !(last && slot.opcode == SendOpcode::kRdmaWriteWithImmediate);
}

Requester::Shape Requester::data_shape(const Slot& slot, std::uint64_t offset) const {
  assert(offset <= slot.length);
  const std::uint64_t rest = slot.length - offset;
  const bool first = offset == 0;
  const bool last = rest <= connection_.mtu;
  const bool write = is_write(slot.opcode);
  Shape shape;
  if (write && repeats_address(slot, first, last)) {
    shape.opcode = last ? Opcode::weft_rc_write_last : Opcode::weft_rc_write_middle;
  } else {
    shape.opcode = opcode(operation_of(data_opcode(write, tail_of(slot.opcode), first, last)));
  }
  shape.header =
      static_cast<std::uint8_t>(wire::Bth::kSize + wire::info(shape.opcode).headers_size);
  shape.payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, connection_.mtu));
  shape.pad = wire::pad_count_for(shape.payload);
  shape.ends = last;
  return shape;
}

Requester::Shape Requester::fetch_shape(const Slot& slot) const {
  Opcode rc = Opcode::rc_read_request;
  if (slot.opcode == SendOpcode::kCompareSwap) rc = Opcode::rc_compare_swap;
  if (slot.opcode == SendOpcode::kFetchAdd) rc = Opcode::rc_fetch_add;
  Shape shape;
  shape.opcode = opcode(operation_of(rc));
  shape.header =
      static_cast<std::uint8_t>(wire::Bth::kSize + wire::info(shape.opcode).headers_size);
  return shape;
}

// BTH and XRCETH; returns where the next header goes.
std::size_t Requester::write_front(OutPacket& packet, const Slot& slot, const Shape& shape,
                                   std::uint64_t serial, bool solicited, bool ask) const {
  const MutableBytes header(packet.header);
  packet.header_length = shape.header;
  packet.pad = shape.pad;
  wire::Bth{.opcode = shape.opcode,
            .solicited = solicited,
            .migrated = connection_.migration == PathMigration::kMigrated,
            .pad_count = shape.pad,
            .pkey = connection_.pkey(),
            .dest_qp = connection_.peer,
            .ack_request = ask,
            .psn = psn(serial)}
      .write(header);
  if (connection_.config.type != QpType::kXrcInitiator) return wire::Bth::kSize;
  wire::Xrceth{.srq = slot.remote_srq.value()}.write(header.subspan(wire::Bth::kSize));
  return wire::Bth::kSize + wire::Xrceth::kSize;
}

void Requester::write_data(OutPacket& packet, const Slot& slot, const Shape& shape,
                           std::uint64_t serial, std::uint64_t offset, bool ask) const {
  const bool write = is_write(slot.opcode);
  const Tail tail = shape.ends ? tail_of(slot.opcode) : Tail::kNothing;
  // A write without immediate raises no event at the other end (IBA 9.2.3).
  const bool solicited = slot.solicited && shape.ends && (!write || tail == Tail::kImmediate);
  std::size_t at = write_front(packet, slot, shape, serial, solicited, ask);
  const MutableBytes header(packet.header);
  if (wire::info(shape.opcode).has(wire::kReth)) {
    wire::Reth{.virtual_address = slot.remote_address + offset,
               .rkey = slot.rkey,
               .dma_length = static_cast<std::uint32_t>(slot.length - offset)}
        .write(header.subspan(at));
    at += wire::Reth::kSize;
  }
  if (tail == Tail::kImmediate) {  // four bytes as the application has them in memory
    std::memcpy(packet.header.data() + at, &slot.immediate, sizeof slot.immediate);
    at += sizeof slot.immediate;
  } else if (tail == Tail::kInvalidate) {
    wire::Ieth{.rkey = slot.invalidate}.write(header.subspan(at));
    at += wire::Ieth::kSize;
  }
  assert(at == packet.header_length);
}

// `range`: what a READ asks for, which is less than the message when it is split or resumed.
void Requester::write_fetch(OutPacket& packet, const Slot& slot, std::uint64_t serial,
                            Range range) const {
  const Shape shape = fetch_shape(slot);
  const std::size_t at = write_front(packet, slot, shape, serial, false, false);
  const MutableBytes rest = MutableBytes(packet.header).subspan(at);
  if (slot.opcode == SendOpcode::kRdmaRead) {
    wire::Reth{.virtual_address = slot.remote_address + range.offset,
               .rkey = slot.rkey,
               .dma_length = range.bytes}
        .write(rest);
    return;
  }
  const bool swap = slot.opcode == SendOpcode::kCompareSwap;
  wire::AtomicEth{.virtual_address = slot.remote_address,
                  .rkey = slot.rkey,
                  .swap_or_add = swap ? slot.swap : slot.compare_add,
                  .compare = swap ? slot.compare_add : 0}
      .write(rest);
}

// False when a piece names memory that may not be read.
bool Requester::add_payload(Burst& burst, OutPacket& packet, std::uint64_t request,
                            std::uint64_t offset, std::uint32_t bytes) {
  const Slot& slot = this->slot(request);
  if (slot.is_inline()) {
    burst.add_piece(packet, areas_.bytes(slot.inline_area).subspan(offset, bytes));
    return true;
  }
  for (const Sge& piece : requests_.pieces(request - first_request_)) {
    if (bytes == 0) break;  // a piece that is not touched needs no valid key
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const auto here =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.length - offset, bytes));
    const std::byte* const data =
        pins_.resolve(piece.lkey.value(), connection_.config.pd, piece.address + offset, here, 0);
    if (data == nullptr) return false;
    burst.add_piece(packet, {data, here});
    bytes -= here;
    offset = 0;
  }
  assert(bytes == 0);
  return true;
}

}  // namespace weft::hca
