// SPDX-License-Identifier: Apache-2.0
#include "wire/opcode.h"

#include "wire/aeth.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/ieth.h"
#include "wire/imm_dt.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/riding_ack.h"
#include "wire/xrceth.h"

namespace weft::wire {
namespace {

constexpr std::uint8_t headers_size(unsigned headers) {
  std::size_t size = 0;
  if ((headers & kRdeth) != 0) size += Rdeth::kSize;
  if ((headers & kDeth) != 0) size += Deth::kSize;
  if ((headers & kXrceth) != 0) size += Xrceth::kSize;
  if ((headers & kFeth) != 0) size += Feth::kSize;
  if ((headers & kReth) != 0) size += Reth::kSize;
  if ((headers & kAtomicEth) != 0) size += AtomicEth::kSize;
  if ((headers & kAeth) != 0) size += Aeth::kSize;
  if ((headers & kAtomicAckEth) != 0) size += AtomicAckEth::kSize;
  if ((headers & kIeth) != 0) size += Ieth::kSize;
  if ((headers & kImmDt) != 0) size += ImmDt::kSize;
  if ((headers & kRidingAck) != 0) size += RidingAck::kSize;
  return static_cast<std::uint8_t>(size);
}

// One row of a transport's table. `headers` are those of RC; the transport adds its own in front.
struct Row {
  std::uint8_t operation_bits;
  std::array<std::string_view, 4> names;  // RC, UC, RD, XRC; empty where the transport has it not
  Operation operation;
  Position position;
  std::uint16_t headers;
  bool has_payload;
  bool is_response;
};

#define WEFT_ALL(text) \
  { "RC " text, "UC " text, "RD " text, "XRC " text }
#define WEFT_RELIABLE(text) \
  { "RC " text, "", "RD " text, "XRC " text }

using enum Operation;
using enum Position;

constexpr Row kRows[] = {
    {0x00, WEFT_ALL("SEND First"), send, first, 0, true, false},
    {0x01, WEFT_ALL("SEND Middle"), send, middle, 0, true, false},
    {0x02, WEFT_ALL("SEND Last"), send, last, 0, true, false},
    {0x03, WEFT_ALL("SEND Last w/ Immediate"), send, last, kImmDt, true, false},
    {0x04, WEFT_ALL("SEND Only"), send, only, 0, true, false},
    {0x05, WEFT_ALL("SEND Only w/ Immediate"), send, only, kImmDt, true, false},
    {0x06, WEFT_ALL("RDMA WRITE First"), write, first, kReth, true, false},
    {0x07, WEFT_ALL("RDMA WRITE Middle"), write, middle, 0, true, false},
    {0x08, WEFT_ALL("RDMA WRITE Last"), write, last, 0, true, false},
    {0x09, WEFT_ALL("RDMA WRITE Last w/ Immediate"), write, last, kImmDt, true, false},
    {0x0A, WEFT_ALL("RDMA WRITE Only"), write, only, kReth, true, false},
    {0x0B, WEFT_ALL("RDMA WRITE Only w/ Immediate"), write, only, kReth | kImmDt, true, false},
    {0x0C, WEFT_RELIABLE("RDMA READ Request"), read_request, only, kReth, false, false},
    {0x0D, WEFT_RELIABLE("RDMA READ Response First"), read_response, first, kAeth, true, true},
    {0x0E, WEFT_RELIABLE("RDMA READ Response Middle"), read_response, middle, 0, true, true},
    {0x0F, WEFT_RELIABLE("RDMA READ Response Last"), read_response, last, kAeth, true, true},
    {0x10, WEFT_RELIABLE("RDMA READ Response Only"), read_response, only, kAeth, true, true},
    {0x11, WEFT_RELIABLE("Acknowledge"), acknowledge, only, kAeth, false, true},
    {0x12, WEFT_RELIABLE("ATOMIC Acknowledge"), atomic_acknowledge, only, kAeth | kAtomicAckEth,
     false, true},
    {0x13, WEFT_RELIABLE("CmpSwap"), compare_swap, only, kAtomicEth, false, false},
    {0x14, WEFT_RELIABLE("FetchAdd"), fetch_add, only, kAtomicEth, false, false},
    {0x15, {"", "", "RD RESYNC", ""}, resync, only, 0, false, false},
    {0x16,
     {"RC SEND Last w/ Invalidate", "", "", "XRC SEND Last w/ Invalidate"},
     send,
     last,
     kIeth,
     true,
     false},
    {0x17,
     {"RC SEND Only w/ Invalidate", "", "", "XRC SEND Only w/ Invalidate"},
     send,
     only,
     kIeth,
     true,
     false},
    {0x1C, {"RC FLUSH", "", "RD FLUSH", ""}, flush, only, kFeth | kReth, false, false},
    {0x1D, {"RC ATOMIC WRITE", "", "", ""}, atomic_write, only, kReth, true, false},
};

#undef WEFT_ALL
#undef WEFT_RELIABLE

struct Column {
  Transport transport;
  std::uint8_t base;
  std::uint16_t request_headers;   // in front of every request's own
  std::uint16_t response_headers;  // in front of every response's own
};

constexpr std::array<Column, 4> kColumns{{
    {Transport::rc, 0x00, 0, 0},
    {Transport::uc, 0x20, 0, 0},
    {Transport::rd, 0x40, kRdeth | kDeth, kRdeth},
    {Transport::xrc, 0xA0, kXrceth, 0},
}};

constexpr OpcodeInfo make_info(std::string_view name, Transport transport, const Row& row,
                               unsigned headers) {
  return {name,
          transport,
          row.operation,
          row.position,
          static_cast<std::uint16_t>(headers),
          headers_size(headers),
          row.has_payload,
          row.is_response};
}

consteval std::array<OpcodeInfo, 256> make_opcodes() {
  std::array<OpcodeInfo, 256> table{};
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (row.names[i].empty()) continue;
      const Column& column = kColumns[i];
      const unsigned added = row.is_response ? column.response_headers : column.request_headers;
      table[column.base + row.operation_bits] =
          make_info(row.names[i], column.transport, row, row.headers | added);
    }
  }
  table[0x64] = make_info("UD SEND Only", Transport::ud, kRows[0x04], kDeth);
  table[0x65] = make_info("UD SEND Only w/ Immediate", Transport::ud, kRows[0x05], kDeth | kImmDt);
  table[0x81] = {"CNP", Transport::cnp, Operation::congestion, only, 0, 0, true, false};
  for (std::size_t code = 0xC0; code <= 0xFF; ++code) {
    table[code] = {"Manufacturer", Transport::vendor, Operation::vendor, only, 0, 0, true, false};
  }
  table[0xC1] = {"Weft UD Credit",
                 Transport::vendor,
                 Operation::vendor,
                 only,
                 kDeth,
                 Deth::kSize,
                 true,
                 false};
  table[0xC2] = {
      "Weft RC Acknowledge", Transport::vendor, Operation::vendor, only, 0, 0, true, true};
  table[0xC3] = {"Weft Piece", Transport::vendor, Operation::vendor, only, 0, 0, true, false};
  table[0xC4] = {"Weft UC Credit", Transport::vendor, Operation::vendor, only, 0, 0, true, true};
  table[0xC7] = make_info("Weft RC RDMA WRITE Middle", Transport::vendor, kRows[0x07], kReth);
  table[0xC8] = make_info("Weft RC RDMA WRITE Last", Transport::vendor, kRows[0x08], kReth);
  table[0xC9] =
      make_info("Weft RC SEND Only w/ Acknowledge", Transport::vendor, kRows[0x04], kRidingAck);
  table[0xCA] = make_info("Weft RC RDMA WRITE Only w/ Acknowledge", Transport::vendor, kRows[0x0A],
                          kReth | kRidingAck);
  return table;
}

}  // namespace

constexpr std::array<OpcodeInfo, 256> kOpcodes = make_opcodes();

static_assert(kOpcodes[0x04].name == "RC SEND Only");
static_assert(kOpcodes[0x64].position == Position::only && kOpcodes[0x65].position == only);
static_assert(kOpcodes[0xAB].headers_size == 4 + 16 + 4);  // XRCETH RETH ImmDt
static_assert(kOpcodes[0x53].headers_size == 4 + 8 + 28);  // RDETH DETH AtomicETH

}  // namespace weft::wire
