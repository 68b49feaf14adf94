// SPDX-License-Identifier: Apache-2.0
// A program's port on a fabric, with a test in place of the daemon.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fake_lab.h"
#include "port/ring/fabric_port.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace weft::port {

inline constexpr QKey kQkey{0x1234};

class FabricPortTest : public testing::Test {
 protected:
  void SetUp() override { lab_.gids = {Gid{{0xFE, 0x80, 7}}}; }
  void open(FabricPortConfig config = {}) {
    lab_.start();
    config.place = {lab_.directory, "a"};
    auto port = FabricPort::open(config);
    ASSERT_TRUE(port) << port.error().message;
    port_ = std::move(*port);
    auto endpoint = port_->open_endpoint(Service::kDatagram);
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    endpoint_ = std::move(*endpoint);
  }

  static hca::Path path_to(std::uint16_t lid) {
    hca::Path path;
    path.dlid = Lid{lid};
    path.global = false;
    return path;
  }
  // `count` datagrams of `message` each.
  hca::Burst& burst(Bytes message, std::size_t count = 1, hca::Path path = path_to(0x20)) {
    burst_.clear();
    burst_.path = path;
    burst_.destination = to_;
    for (std::size_t i = 0; i < count; ++i) {
      hca::OutPacket& packet = burst_.open();
      wire::Bth bth;
      bth.opcode = wire::Opcode::ud_send_only;
      bth.pad_count = wire::pad_count_for(message.size());
      bth.pkey = pkey_;
      bth.dest_qp = to_;
      bth.psn = Psn{static_cast<std::uint32_t>(i)};
      bth.write(packet.header);
      wire::Deth{.qkey = qkey_, .src_qp = endpoint_->qpn()}.write(
          MutableBytes(packet.header).subspan(wire::Bth::kSize));
      packet.header_length = wire::Bth::kSize + wire::Deth::kSize;
      packet.pad = bth.pad_count;
      if (!message.empty()) burst_.add_piece(packet, message);
      burst_.close(packet, 4);
    }
    return burst_;
  }
  std::uint64_t counter(std::string_view name) {
    for (const CounterValue& value : port_->counters()) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  // A packet that says it comes from `slid`.
  std::vector<std::byte> packet_from(std::uint16_t slid, std::size_t payload = 4) {
    std::vector<std::byte> packet(8 + 12 + payload + 6);
    wire::Lrh{.dlid = Lid{0x10},
              .packet_words = static_cast<std::uint16_t>((packet.size() - 2) / 4),
              .slid = Lid{slid}}
        .write(packet);
    wire::Bth{.opcode = wire::Opcode::rc_send_only, .pkey = kDefaultPKey, .dest_qp = Qpn{0x100}}
        .write(MutableBytes(packet).subspan(8));
    wire::seal_link_packet(packet);
    return packet;
  }
  std::uint32_t take_news(std::uint8_t port) {
    port_->hear_news();
    return port_->take_news(port);
  }
  std::uint32_t told(const std::function<void()>& tell) {
    tell();
    return take_news(1);
  }
  void expect_dropped(const char* name) {
    const std::uint64_t before = counter(name);
    EXPECT_EQ(endpoint_->send(burst(message_, 2)).outcome, hca::SendOutcome::kSent);
    EXPECT_EQ(counter(name), before + 2);
    EXPECT_EQ(lab_.sent(), 0u);
  }

  test::FakeLab lab_;
  std::unique_ptr<FabricPort> port_;
  std::unique_ptr<Endpoint> endpoint_;
  hca::Burst burst_;
  Qpn to_{0x777};
  PKey pkey_ = kDefaultPKey;
  QKey qkey_ = kQkey;
  std::vector<std::byte> message_ = std::vector<std::byte>(1001, std::byte{0x42});
};

}  // namespace weft::port
