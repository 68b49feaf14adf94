// SPDX-License-Identifier: Apache-2.0
// What tests of a connected queue pair share: the queue pair, its memory, packets of a peer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hca/connected_queue_pair.h"
#include "responder_fixture.h"

namespace weft::hca::test {

inline const Gid kOtherGid = Gid::from_ipv4(0x0A000063);

class ConnectedQp : public WithMemory {
 protected:
  static ConnectedConfig config(QpType type = QpType::kRc) {
    return {.qpn = kOwnQpn,
            .type = type,
            .pd = kPd,
            .max_sends = 16,
            .max_receives = 16,
            .max_send_pieces = 2,
            .max_receive_pieces = 2,
            .max_inline = 64,
            .max_mtu = 2048};
  }
  ConnectedQp() : WithMemory(64 * 1024, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic) {
    start(config());
  }
  void start(const ConnectedConfig& config, ReceiveSource* shared = nullptr) {
    qp.emplace(config, table, send_cq, receive_cq, shared);
  }

  static QpAttributes attributes() {
    return {.pkey_index = 0,
            .port = 1,
            .sq_psn = Psn{100},
            .rq_psn = Psn{200},
            .peer = kPeerQpn,
            .path = {.sgid = kOwnGid, .dgid = kPeerGid},
            .path_mtu = 1024,
            .access = kRemoteWrite | kRemoteRead | kRemoteAtomic,
            .max_reads_out = 4,
            .max_reads_in = 4,
            .rnr_timer = 12,
            .ack_timeout = 14,
            .retry_count = 2,
            .rnr_retry = 3,
            .alternate_path = {.sgid = kOwnGid, .dgid = kOtherGid},
            .alternate_port = 1,
            .alternate_ack_timeout = 12};
  }
  static constexpr std::uint32_t kInitMask = kAttrPKeyIndex | kAttrPort | kAttrAccess;
  [[nodiscard]] bool reliable() const { return is_reliable(qp->type()); }
  [[nodiscard]] std::uint32_t rtr_mask() const {
    return kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn |
           (reliable() ? kAttrMaxReadsIn | kAttrRnrTimer : 0u);
  }
  [[nodiscard]] std::uint32_t rts_mask() const {
    return kAttrSqPsn |
           (reliable() ? kAttrAckTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut : 0u);
  }
  Expected<void> move(QpState to, std::uint32_t mask = 0, QpAttributes a = attributes()) {
    a.state = to;
    return qp->modify(a, mask | kAttrState);
  }
  void to_init() { ASSERT_TRUE(move(QpState::kInit, kInitMask)); }
  void to_rtr() {
    to_init();
    const auto moved = move(QpState::kRtr, rtr_mask());
    ASSERT_TRUE(moved) << moved.error().message;
  }
  void to_rts() {
    to_rtr();
    const auto moved = move(QpState::kRts, rts_mask());
    ASSERT_TRUE(moved) << moved.error().message;
  }

  std::errc post_receive(std::uint64_t wr_id, std::size_t length = 100) {
    const std::array pieces{sge(0, length)};
    return qp->post_receive({.wr_id = wr_id, .pieces = pieces});
  }
  std::errc post_send(std::uint64_t wr_id, std::size_t length = 10) {
    const std::array pieces{sge(1000, length)};
    return qp->post_send({.wr_id = wr_id, .signaled = true, .pieces = pieces});
  }

  struct Packet {
    wire::Opcode opcode = wire::Opcode::rc_send_only;
    Psn psn{200};
    std::string extended{};
    std::string payload{};
    std::uint8_t version = 0;
    PKey pkey = kDefaultPKey;
    Qpn destination = kOwnQpn;
    bool ack_request = true;
    bool migrated = false;
    Gid source = kPeerGid;
    std::uint8_t traffic_class = 0;
    bool multicast = false;
  };
  static std::vector<std::byte> encode(const Packet& p) {
    std::vector<std::byte> out(wire::Bth::kSize);
    const std::uint8_t pad = wire::pad_count_for(p.payload.size());
    wire::Bth{.opcode = p.opcode,
              .migrated = p.migrated,
              .pad_count = pad,
              .transport_version = p.version,
              .pkey = p.pkey,
              .dest_qp = p.destination,
              .ack_request = p.ack_request,
              .psn = p.psn}
        .write(out);
    for (const std::string& part : {p.extended, p.payload}) {
      const auto bytes = bytes_of(part);
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
    out.resize(out.size() + pad);
    return out;
  }
  [[nodiscard]] Packet read_request(std::uint32_t length) const {
    std::array<std::byte, wire::Reth::kSize> reth{};
    wire::Reth{.virtual_address = region.iova, .rkey = RKey{region.key}, .dma_length = length}
        .write(reth);
    return {.opcode = wire::Opcode::rc_read_request, .extended = text_of(reth)};
  }
  void arrive(const Packet& p) { arrive(encode(p), p); }
  void arrive(Bytes transport, const Packet& p) {
    qp->receive({.transport = transport,
                 .source = p.source,
                 .destination = kOwnGid,
                 .traffic_class = p.traffic_class,
                 .multicast = p.multicast},
                now);
  }
  static std::string ack(wire::Syndrome syndrome = wire::Syndrome::ack(), std::uint32_t msn = 1) {
    std::array<std::byte, wire::Aeth::kSize> bytes{};
    wire::Aeth{.syndrome = syndrome, .msn = msn}.write(bytes);
    return text_of(bytes);
  }
  std::vector<Sent> flush() {
    RecordingSink sink;
    while (qp->next_burst(burst, now)) {
      EXPECT_FALSE(qp->next_burst(burst, now)) << "one burst at a time";
      paths.push_back(burst.path);
      qp->sent(burst, sink.send(burst), now);
    }
    std::vector<Sent> all;
    for (const auto& datagram : sink.datagrams())
      all.push_back(Sent::parse(datagram));
    return all;
  }
  [[nodiscard]] std::uint64_t count(ConnectedCounter counter) const {
    return qp->connection().counters.get(counter);
  }
  static std::vector<CompletionStatus> statuses(const Completions& completions) {
    std::vector<CompletionStatus> all;
    for (const Completion& completion : completions.all)
      all.push_back(completion.status);
    return all;
  }

  Completions send_cq;
  Completions receive_cq;
  std::optional<ConnectedQueuePair> qp;
  Burst burst;
  std::vector<Path> paths;
};

}  // namespace weft::hca::test
