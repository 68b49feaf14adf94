// SPDX-License-Identifier: Apache-2.0
// What tests of a datagram queue pair share: the queue pair, its requests, packets of a peer.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fixture.h"
#include "hca/ud_queue_pair.h"

namespace weft::hca::test {

inline constexpr QKey kQKey{0x11223344};

// One queue pair, 64 KiB of registered memory and a path to a peer.
class UdTest : public WithMemory {
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

  UdTest() : WithMemory(64 * 1024, kLocalWrite) { start(config()); }

  void start(const UdConfig& config) { qp.emplace(config, table, send_cq, receive_cq); }

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
  void arrive_credit(const Credit& credit, QKey qkey = kQKey) {
    std::string payload(Credit::kSize, '\0');
    credit.write({std::bit_cast<std::byte*>(payload.data()), payload.size()});
    arrive(Packet{.opcode = wire::Opcode::weft_ud_credit, .payload = payload, .qkey = qkey});
  }
  [[nodiscard]] std::uint64_t count(UdCounter counter) const { return qp->counters().get(counter); }

  Completions send_cq;
  Completions receive_cq;
  std::optional<UdQueuePair> qp;
  RecordingSink sink;
  Burst scratch;
  Path path{.sgid = kOwnGid, .dgid = kPeerGid};
  std::array<std::byte, kGrhArea> grh{};
};

}  // namespace weft::hca::test
