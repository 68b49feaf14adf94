// SPDX-License-Identifier: Apache-2.0
// A program on a node of a lab, and packets as its engine would make them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fabric/channel_adapter.h"
#include "fabric/fabric.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::fabric {

// The GID of a port's GUID `index` in its subnet.
inline Gid gid_of(const NodePort& port, std::size_t index = 0) {
  std::array<std::uint8_t, 16> bytes{};
  const auto out = std::as_writable_bytes(std::span(bytes));
  wire::store_be64(out.data(), port.port_info().gid_prefix);
  wire::store_be64(out.data() + 8, port.guids(0).guids.at(index).value());
  return Gid{bytes};
}

// A UD SEND, sealed.
struct Datagram {
  Lid slid{}, dlid{};
  Sl sl{};
  Vl vl{};
  std::optional<wire::Grh> grh = std::nullopt;  // its PayLen is filled in
  wire::Opcode opcode = wire::Opcode::ud_send_only;
  PKey pkey = kDefaultPKey;
  Qpn dest{};
  Qpn source{};
  QKey qkey{7};
  Psn psn{};
  std::size_t payload = 64;  // bytes, a multiple of 4

  [[nodiscard]] std::size_t bth_at() const {
    return wire::Lrh::kSize + (grh ? wire::Grh::kSize : 0);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    const std::size_t at = bth_at();
    const std::size_t covered =
        at + wire::Bth::kSize + wire::Deth::kSize + payload + wire::kIcrcSize;
    std::vector<std::byte> bytes(covered + wire::kVcrcSize);
    const MutableBytes all(bytes);
    wire::Lrh{.vl = vl,
              .sl = sl,
              .next_header = grh ? wire::Lnh::iba_global : wire::Lnh::iba_local,
              .dlid = dlid,
              .packet_words = static_cast<std::uint16_t>(covered / 4),
              .slid = slid}
        .write(all);
    if (grh) {
      wire::Grh header = *grh;
      header.payload_length = static_cast<std::uint16_t>(covered - at);
      header.write(all.subspan(wire::Lrh::kSize));
    }
    wire::Bth{.opcode = opcode, .pkey = pkey, .dest_qp = dest, .psn = psn}.write(all.subspan(at));
    wire::Deth{.qkey = qkey, .src_qp = source}.write(all.subspan(at + wire::Bth::kSize));
    for (std::size_t i = 0; i < payload; ++i)
      bytes[at + wire::Bth::kSize + wire::Deth::kSize + i] =
          std::byte(static_cast<std::uint8_t>(psn.value() + i));
    wire::seal_link_packet(bytes);
    return bytes;
  }
};

class TestProgram final : public Program {
 public:
  TestProgram(Fabric& fabric, const std::string& node, mgmt::PortNumber port = 1)
      : fabric_(fabric), adapter_(*fabric.find_adapter(node)), port_(port) {
    auto attached = adapter_.attach(port, *this);
    EXPECT_TRUE(attached);
    attachment_ = std::move(*attached);
    qpn = *attachment_->allocate();
  }

  [[nodiscard]] Lid lid() const { return adapter_.port(port_).lid(); }
  [[nodiscard]] Datagram to(const TestProgram& other) const { return to(other.lid(), other.qpn); }
  [[nodiscard]] Datagram to(Lid lid, Qpn dest) const {
    return {.slid = this->lid(), .dlid = lid, .dest = dest, .source = qpn};
  }
  Sent send(const Datagram& datagram, Time now) { return send(datagram.bytes(), now); }
  Sent send(Bytes bytes, Time now) { return send(bytes, qpn, attachment_->epoch(), now); }
  Sent send(Bytes bytes, Qpn source, std::uint32_t epoch, Time now) {
    link::PacketPtr packet = fabric_.pool().copy(bytes);
    EXPECT_TRUE(packet);
    const Sent sent = attachment_->send(packet, source, epoch, now);
    EXPECT_EQ(packet == nullptr, sent != Sent::kNotNow);
    return sent;
  }
  void take_more(std::size_t packets, Time now) {
    room += packets;
    attachment_->resume(now);
  }
  void detach() { attachment_.reset(); }
  [[nodiscard]] bool attached() const { return attachment_ != nullptr; }
  [[nodiscard]] Attachment& attachment() { return *attachment_; }
  [[nodiscard]] std::uint64_t count(NodeCounter counter) const {
    return adapter_.port(port_).counters().get(counter);
  }

  Qpn qpn{};
  std::size_t room = SIZE_MAX;  // packets that it still takes
  std::vector<std::vector<std::byte>> taken;
  std::vector<Qpn> taken_for;  // the raw queue pairs of those of these that are for such
  int may_sends = 0;
  int changes = 0;
  int reregisters = 0;

 private:
  void deliver(link::PacketPtr& packet, Time) override {
    if (room == 0) return;
    if (room != SIZE_MAX) --room;
    taken.emplace_back(packet->size());
    packet->copy_to(taken.back());
    packet.reset();
  }
  void deliver_raw(link::PacketPtr& packet, Qpn to, Time now) override {
    deliver(packet, now);
    if (packet == nullptr) taken_for.push_back(to);
  }
  void may_send(Time) override { ++may_sends; }
  void port_changed(bool reregister, Time) override {
    ++changes;
    reregisters += reregister ? 1 : 0;
  }

  Fabric& fabric_;
  ChannelAdapter& adapter_;
  mgmt::PortNumber port_;
  std::unique_ptr<Attachment> attachment_;
};

}  // namespace weft::fabric
