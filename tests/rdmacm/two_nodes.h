// SPDX-License-Identifier: Apache-2.0
// A fabric of two nodes for tests of rdma_cm: GIDs instead of IP addresses below, LIDs, and a
// subnet administrator that the test plays.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "two_hosts.h"

namespace weft::rdmacm {

inline constexpr std::uint8_t kLmc = 2;
inline constexpr std::uint16_t kFirstLid = 16;
inline constexpr std::uint8_t kAskedFor = 77;  // of an address that only the administrator knows

inline Gid gid_of(std::uint8_t number) {
  return Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, number}};
}

// A node: its port has an IP address, a GID and four LIDs.
class Node final : public Interfaces, public mgmt::MadSink, public EventSignal, public Routes {
 public:
  struct Asked {
    std::uint32_t identifier;
    RouteQuestion question;
  };

  Node(Wire& wire, std::uint8_t number)
      : address(ipv4(number)),
        gid(gid_of(number)),
        lid(static_cast<std::uint16_t>(kFirstLid * number)),
        wire_(wire),
        entropy_(number) {
    manager.emplace(mgmt::CmConfig{}, *this, entropy_, *this);
    core.emplace(CoreConfig{}, *this, entropy_, *manager, *this, this);
    wire.give_lids(gid, lid, kLmc);
    wire.attach(gid, [this](Bytes mad, const hca::Path& from) {
      manager->receive(mad, from, kDefaultPKey, now);
    });
  }

  std::optional<mgmt::LocalEnd> find(const Gid& wanted) const override {
    const auto known = describe(wanted, 0);
    return known ? std::optional(known->end) : std::nullopt;
  }
  std::optional<LocalAddress> describe(const Gid& wanted, std::uint32_t) const override {
    if (wanted != address && wanted != gid) return std::nullopt;
    LocalAddress out;
    out.end = {.ca_guid = Guid{lid.value()},
               .port = 2,
               .on_fabric = true,
               .lid = has_lid ? lid : Lid{},
               .lmc = kLmc};
    out.gid = gid;
    out.path_mtu = 4096;
    return out;
  }
  std::optional<std::uint16_t> pkey_index(const mgmt::LocalEnd&, PKey pkey) const override {
    if (pkey.value() == 0x8007) return std::uint16_t{5};
    return pkey == kDefaultPKey ? std::optional<std::uint16_t>(0) : std::nullopt;
  }
  tl::expected<Gid, std::errc> source_for(const Gid&, std::uint32_t) const override {
    return address;
  }
  tl::expected<Gid, std::errc> peer(const Gid& wanted) const override {
    for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
      if (wanted == ipv4(number)) return gid_of(number);
    }
    return tl::unexpected(wanted == ipv4(kAskedFor) ? std::errc::operation_in_progress
                                                    : std::errc::host_unreachable);
  }
  void send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) override {
    wire_.send(to, mad);
  }
  void raised(ChannelId channel) override { ++waiting[channel]; }
  void withdrawn(ChannelId channel, std::size_t count) override { waiting[channel] -= count; }
  void agreed(const hca::Agreement&) override {}
  std::errc ask(std::uint32_t identifier, const RouteQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    asked.push_back({identifier, question});
    return {};
  }
  std::errc find_host(std::uint32_t identifier, const HostQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    hosts_asked.emplace_back(identifier, question);
    return {};
  }
  std::errc join(std::uint32_t membership, const GroupQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    joining.emplace_back(membership, question);
    return {};
  }
  void leave(const GroupQuestion& question) override {
    left.push_back(question.mgid);
    left_sending.push_back(question.send_only);
  }
  void forget(std::uint32_t identifier) override { forgotten.push_back(identifier); }

  Gid address;
  Gid gid;
  Lid lid;
  bool has_lid = true;
  bool has_manager = true;
  Time now{};
  std::map<ChannelId, std::size_t> waiting;
  std::vector<Asked> asked;
  std::vector<std::pair<std::uint32_t, HostQuestion>> hosts_asked;
  std::vector<std::uint32_t> forgotten;
  std::vector<std::pair<std::uint32_t, GroupQuestion>> joining;
  std::vector<Gid> left;
  std::vector<bool> left_sending;  // of these, who only sent
  std::optional<mgmt::ConnectionManager> manager;
  std::optional<CommandCore> core;

 private:
  Wire& wire_;
  DrawnEntropy entropy_;
};

class OnFabric : public TwoEnds<Node> {
 protected:
  static PathRecord path_to_server() {
    PathRecord path;
    path.sgid = gid_of(2);
    path.dgid = gid_of(1);
    path.dlid = Lid{kFirstLid + 1};
    path.slid = Lid{2 * kFirstLid + 3};
    path.pkey = PKey{0x8007};
    path.sl = Sl{4};
    path.mtu = 2048;
    path.rate = 7;
    path.packet_life = 13;
    path.hop_limit = 0;
    return path;
  }
  std::uint32_t start_listener(ProgramOf<Node>& program) {
    const auto id = program.create(wire::PortSpace::kTcp, 0xA1).value();
    EXPECT_EQ(program.bind(id, Address::ip(server.address, 7000)), std::errc{});
    EXPECT_EQ(program.listen(id), std::errc{});
    return id;
  }
  std::uint32_t start_client(ProgramOf<Node>& program,
                             wire::PortSpace space = wire::PortSpace::kTcp) {
    const auto id = program.create(space, 0xB1).value();
    EXPECT_EQ(program.resolve(id, Address::ip(server.address, 7000)), std::errc{});
    program.expect(abi::Event::kAddrResolved);
    return id;
  }
  std::uint32_t start_routed_client(ProgramOf<Node>& program) {
    const auto id = start_client(program);
    EXPECT_EQ(program.resolve_route(id), std::errc{});
    client.core->route_found(id, path_to_server());
    program.expect(abi::Event::kRouteResolved);
    return id;
  }

  ProgramOf<Node> listening{server};
  ProgramOf<Node> connecting{client};
};

}  // namespace weft::rdmacm
