// SPDX-License-Identifier: Apache-2.0
// What tests of a requester share: a connection whose other end is the test itself, which sees the
// packets as they were sent and answers as it pleases.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "fixture.h"
#include "hca/requester.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/bth.h"
#include "wire/ieth.h"
#include "wire/reth.h"
#include "wire/xrceth.h"

namespace weft::hca::test {

inline constexpr Psn kFirstPsn{0xFFFFFE};  // the numbers wrap soon
inline constexpr std::uint32_t kMtu = 256;

class RequesterTest : public WithMemory {
 protected:
  // A request packet as the peer sees it.
  struct Seen {
    wire::Bth bth{};
    const wire::OpcodeInfo* info = nullptr;
    std::vector<std::byte> extended;
    std::vector<std::byte> payload;
    [[nodiscard]] wire::Reth reth(std::size_t at = 0) const {
      return *wire::Reth::parse(Bytes(extended).subspan(at));
    }
    [[nodiscard]] std::string text() const { return text_of(payload); }
  };

  static constexpr std::size_t kMemory = 4 * 1024 * 1024;

  RequesterTest() : WithMemory(kMemory, kLocalWrite) {
    connection.config = {.qpn = kOwnQpn,
                         .type = QpType::kRc,
                         .pd = kPd,
                         .max_sends = 512,
                         .max_send_pieces = 4,
                         .max_inline = 64};
    connection.path = {.sgid = kOwnGid, .dgid = kPeerGid};
    connection.peer = kPeerQpn;
    connection.mtu = kMtu;
    connection.max_reads_out = 4;
    connection.ack_timeout = 14;  // 67 ms
    connection.retry_count = 3;
    connection.rnr_retry = 2;
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i * 7 + i / 251);
  }

  void start() {
    requester.emplace(connection, table, completions);
    requester->start(kFirstPsn);
  }
  void start_weft() {
    connection.config.extensions = true;
    start();
  }

  std::errc post(SendRequest request, std::size_t offset, std::size_t length) {
    const std::array pieces{sge(offset, length)};
    request.pieces = pieces;
    return requester->post(request);
  }
  std::errc send(std::uint64_t id, std::size_t length, std::size_t offset = 0) {
    return post({.wr_id = id, .signaled = true}, offset, length);
  }
  std::errc write(std::uint64_t id, std::size_t length) {
    return post({.wr_id = id,
                 .opcode = SendOpcode::kRdmaWrite,
                 .signaled = true,
                 .remote_address = 0x1000,
                 .rkey = RKey{0x77}},
                0, length);
  }
  std::errc read(std::uint64_t id, std::size_t length, std::size_t offset = 0) {
    return post({.wr_id = id,
                 .opcode = SendOpcode::kRdmaRead,
                 .signaled = true,
                 .remote_address = 0x10000,
                 .rkey = RKey{0x77}},
                offset, length);
  }

