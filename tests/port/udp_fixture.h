// SPDX-License-Identifier: Apache-2.0
// Ports on real sockets over loopback, and bursts to send through them.
#pragma once

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "io/system_entropy.h"
#include "port/udp/framing.h"
#include "port/udp/udp_port.h"
#include "wire/bth.h"
#include "wire/deth.h"

namespace weft::port {

inline Gid address(const char* text) {
  return io::parse_address(text).value();
}

struct Arrival {
  std::vector<std::byte> transport;
  std::array<std::byte, hca::kGrhArea> header;  // zeros if there is none
  Gid source;
  Gid destination;
  Qpn source_qpn;
  std::uint8_t traffic_class;
  bool multicast;

  [[nodiscard]] Qpn dest_qp() const { return wire::Bth::parse(transport).value().dest_qp; }
  // What follows BTH and DETH.
  [[nodiscard]] Bytes message(std::size_t size) const {
    return Bytes(transport).subspan(wire::Bth::kSize + wire::Deth::kSize, size);
  }
};

struct Undelivery {
  hca::Undelivered::Reason reason;
  Gid destination;
  std::vector<std::byte> transport;
};

class Collector final : public DatagramSink {
 public:
  void deliver(const hca::InDatagram& in) override {
    arrivals.push_back(
        {{in.transport.begin(), in.transport.end()},
         in.network_header != nullptr ? *in.network_header : std::array<std::byte, hca::kGrhArea>{},
         in.source,
         in.destination,
         in.source_qpn,
         in.traffic_class,
         in.multicast});
  }
  void undelivered(const hca::Undelivered& packet) override {
    undelivered_packets.push_back(
        {packet.reason, packet.destination, {packet.transport.begin(), packet.transport.end()}});
  }
  void end_run() override {}
  std::vector<Arrival> arrivals;
  std::vector<Undelivery> undelivered_packets;
};

class UdpFixture : public testing::Test {
 protected:
  static UdpPortConfig on_loopback(hca::UdFraming framing = hca::UdFraming::kBth) {
    UdpPortConfig config;
    config.interface = "lo";
    config.ifindex = if_nametoindex("lo");
    config.framing = framing;
    return config;
  }
  std::unique_ptr<UdpPort> open(const UdpPortConfig& config) {
    return UdpPort::open(config, entropy_).value();
  }
  std::unique_ptr<UdpPort> open(hca::UdFraming framing, std::uint16_t first = 49152,
                                std::uint16_t last = 65534) {
    UdpPortConfig config = on_loopback(framing);
    config.first_port = first;
    config.last_port = last;
    return open(config);
  }

  // A burst of `count` messages of `size` bytes, message i filled with i.
  void fill(hca::Burst& burst, Qpn to, std::size_t count, std::size_t size, bool headers,
            const char* from, const char* destination) {
    burst.clear();
    burst.path = {};
    burst.path.sgid = address(from);
    burst.path.dgid = address(destination);
    burst.destination = to;
    payloads_.assign(count, {});
    for (std::size_t i = 0; i < count; ++i) {
      payloads_[i].assign(size, static_cast<std::byte>(i));
      hca::OutPacket& packet = burst.open();
      if (headers) {
        packet.header_length = wire::Bth::kSize + wire::Deth::kSize;
        packet.pad = wire::pad_count_for(size);
        wire::Bth{.opcode = wire::Opcode::ud_send_only, .pad_count = packet.pad, .dest_qp = to}
            .write(packet.header);
      }
      burst.add_piece(packet, payloads_[i]);
      burst.close(packet, headers ? kIcrcBytes : 0);
    }
  }

  static void wait_for(const Inlet& inlet, std::size_t which = 0) {
    pollfd ready{inlet.descriptors().at(which), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
  }
  static void wait_for(const Endpoint& endpoint, std::size_t which = 0) {
    wait_for(*endpoint.inlet(), which);
  }
  // Until `count` have arrived.
  void collect(Inlet& inlet, std::size_t count) {
    while (collector_.arrivals.size() < count && !HasFatalFailure()) {
      wait_for(inlet);
      inlet.receive(collector_, 1);
    }
  }

  static std::uint64_t counter(const Port& port, std::string_view name) {
    for (const CounterValue& value : port.counters()) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  io::SystemEntropy entropy_;
  hca::Burst burst_;
  Collector collector_;
  std::vector<std::vector<std::byte>> payloads_;
};

}  // namespace weft::port
