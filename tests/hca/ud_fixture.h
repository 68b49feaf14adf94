// SPDX-License-Identifier: Apache-2.0
// What tests of a datagram queue pair share: memory with a key, sinks that remember, packets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "counting_entropy.h"
#include "hca/ud_queue_pair.h"

namespace weft::hca::test {

class Completions final : public CompletionSink {
 public:
  void complete(const Completion& completion) override { all.push_back(completion); }
  std::vector<Completion> all;
};

inline std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A sink that keeps what is sent as flat datagrams (headers .. pad), burst by burst.
class RecordingSink final : public BurstSink {
 public:
  struct Sent {
    Path path{};
    Qpn destination{};
    std::vector<std::vector<std::byte>> datagrams;
  };
  SendResult send(const Burst& burst) override {
    ++calls;
    SendResult result;
    if (!answers.empty()) {
      result = answers.front();
      answers.pop_front();
    }
    if (result.outcome != SendOutcome::kSent) return result;
    Sent sent{burst.path, burst.destination, {}};
    for (const OutPacket& packet : burst.packets()) {
      std::vector<std::byte> flat(packet.header.begin(),
                                  packet.header.begin() + packet.header_length);
      for (const Bytes piece : burst.pieces(packet))
        flat.insert(flat.end(), piece.begin(), piece.end());
      flat.resize(flat.size() + packet.pad);
      EXPECT_EQ(flat.size(), packet.length());
      sent.datagrams.push_back(std::move(flat));
    }
    bursts.push_back(std::move(sent));
    return result;
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> datagrams() const {
    std::vector<std::vector<std::byte>> all;
    for (const Sent& sent : bursts)
      all.insert(all.end(), sent.datagrams.begin(), sent.datagrams.end());
    return all;
  }
  std::deque<SendResult> answers;  // then kSent
  std::vector<Sent> bursts;
  int calls = 0;
};

inline const Gid kOwnGid = Gid::from_ipv4(0x0A000001);
inline const Gid kPeerGid = Gid::from_ipv4(0x0A000002);
inline const Gid kGroup = Gid::from_ipv4(0xEF000001);
inline constexpr Qpn kOwnQpn{0x01C001};
inline constexpr Qpn kPeerQpn{0x02C002};
inline constexpr QKey kQKey{0x11223344};
inline constexpr PdHandle kPd = 7;

// One queue pair, 64 KiB of registered memory and a path to a peer.
class UdTest : public ::testing::Test {
 protected:
  static UdConfig config() {
    return {.qpn = kOwnQpn,
            .pd = kPd,
            .mtu = 4096,
            .max_sends = 256,
            .max_receives = 256,
            .max_send_pieces = 4,
            .max_receive_pieces = 8,
            .max_inline = 128};
  }

  UdTest() : memory(64 * 1024), table(entropy) { start(config()); }

  void start(const UdConfig& config) {
    qp.emplace(config, table, send_cq, receive_cq);
    if (region.length == 0) region = *table.add(describe(memory, kLocalWrite));
  }
  static MemoryRegion describe(std::vector<std::byte>& bytes, std::uint32_t access) {
    return {.base = bytes.data(),
            .iova = std::bit_cast<std::uintptr_t>(bytes.data()),
            .length = bytes.size(),
            .access = access,
            .pd = kPd};
  }

  Expected<void> move(QpState to, std::uint32_t mask = 0) {
    QpAttributes attributes{.state = to, .current_state = qp->state(), .port = 1, .qkey = kQKey};
    return qp->modify(attributes, mask | kAttrState);
  }
  void to_init() { ASSERT_TRUE(move(QpState::kInit, kAttrPKeyIndex | kAttrPort | kAttrQKey)); }
  void to_rtr() {
    to_init();
    ASSERT_TRUE(move(QpState::kRtr));
  }
  void to_rts(Psn first = Psn{0}) {
    to_rtr();
    QpAttributes attributes{.state = QpState::kRts, .sq_psn = first};
    ASSERT_TRUE(qp->modify(attributes, kAttrState | kAttrSqPsn));
  }