  // Sends all that may go now and returns it, flat. `bursts` grows by the sizes of the bursts.
  std::vector<Seen> transmit() {
    RecordingSink sink;
    while (requester->fill(scratch, now)) {
      const SendResult result = sink.send(scratch);
      requester->sent(scratch, result, now);
    }
    for (const RecordingSink::Sent& sent : sink.bursts) {
      EXPECT_EQ(sent.destination, kPeerQpn);
      EXPECT_EQ(sent.path, connection.path);
      bursts.push_back(sent.datagrams.size());
    }
    std::vector<Seen> all;
    for (const auto& datagram : sink.datagrams())
      all.push_back(parse(datagram));
    return all;
  }
  static Seen parse(Bytes datagram) {
    Seen seen;
    seen.bth = *wire::Bth::parse(datagram);
    seen.info = &wire::info(seen.bth.opcode);
    const Bytes rest = datagram.subspan(wire::Bth::kSize);
    const std::size_t headers = seen.info->headers_size;
    EXPECT_LE(headers + seen.bth.pad_count, rest.size());
    seen.extended.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(headers));
    seen.payload.assign(rest.begin() + static_cast<std::ptrdiff_t>(headers),
                        rest.end() - seen.bth.pad_count);
    return seen;
  }
  static std::vector<wire::Opcode> opcodes(const std::vector<Seen>& packets) {
    std::vector<wire::Opcode> out;
    for (const Seen& packet : packets)
      out.push_back(packet.bth.opcode);
    return out;
  }
  static std::vector<std::uint32_t> numbers(const std::vector<Seen>& packets) {
    std::vector<std::uint32_t> out;
    for (const Seen& packet : packets)
      out.push_back(static_cast<std::uint32_t>(Psn::diff(packet.bth.psn, kFirstPsn)));
    return out;
  }

  // What the peer answers. `n` counts packets from the first PSN of the connection.
  void respond(wire::Opcode opcode, std::uint32_t n, Bytes extended, Bytes payload = {}) {
    requester->receive({.opcode = opcode,
                        .info = &wire::info(opcode),
                        .psn = kFirstPsn + n,
                        .extended = extended,
                        .payload = payload},
                       now);
  }
  void aeth(std::uint32_t n, wire::Syndrome syndrome, std::uint32_t msn = 0) {
    std::array<std::byte, wire::Aeth::kSize> bytes{};
    wire::Aeth{.syndrome = syndrome, .msn = msn}.write(bytes);
    respond(wire::Opcode::rc_acknowledge, n, bytes);
  }
  void ack(std::uint32_t n) { aeth(n, wire::Syndrome::ack()); }
  void nak(std::uint32_t n, wire::NakCode code) { aeth(n, wire::Syndrome::nak(code)); }
  // Packets up to `n` arrived (-1: none), and those of `after`.
  void weft_ack(std::int32_t n, std::vector<std::uint32_t> after = {}, std::uint32_t window = 0,
                wire::Syndrome syndrome = wire::Syndrome::ack()) {
    wire::WeftAck ack{.aeth = {.syndrome = syndrome}, .window = window};
    for (const std::uint32_t packet : after)
      ack.set(packet - static_cast<std::uint32_t>(n) - 2);
    std::vector<std::byte> bytes(ack.size());
    ack.write(bytes);
    respond(wire::Opcode::weft_rc_acknowledge, static_cast<std::uint32_t>(n), {}, bytes);
  }
  void read_response(std::uint32_t n, wire::Opcode opcode, std::string_view text) {
    std::array<std::byte, wire::Aeth::kSize> bytes{};
    wire::Aeth{.syndrome = wire::Syndrome::ack()}.write(bytes);
    const auto payload = bytes_of(text);
    respond(opcode, n, wire::info(opcode).has(wire::kAeth) ? Bytes(bytes) : Bytes{}, payload);
  }
  void atomic_response(std::uint32_t n, std::uint64_t original) {
    std::array<std::byte, wire::Aeth::kSize + wire::AtomicAckEth::kSize> bytes{};
    wire::Aeth{.syndrome = wire::Syndrome::ack()}.write(bytes);
    wire::AtomicAckEth{.original = original}.write(MutableBytes(bytes).subspan(wire::Aeth::kSize));
    respond(wire::Opcode::rc_atomic_acknowledge, n, bytes);
  }

  [[nodiscard]] std::uint64_t count(ConnectedCounter counter) const {
    return connection.counters.get(counter);
  }
  // "id:status" of every completion so far.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, CompletionStatus>> completed() const {
    std::vector<std::pair<std::uint64_t, CompletionStatus>> out;
    for (const Completion& completion : completions.all)
      out.emplace_back(completion.wr_id, completion.status);
    return out;
  }
  [[nodiscard]] std::vector<std::uint64_t> completed_ids() const {
    std::vector<std::uint64_t> out;
    for (const Completion& completion : completions.all) {
      EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
      out.push_back(completion.wr_id);
    }
    return out;
  }
  // Moves time to the deadline and has it take effect; false when there is none.
  bool wait() {
    const auto deadline = requester->deadline();
    if (!deadline) return false;
    now = std::max(now, *deadline);
    requester->expire(now);
    return true;
  }

  Completions completions;
  Connection connection;
  std::optional<Requester> requester;
  Burst scratch;
  std::vector<std::size_t> bursts;
};

}  // namespace weft::hca::test
