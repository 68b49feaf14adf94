// SPDX-License-Identifier: Apache-2.0
// What tests of a responder share: a connection, memory, receive requests, packets of a peer, and
// the answers taken apart.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fixture.h"
#include "hca/queue_pair.h"
#include "hca/responder.h"
#include "hca/shared_receive_queue.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/bth.h"
#include "wire/ieth.h"
#include "wire/xrceth.h"

namespace weft::hca::test {

// A request packet as the peer would send it.
struct Request {
  wire::Opcode opcode = wire::Opcode::rc_send_only;
  Psn psn{};
  std::string payload{};
  bool ack_request = true;
  bool solicited = false;
  bool congestion = false;
  wire::Reth reth{};
  wire::AtomicEth atomic{};
  std::uint32_t immediate = 0;
  RKey invalidate{};
  std::uint32_t srq = 0;

  [[nodiscard]] std::vector<std::byte> extended() const {
    const wire::OpcodeInfo& info = wire::info(opcode);
    std::vector<std::byte> out(info.headers_size);
    MutableBytes rest(out);
    const auto put = [&](wire::ExtendedHeader which, const auto& header) {
      if (!info.has(which)) return;
      header.write(rest);
      rest = rest.subspan(header.kSize);
    };
    put(wire::kXrceth, wire::Xrceth{.srq = srq});
    put(wire::kReth, reth);
    put(wire::kAtomicEth, atomic);
    put(wire::kIeth, wire::Ieth{.rkey = invalidate});
    if (info.has(wire::kImmDt)) std::memcpy(rest.data(), &immediate, sizeof immediate);
    return out;
  }
};

// A packet that a queue pair sent.
struct Sent {
  wire::Bth bth{};
  wire::Aeth aeth{};
  std::uint64_t original = 0;
  std::string payload{};

  static Sent parse(Bytes datagram) {
    Sent sent;
    sent.bth = *wire::Bth::parse(datagram);
    const wire::OpcodeInfo& info = wire::info(sent.bth.opcode);
    Bytes rest = datagram.subspan(wire::Bth::kSize);
    if (info.has(wire::kAeth)) sent.aeth = *wire::Aeth::parse(rest);
    if (info.has(wire::kAtomicAckEth)) {
      sent.original = wire::AtomicAckEth::parse(rest.subspan(wire::Aeth::kSize))->original;
    }
    rest = rest.subspan(info.headers_size);
    sent.payload = text_of(rest.first(rest.size() - sent.bth.pad_count));
    return sent;
  }
  [[nodiscard]] wire::WeftAck weft_ack() const { return *wire::WeftAck::parse(bytes_of(payload)); }
};

inline std::string pattern(std::size_t length, unsigned seed = 1) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    text[i] = static_cast<char>(i * 7 + i / 251 + seed);
  return text;
}

// `broken` bytes cannot be copied to or from: as if unmapped by the application.
struct BrokenMemory {
  static inline const std::byte* begin = nullptr;
  static inline const std::byte* end = nullptr;
  static bool copy(void* to, const void* from, std::size_t length) {
    const auto hits = [length](const void* at) {
      const auto* const p = static_cast<const std::byte*>(at);
      return p < end && p + length > begin;
    };
    if (begin != nullptr && (hits(to) || hits(from))) return false;
    return plain_copy(to, from, length);
  }
  // Runs the body only if none of the memory is broken: it cannot be abandoned half-way here.
  static bool guard(void (*body)(void*), void* argument) {
    return begin == end && no_guard(body, argument);
  }
};

class ResponderTest : public WithMemory {
 protected:
  static constexpr std::uint32_t kMtu = 256;
  static constexpr Psn kFirst{0xFFFFFE};  // so that every test crosses the end of the numbers
  static constexpr std::uint32_t kRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

