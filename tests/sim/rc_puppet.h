// SPDX-License-Identifier: Apache-2.0
// A peer that is no queue pair: it sends what a test says, and keeps what it is sent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/connected_host.h"
#include "wire/aeth.h"
#include "wire/bth.h"
#include "wire/endian.h"
#include "wire/reth.h"
#include "wire/roce.h"

namespace weft::sim::test {

struct PuppetPacket {
  wire::Bth bth;
  std::vector<std::byte> headers;
  std::vector<std::byte> payload;
  [[nodiscard]] wire::Syndrome syndrome() const { return wire::Aeth::parse(headers)->syndrome; }
};

class Puppet {
 public:
  Puppet(Scheduler& scheduler, Network& network, const Address& self, const Address& other)
      : scheduler_(scheduler), network_(network), self_(self), other_(other) {
    socket_ = network.open(self, 4'000'000, [this] { read(); });
  }

  void send(wire::Bth bth, Bytes headers = {}, Bytes payload = {}) {
    bth.pad_count = wire::pad_count_for(payload.size());
    std::vector<std::byte> packet(wire::Bth::kSize);
    bth.write(packet);
    packet.insert(packet.end(), headers.begin(), headers.end());
    packet.insert(packet.end(), payload.begin(), payload.end());
    packet.resize(packet.size() + bth.pad_count);
    send_raw(packet);
  }
  // Any bytes, with an ICRC that is right.
  void send_raw(Bytes packet) {
    std::vector<std::byte> datagram(packet.begin(), packet.end());
    const wire::IcrcFlow flow(self_.gid, other_.gid, self_.port, other_.port);
    const std::uint32_t icrc = flow.icrc(datagram);
    datagram.resize(datagram.size() + 4);
    wire::store_le32(datagram.data() + datagram.size() - 4, icrc);
    Run run{self_, other_, {std::move(datagram)}};
    while (!network_.send(socket_, run))
      scheduler_.run_until(network_.when_writable(socket_));
  }

  [[nodiscard]] const std::vector<PuppetPacket>& received() const { return received_; }
  void forget() { received_.clear(); }

 private:
  void read() {
    while (network_.readable(socket_)) {
      for (const auto& datagram : network_.read(socket_).datagrams) {
        const Bytes transport = Bytes(datagram).first(datagram.size() - 4);
        PuppetPacket packet{.bth = *wire::Bth::parse(transport), .headers = {}, .payload = {}};
        const std::size_t headers = wire::info(packet.bth.opcode).headers_size;
        const Bytes rest = transport.subspan(wire::Bth::kSize);
        ASSERT_GE(rest.size(), headers + packet.bth.pad_count);
        const Bytes payload = rest.subspan(headers, rest.size() - headers - packet.bth.pad_count);
        packet.headers.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(headers));
        packet.payload.assign(payload.begin(), payload.end());
        received_.push_back(std::move(packet));
      }
    }
  }

  Scheduler& scheduler_;
  Network& network_;
  Address self_;
  Address other_;
  std::size_t socket_;
  std::vector<PuppetPacket> received_;
};

// A host with one queue pair whose peer is a puppet.
class PuppetStage {
 public:
  static constexpr Qpn kQpn{0xC000};
  static constexpr Qpn kPeer{0xD000};
  static constexpr std::uint32_t kMtu = 1024;
  static constexpr std::size_t kMemory = 1 << 20;

  explicit PuppetStage(bool extensions, std::uint64_t seed = 1)
      : network_(scheduler_, Random(seed), {}),
        host_(scheduler_, network_, Random(seed + 1), {.gid = gid(1), .memory = kMemory}),
        puppet_(scheduler_, network_, {gid(2), 0xD000}, {gid(1), 0xC000}) {
    // The middle is the peer's to use; what is around it must stay.
    for (std::size_t i = 0; i < kMemory; ++i)
      host_.memory()[i] = pattern(i);
    remote_ = host_.add_region(
        kMemory / 2, kPart,
        hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic);
    local_ = host_.add_region(kMemory / 4, kPart, hca::kLocalWrite);
    hca::ConnectedConfig config{};
    config.qpn = kQpn;
    config.max_sends = 32;
    config.max_receives = 32;
    config.extensions = extensions;
    host_.add(config);
    host_.on_completion = [this](const hca::Completion& c) { completions_.push_back(c); };
    host_.on_events = [this](Qpn, std::uint32_t events) { events_ |= events; };
    setup_.path_mtu = kMtu;
  }

