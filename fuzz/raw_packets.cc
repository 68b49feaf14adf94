// SPDX-License-Identifier: Apache-2.0
// Whole packets of strangers at a raw queue pair, and whole packets of a program on their way to
// the adapter. What arrives is delivered as it is, with CRCs that are right, or counted once, and
// nothing is written outside of what was posted. What is let out is what was posted, is a packet
// that the adapter lets out, and has the CRCs that it says it has.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "hca/raw_packet.h"
#include "hca/raw_queue_pair.h"
#include "input.h"
#include "port/ring/raw_frame.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::hca;
using fuzz::Input;
using fuzz::require;

constexpr PdHandle kPd = 1;
constexpr Qpn kQpn{0x77};
constexpr std::byte kUntouched{0xA5};
constexpr std::size_t kRoom = 8192;

struct Last final : CompletionSink {
  void complete(const Completion& completion) override {
    ++count;
    last = completion;
  }
  unsigned count = 0;
  Completion last{};
};

// A right one, with a GRH or without, of which some bytes are changed.
std::vector<std::byte> some_packet(Input& input) {
  const bool global = input.one_of(2) == 1;
  const std::size_t payload = input.word() % 4'200u / 4 * 4;
  const std::size_t at = wire::Lrh::kSize + (global ? wire::Grh::kSize : 0);
  std::vector<std::byte> bytes(at + wire::Bth::kSize + payload + 6);
  const MutableBytes all(bytes);
  wire::Lrh{.next_header = global ? wire::Lnh::iba_global : wire::Lnh::iba_local,
            .dlid = Lid{7},
            .packet_words = static_cast<std::uint16_t>((bytes.size() - 2) / 4),
            .slid = Lid{8}}
      .write(all);
  if (global) {
    wire::Grh{.payload_length = static_cast<std::uint16_t>(bytes.size() - 2 - at)}.write(
        all.subspan(wire::Lrh::kSize));
  }
  wire::Bth{.opcode = static_cast<wire::Opcode>(input.byte()), .dest_qp = Qpn{9}}.write(
      all.subspan(at));
  for (std::uint8_t changes = input.one_of(4); changes > 0; --changes)
    bytes[input.byte() % bytes.size()] ^= std::byte{input.byte()};
  const auto walked = wire::walk_link_packet(bytes);
  if (walked && input.one_of(4) != 0) wire::seal_link_packet(bytes);
  if (input.one_of(4) == 0) bytes.resize(input.word() % (bytes.size() + 1));
  return bytes;
}

std::uint64_t sum_of(const RawCounters& counters) {
  std::uint64_t sum = 0;
  for (const CounterValue& value : counters.snapshot()) {
    if (value.name != "rx_bytes") sum += value.value;
  }
  return sum;
}

void receive(Input& input) {
  std::vector<std::byte> memory(2 * kRoom, kUntouched);
  SeededEntropy entropy{Random(1)};
  MemoryTable table(entropy);
  const MemoryRegion region = *table.add({.base = memory.data(),
                                          .iova = 0x1000,
                                          .length = memory.size(),
                                          .access = kLocalWrite,
                                          .pd = kPd});
  Last sends;
  Last receives;
  RawConfig config;
  config.qpn = kQpn;
  config.pd = kPd;
  config.max_receives = 1;
  config.max_receive_pieces = 2;
  RawQueuePair qp(config, table, sends, receives);
  require(qp.modify({.state = QpState::kInit, .port = 1}, kAttrState | kAttrPort).has_value());
  require(qp.modify({.state = QpState::kRtr}, kAttrState).has_value());
  const std::uint32_t first = input.word() % kRoom;
  const std::uint32_t second = input.one_of(2) * (input.word() % kRoom);
  const std::array<Sge, 2> pieces{
      Sge{.address = 0x1000, .length = first, .lkey = LKey{region.key}},
      Sge{.address = 0x1000 + kRoom, .length = second, .lkey = LKey{region.key}}};
  require(qp.post_receive({.wr_id = 1, .pieces = std::span(pieces).first(second > 0 ? 2 : 1)}) ==
          std::errc{});
  const std::vector<std::byte> bytes = some_packet(input);
  const std::size_t header = std::min<std::size_t>(input.byte(), bytes.size());
  const std::size_t trailer = std::min<std::size_t>(input.one_of(12), bytes.size() - header);
  const RawPacket packet{.to = input.rarely() ? Qpn{1} : kQpn,
                         .header = Bytes(bytes).first(header),
                         .payload = Bytes(bytes).subspan(header, bytes.size() - header - trailer),
                         .trailer = Bytes(bytes).last(trailer),
                         .sealed = input.one_of(2) == 0};
  InDatagram datagram;
  datagram.raw = &packet;
  qp.receive(datagram, Time{1s});
  require(sum_of(qp.counters()) == 1 && receives.count <= 1 && sends.count == 0);
  require(std::all_of(memory.begin() + first, memory.begin() + kRoom,
                      [](std::byte byte) { return byte == kUntouched; }));
  require(std::all_of(memory.begin() + kRoom + second, memory.end(),
                      [](std::byte byte) { return byte == kUntouched; }));
  if (receives.count == 0 || receives.last.status != CompletionStatus::kSuccess) return;
  require(receives.last.byte_length == bytes.size());
  if (second > 0) return;
  const Bytes delivered = Bytes(memory).first(bytes.size());
  if (packet.sealed) require(std::equal(bytes.begin(), bytes.end(), delivered.begin()));
  const auto walked = wire::walk_link_packet(delivered);
  require(!walked || wire::check_link_crcs(delivered).icrc_good);
}

void send(Input& input) {
  const std::vector<std::byte> bytes = some_packet(input);
  const std::size_t cut = std::min<std::size_t>(input.byte(), bytes.size());
  const std::array<Bytes, 2> pieces{Bytes(bytes).first(cut), Bytes(bytes).subspan(cut)};
  Burst::Raw how{.make_icrc = input.one_of(4) == 0, .pkey = {}};
  if (input.one_of(4) == 0) how.pkey = PKey{input.word()};
  static std::array<std::byte, port::ring::kBlock> block;
  static port::ring::SendSlot slot;
  const MutableBytes room = port::needs_block(bytes.size()) ? MutableBytes(block) : MutableBytes{};
  if (!port::write_raw_packet(pieces, how, room, slot)) return;
  require(slot.header_size <= slot.header.size() && slot.trailer_size <= slot.trailer.size());
  require(slot.payload_size <= room.size());
  std::vector<std::byte> out(slot.header.begin(), slot.header.begin() + slot.header_size);
  out.insert(out.end(), block.begin(), block.begin() + slot.payload_size);
  const std::size_t body = out.size();
  out.insert(out.end(), slot.trailer.begin(), slot.trailer.begin() + slot.trailer_size);
  const auto head = read_raw_head(Bytes(slot.header).first(slot.header_size));
  require(head && head->lrh.packet_bytes() + 2 == out.size() && body <= bytes.size());
  if (!how.pkey)
    require(
        std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(body), bytes.begin()));
  if (how.pkey) require(head->pkey == how.pkey);
  if (slot.unsealed != 0 || !wire::walk_link_packet(out)) return;
  require(wire::check_link_crcs(out).vcrc_good);
  if (!wire::walk_link_packet(Bytes(bytes)) || !head->pkey) return;
  require(wire::check_link_crcs(out).icrc_good == wire::check_link_crcs(bytes).icrc_good);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  if (input.one_of(2) == 0) {
    receive(input);
  } else {
    send(input);
  }
  return 0;
}