  ResponderTest() : WithMemory(256 * 1024, kLocalWrite | kRights), receives(64, 4) {
    BrokenMemory::begin = BrokenMemory::end = nullptr;
    connection.config.qpn = kOwnQpn;
    connection.config.pd = kPd;
    connection.config.copy = BrokenMemory::copy;
    connection.config.guard = BrokenMemory::guard;
    connection.path = {.sgid = kOwnGid, .dgid = kPeerGid};
    connection.peer = kPeerQpn;
    connection.mtu = kMtu;
    connection.peer_access = kRights;
    connection.max_reads_in = 4;
    connection.rnr_timer = 12;
    make();
  }
  void make(XrcQueues* queues = nullptr) {
    responder.emplace(connection, table, cq, receives, queues);
    responder->start(kFirst);
  }

  [[nodiscard]] wire::Reth reth(std::size_t offset, std::size_t length) const {
    return {.virtual_address = address(offset),
            .rkey = RKey{region.key},
            .dma_length = static_cast<std::uint32_t>(length)};
  }
  void post(std::uint64_t wr_id, std::size_t offset, std::size_t length) {
    const std::array pieces{sge(offset, length)};
    ASSERT_EQ(receives.post({.wr_id = wr_id, .pieces = pieces}), std::errc{});
  }

  // One packet, without the end of the run.
  void give(const Request& request) {
    const std::vector<std::byte> extended = request.extended();
    const std::vector<std::byte> payload = bytes_of(request.payload);
    responder->receive({.opcode = request.opcode,
                        .info = &wire::info(request.opcode),
                        .psn = request.psn,
                        .ack_request = request.ack_request,
                        .solicited = request.solicited,
                        .congestion = request.congestion,
                        .pad = wire::pad_count_for(payload.size()),
                        .extended = extended,
                        .payload = payload},
                       now);
  }
  // What is sent until there is no more, after the end of the run.
  std::vector<Sent> answers() {
    responder->end_run(now);
    return flush();
  }
  // What is sent without the end of the run.
  std::vector<Sent> flush() {
    RecordingSink sink;
    while (responder->fill(burst, now)) {
      EXPECT_EQ(burst.destination, kPeerQpn);
      EXPECT_FALSE(responder->has_work());
      bursts.push_back(burst.size());
      responder->sent(burst, sink.send(burst), now);
    }
    EXPECT_FALSE(responder->has_work());
    std::vector<Sent> all;
    for (const auto& datagram : sink.datagrams())
      all.push_back(Sent::parse(datagram));
    return all;
  }
  std::vector<Sent> exchange(const Request& request) {
    give(request);
    return answers();
  }
  // A message of several packets from `first` on, AckReq in the last.
  void give_send(Psn first, std::string_view message) {
    const std::size_t packets = (message.size() + kMtu - 1) / kMtu;
    for (std::size_t i = 0; i < packets; ++i) {
      const bool last = i + 1 == packets;
      give({.opcode = packets == 1 ? wire::Opcode::rc_send_only
                      : i == 0     ? wire::Opcode::rc_send_first
                      : last       ? wire::Opcode::rc_send_last
                                   : wire::Opcode::rc_send_middle,
            .psn = first + static_cast<std::uint32_t>(i),
            .payload = std::string(message.substr(i * kMtu, kMtu)),
            .ack_request = last});
    }
  }
  [[nodiscard]] std::uint64_t count(ConnectedCounter counter) const {
    return connection.counters.get(counter);
  }
  void expect_nak(const std::vector<Sent>& sent, wire::NakCode code, Psn psn) {
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].bth.opcode, wire::Opcode::rc_acknowledge);
    EXPECT_EQ(sent[0].bth.psn, psn);
    EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::nak(code));
  }
  // A refusal for good: a NAK, and the queue pair is to go into the error state once it is out.
  void expect_refused(const Request& request, wire::NakCode code) {
    give(request);
    EXPECT_TRUE(responder->failing());
    EXPECT_FALSE(responder->failed());
    expect_nak(answers(), code, request.psn);
    EXPECT_TRUE(responder->failed());
  }

  Completions cq;
  SharedReceiveQueue receives;
  Connection connection;
  std::optional<Responder> responder;
  Burst burst;
  std::vector<std::size_t> bursts;  // sizes of what was sent, packets
};

}  // namespace weft::hca::test