  [[nodiscard]] Sge sge(std::size_t offset, std::size_t length) const {
    return {.address = region.iova + offset,
            .length = static_cast<std::uint32_t>(length),
            .lkey = LKey{region.key}};
  }
  void fill(std::size_t offset, std::string_view text) {
    std::memcpy(memory.data() + offset, text.data(), text.size());
  }
  [[nodiscard]] std::string text(std::size_t offset, std::size_t length) const {
    std::string out(length, '\0');
    std::memcpy(out.data(), memory.data() + offset, length);
    return out;
  }

  SendRequest request(std::uint64_t wr_id, std::span<const Sge> pieces) const {
    return {.wr_id = wr_id,
            .signaled = true,
            .pieces = pieces,
            .path = &path,
            .remote_qpn = kPeerQpn,
            .remote_qkey = kQKey};
  }
  std::errc send(std::uint64_t wr_id, std::size_t offset, std::size_t length) {
    const std::array pieces{sge(offset, length)};
    return qp->post_send(request(wr_id, pieces));
  }
  std::errc receive(std::uint64_t wr_id, std::size_t offset, std::size_t length) {
    const std::array pieces{sge(offset, length)};
    return qp->post_receive({.wr_id = wr_id, .pieces = pieces});
  }
  bool transmit() { return qp->transmit(now, scratch, sink); }

  // A datagram as the peer would send it to us.
  struct Packet {
    wire::Opcode opcode = wire::Opcode::ud_send_only;
    std::string_view payload = "hello";
    bool solicited = false;
    std::uint8_t version = 0;
    PKey pkey = kDefaultPKey;
    Qpn destination = kOwnQpn;
    bool ack_request = false;
    Psn psn{};
    QKey qkey = kQKey;
    Qpn source = kPeerQpn;
    std::uint32_t immediate = 0;
  };
  static std::vector<std::byte> encode(const Packet& p) {
    const std::uint8_t pad = wire::pad_count_for(p.payload.size());
    std::vector<std::byte> out(wire::Bth::kSize + wire::Deth::kSize);
    wire::Bth{.opcode = p.opcode,
              .solicited = p.solicited,
              .pad_count = pad,
              .transport_version = p.version,
              .pkey = p.pkey,
              .dest_qp = p.destination,
              .ack_request = p.ack_request,
              .psn = p.psn}
        .write(out);
    wire::Deth{.qkey = p.qkey, .src_qp = p.source}.write(
        MutableBytes(out).subspan(wire::Bth::kSize));
    if (p.opcode == wire::Opcode::ud_send_only_imm) {
      out.resize(out.size() + sizeof p.immediate);
      std::memcpy(&out[out.size() - sizeof p.immediate], &p.immediate, sizeof p.immediate);
    }
    const auto payload = bytes_of(p.payload);
    out.insert(out.end(), payload.begin(), payload.end());
    out.resize(out.size() + pad);
    return out;
  }
  void arrive(Bytes transport, bool multicast = false) {
    qp->receive({.transport = transport,
                 .network_header = &grh,
                 .source = kPeerGid,
                 .destination = multicast ? kGroup : kOwnGid,
                 .source_qpn = kPeerQpn,
                 .multicast = multicast},
                now);
  }
  void arrive(const Packet& packet, bool multicast = false) { arrive(encode(packet), multicast); }
  void arrive_credit(const UdCredit& credit, QKey qkey = kQKey) {
    std::string payload(UdCredit::kSize, '\0');
    credit.write({std::bit_cast<std::byte*>(payload.data()), payload.size()});
    arrive(Packet{.opcode = wire::Opcode::weft_ud_credit, .payload = payload, .qkey = qkey});
  }
  [[nodiscard]] std::uint64_t count(UdCounter counter) const { return qp->counters().get(counter); }

  CountingEntropy entropy;
  std::vector<std::byte> memory;
  MemoryTable table;
  MemoryRegion region;
  Completions send_cq;
  Completions receive_cq;
  std::optional<UdQueuePair> qp;
  RecordingSink sink;
  Burst scratch;
  Path path{.sgid = kOwnGid, .dgid = kPeerGid};
  std::array<std::byte, kGrhArea> grh{};
  Time now{1s};
};

}  // namespace weft::hca::test
