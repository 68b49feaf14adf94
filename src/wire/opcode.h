// SPDX-License-Identifier: Apache-2.0
// BTH opcodes (IBA 9.2.1) and what each implies: which extended headers follow and in
// what order, whether there is a payload, which part of a message it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::wire {

// Three bits of transport, five of operation. The names after IBA 1.4 (flush, atomic_write) are of
// its Memory Placement Extensions.
enum class Opcode : std::uint8_t {
  rc_send_first = 0x00,
  rc_send_middle = 0x01,
  rc_send_last = 0x02,
  rc_send_last_imm = 0x03,
  rc_send_only = 0x04,
  rc_send_only_imm = 0x05,
  rc_write_first = 0x06,
  rc_write_middle = 0x07,
  rc_write_last = 0x08,
  rc_write_last_imm = 0x09,
  rc_write_only = 0x0A,
  rc_write_only_imm = 0x0B,
  rc_read_request = 0x0C,
  rc_read_response_first = 0x0D,
  rc_read_response_middle = 0x0E,
  rc_read_response_last = 0x0F,
  rc_read_response_only = 0x10,
  rc_acknowledge = 0x11,
  rc_atomic_acknowledge = 0x12,
  rc_compare_swap = 0x13,
  rc_fetch_add = 0x14,
  rc_send_last_invalidate = 0x16,
  rc_send_only_invalidate = 0x17,
  rc_flush = 0x1C,
  rc_atomic_write = 0x1D,

  uc_send_first = 0x20,
  uc_send_middle = 0x21,
  uc_send_last = 0x22,
  uc_send_last_imm = 0x23,
  uc_send_only = 0x24,
  uc_send_only_imm = 0x25,
  uc_write_first = 0x26,
  uc_write_middle = 0x27,
  uc_write_last = 0x28,
  uc_write_last_imm = 0x29,
  uc_write_only = 0x2A,
  uc_write_only_imm = 0x2B,

  rd_send_first = 0x40,
  rd_send_middle = 0x41,
  rd_send_last = 0x42,
  rd_send_last_imm = 0x43,
  rd_send_only = 0x44,
  rd_send_only_imm = 0x45,
  rd_write_first = 0x46,
  rd_write_middle = 0x47,
  rd_write_last = 0x48,
  rd_write_last_imm = 0x49,
  rd_write_only = 0x4A,
  rd_write_only_imm = 0x4B,
  rd_read_request = 0x4C,
  rd_read_response_first = 0x4D,
  rd_read_response_middle = 0x4E,
  rd_read_response_last = 0x4F,
  rd_read_response_only = 0x50,
  rd_acknowledge = 0x51,
  rd_atomic_acknowledge = 0x52,
  rd_compare_swap = 0x53,
  rd_fetch_add = 0x54,
  rd_resync = 0x55,
  rd_flush = 0x5C,

  ud_send_only = 0x64,
  ud_send_only_imm = 0x65,

  cnp = 0x81,  // IBA annex A17.9.3: congestion notification packet of RoCEv2

  xrc_send_first = 0xA0,
  xrc_send_middle = 0xA1,
  xrc_send_last = 0xA2,
  xrc_send_last_imm = 0xA3,
  xrc_send_only = 0xA4,
  xrc_send_only_imm = 0xA5,
  xrc_write_first = 0xA6,
  xrc_write_middle = 0xA7,
  xrc_write_last = 0xA8,
  xrc_write_last_imm = 0xA9,
  xrc_write_only = 0xAA,
  xrc_write_only_imm = 0xAB,
  xrc_read_request = 0xAC,
  xrc_read_response_first = 0xAD,
  xrc_read_response_middle = 0xAE,
  xrc_read_response_last = 0xAF,
  xrc_read_response_only = 0xB0,
  xrc_acknowledge = 0xB1,
  xrc_atomic_acknowledge = 0xB2,
  xrc_compare_swap = 0xB3,
  xrc_fetch_add = 0xB4,
  xrc_send_last_invalidate = 0xB6,
  xrc_send_only_invalidate = 0xB7,

  // 0xC0 to 0xFF are the manufacturer's. Weft's: the receiver credits of a UD queue pair, on its
  // own `udp` wire only.
  weft_ud_credit = 0xC1,
  // Acknowledgement of a connection between Weft peers, see weft_ack.h.
  weft_rc_acknowledge = 0xC2,
  // Part of a packet of such a connection, see weft_piece.h.
  weft_piece = 0xC3,
  // The receiver credit of a UC queue pair, as that of a UD one but without a DETH.
  weft_uc_credit = 0xC4,
  // The middle and the last packet of an RDMA write between Weft peers, with a RETH like the first
  // one's: so all of a message are of one length and leave in runs. Its address is where this
  // packet's payload goes, its length what is left of the message from there.
  weft_rc_write_middle = 0xC7,
  weft_rc_write_last = 0xC8,
  // A message of one packet between Weft peers with which an acknowledgement rides: riding_ack.h.
  weft_rc_send_only_ack = 0xC9,
  weft_rc_write_only_ack = 0xCA,
};

enum class Transport : std::uint8_t { rc, uc, rd, ud, cnp, xrc, vendor };

enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic_acknowledge,
  compare_swap,
  fetch_add,
  resync,
  flush,
  atomic_write,
  congestion,  // CNP
  vendor,
};

// Which packet of a message. Requests and responses of one packet are `only`.
enum class Position : std::uint8_t { first, middle, last, only };

// Extended transport headers as a set. Wherever several follow one BTH, they follow in this order.
enum ExtendedHeader : std::uint16_t {
  kRdeth = 1 << 0,
  kDeth = 1 << 1,
  kXrceth = 1 << 2,
  kFeth = 1 << 3,
  kReth = 1 << 4,
  kAtomicEth = 1 << 5,
  kAeth = 1 << 6,
  kAtomicAckEth = 1 << 7,
  kIeth = 1 << 8,
  kImmDt = 1 << 9,
  kRidingAck = 1 << 10,  // Weft's own
};

struct OpcodeInfo {
  std::string_view name;  // "RC RDMA WRITE Only w/ Immediate"; empty for a reserved opcode
  Transport transport = Transport::vendor;
  Operation operation = Operation::vendor;
  Position position = Position::only;
  std::uint16_t headers = 0;      // set of ExtendedHeader
  std::uint8_t headers_size = 0;  // their bytes together
  bool has_payload = false;       // may carry one; of a CNP, its 16 reserved bytes
  bool is_response = false;       // goes from responder to requester

  [[nodiscard]] constexpr bool known() const { return !name.empty(); }
  [[nodiscard]] constexpr bool has(ExtendedHeader header) const { return (headers & header) != 0; }
  [[nodiscard]] constexpr bool starts_message() const {
    return position == Position::first || position == Position::only;
  }
  [[nodiscard]] constexpr bool ends_message() const {
    return position == Position::last || position == Position::only;
  }
};

extern const std::array<OpcodeInfo, 256> kOpcodes;

[[nodiscard]] inline const OpcodeInfo& info(Opcode opcode) {
  return kOpcodes[static_cast<std::uint8_t>(opcode)];
}

}  // namespace weft::wire