  // First PSN of the peer: 100, and of the queue pair: 500.
  void connect() {
    setup_.rq_psn = Psn{100};
    setup_.sq_psn = Psn{500};
    const auto done = host_.connect(kQpn, gid(2), kPeer, setup_);
    ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  }
  void post_receives(int count, std::uint32_t length = 8192) {
    for (int i = 0; i < count; ++i) {
      const std::array pieces{hca::Sge{local_.iova, length, LKey{local_.key}}};
      ASSERT_EQ(
          host_.post_receive(kQpn, {.wr_id = 100u + static_cast<unsigned>(i), .pieces = pieces}),
          std::errc{});
    }
  }
  std::errc post(std::uint64_t wr_id, hca::SendOpcode opcode, std::uint32_t length) {
    const std::array pieces{hca::Sge{local_.iova, length, LKey{local_.key}}};
    hca::SendRequest request{};
    request.wr_id = wr_id;
    request.opcode = opcode;
    request.signaled = true;
    request.pieces = pieces;
    request.remote_address = 0x1000;
    request.rkey = RKey{1};
    return host_.post_send(kQpn, request);
  }

  [[nodiscard]] static wire::Bth bth(wire::Opcode opcode, std::uint32_t psn, bool ask = true) {
    return {.opcode = opcode,
            .pkey = kDefaultPKey,
            .dest_qp = kQpn,
            .ack_request = ask,
            .psn = Psn{psn}};
  }
  [[nodiscard]] std::vector<std::byte> reth(std::uint64_t offset, std::uint32_t length) const {
    std::vector<std::byte> bytes(wire::Reth::kSize);
    wire::Reth{
        .virtual_address = remote_.iova + offset, .rkey = RKey{remote_.key}, .dma_length = length}
        .write(bytes);
    return bytes;
  }
  [[nodiscard]] static std::vector<std::byte> aeth(wire::Syndrome syndrome, std::uint32_t msn = 0) {
    std::vector<std::byte> bytes(wire::Aeth::kSize);
    wire::Aeth{.syndrome = syndrome, .msn = msn}.write(bytes);
    return bytes;
  }
  static std::vector<std::byte> payload(std::size_t length) {
    return std::vector<std::byte>(length, std::byte{0x5A});
  }

  bool run(Duration most = 20s) { return scheduler_.run_until(scheduler_.now() + most); }

  // Nothing outside of the two regions has changed.
  void expect_nothing_else_touched() {
    for (std::size_t i = 0; i < kMemory; ++i) {
      const bool lent = (i >= kMemory / 2 && i < kMemory / 2 + kPart) ||
                        (i >= kMemory / 4 && i < kMemory / 4 + kPart);
      if (lent) continue;
      ASSERT_EQ(host_.memory()[i], pattern(i)) << "offset " << i;
    }
  }

  [[nodiscard]] ConnectedHost& host() { return host_; }
  [[nodiscard]] Puppet& puppet() { return puppet_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] hca::ConnectedQueuePair& queue_pair() { return host_.queue_pair(kQpn); }
  [[nodiscard]] std::uint64_t counter(hca::ConnectedCounter which) {
    return queue_pair().connection().counters.get(which);
  }
  [[nodiscard]] const std::vector<hca::Completion>& completions() const { return completions_; }
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] ConnectionSetup& setup() { return setup_; }
  [[nodiscard]] const hca::MemoryRegion& remote() const { return remote_; }
  static Gid gid(std::uint32_t last) { return Gid::from_ipv4(0x0A000000 + last); }

  static constexpr std::size_t kPart = 65'536;

 private:
  static std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 7 + i / 251); }

  Scheduler scheduler_;
  Network network_;
  ConnectedHost host_;
  Puppet puppet_;
  ConnectionSetup setup_;
  hca::MemoryRegion remote_;
  hca::MemoryRegion local_;
  std::vector<hca::Completion> completions_;
  std::uint32_t events_ = 0;
};

}  // namespace weft::sim::test
