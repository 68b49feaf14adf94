// SPDX-License-Identifier: Apache-2.0
// Two hosts with a command core each, joined by a network in virtual time, and programs on them
// that speak as librdmacm does.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "rdmacm/command_core.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {

inline Gid ipv4(std::uint8_t last) {
  return Gid::from_ipv4(0x0A000000U | last);
}

// What is on its way: management datagrams, each lost if `lose` says so.
class Wire {
 public:
  using Receiver = std::function<void(Bytes, const hca::Path&)>;
  void attach(const Gid& address, Receiver receiver) { hosts_[address] = std::move(receiver); }
  // On a fabric: datagrams to these LIDs go to the host of this GID.
  void give_lids(const Gid& gid, Lid first, std::uint8_t lmc) {
    for (unsigned bits = 0; bits < 1U << lmc; ++bits)
      lids_[Lid{static_cast<std::uint16_t>(first.value() + bits)}] = gid;
  }
  void send(const hca::Path& to, Bytes mad) {
    ++sent;
    if (lose && lose()) return;
    under_way_.push_back({to, {mad.begin(), mad.end()}});
  }
  // True when something arrived.
  bool deliver() {
    if (under_way_.empty()) return false;
    const Packet packet = std::move(under_way_.front());
    under_way_.pop_front();
    if (sees) sees(packet.mad);
    const hca::Path back = packet.to.by_lid() ? back_by_lid(packet.to) : back_by_gid(packet.to);
    if (const auto host = hosts_.find(back.sgid); host != hosts_.end()) {
      host->second(packet.mad, back);
    }
    return true;
  }

  std::function<bool()> lose;
  std::function<void(Bytes)> sees;  // what arrives
  std::size_t sent = 0;

 private:
  static hca::Path back_by_gid(const hca::Path& to) {
    hca::Path back;
    back.sgid = to.dgid;
    back.dgid = to.sgid;
    return back;
  }
  [[nodiscard]] Lid first_lid(const Gid& gid) const {
    for (const auto& [lid, owner] : lids_) {
      if (owner == gid) return lid;
    }
    return Lid{};
  }
  // Without a GRH nobody knows the sender's GID.
  [[nodiscard]] hca::Path back_by_lid(const hca::Path& to) const {
    hca::Path back;
    const auto owner = lids_.find(to.dlid);
    if (owner == lids_.end()) return back;
    back.sgid = owner->second;
    back.dlid = Lid{static_cast<std::uint16_t>(first_lid(to.sgid).value() + to.source_path_bits)};
    back.source_path_bits =
        static_cast<std::uint8_t>(to.dlid.value() - first_lid(owner->second).value());
    back.sl = to.sl;
    back.global = false;
    return back;
  }

  struct Packet {
    hca::Path to;
    std::vector<std::byte> mad;
  };
  std::map<Gid, Receiver> hosts_;
  std::map<Lid, Gid> lids_;
  std::deque<Packet> under_way_;
};

class DrawnEntropy final : public Entropy {
 public:
  explicit DrawnEntropy(std::uint64_t seed) : state_(seed) {}
  std::uint64_t draw() override {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t value = state_;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
  }

 private:
  std::uint64_t state_;
};

class Host final : public Interfaces, public mgmt::MadSink, public EventSignal {
 public:
  Host(Wire& wire, std::uint8_t number, const CoreConfig& config = {})
      : address(ipv4(number)), wire_(wire), entropy_(number), guid_(0x100U + number) {
    manager.emplace(mgmt::CmConfig{}, *this, entropy_, *this);
    core.emplace(config, *this, entropy_, *manager, *this);
    wire.attach(address, [this](Bytes mad, const hca::Path& from) {
      manager->receive(mad, from, kDefaultPKey, now);
    });
  }

  std::optional<mgmt::LocalEnd> find(const Gid& wanted) const override {
    const auto known = describe(wanted, 0);
    return known ? std::optional(known->end) : std::nullopt;
  }
  std::optional<LocalAddress> describe(const Gid& wanted, std::uint32_t) const override {
    if (!has_address || (wanted != address && wanted != address6)) return std::nullopt;
    LocalAddress out;
    out.end.ca_guid = guid_;
    out.end.sgid_index = wanted == address ? 0 : 1;
    out.gid = wanted;
    out.path_mtu = 2048;
    return out;
  }
  tl::expected<Gid, std::errc> source_for(const Gid& destination, std::uint32_t) const override {
    if (!has_route) return tl::unexpected(std::errc::network_unreachable);
    return destination.is_ipv4_mapped() ? address : address6;
  }
  void send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) override {
    wire_.send(to, mad);
  }
  void raised(ChannelId channel) override { ++waiting[channel]; }
  void withdrawn(ChannelId channel, std::size_t count) override { waiting[channel] -= count; }
  void agreed(const hca::Agreement& agreement) override { agreements.push_back(agreement); }

  Gid address;
  Gid address6{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  bool has_address = true;
  bool has_route = true;
  Time now{};
  std::map<ChannelId, std::size_t> waiting;
  std::vector<hca::Agreement> agreements;
  std::optional<mgmt::ConnectionManager> manager;
  std::optional<CommandCore> core;

 private:
  Wire& wire_;
  DrawnEntropy entropy_;
  Guid guid_;
};

// One rdma_cm file of a program.
template <class OfHost>
class ProgramOf {
 public:
  explicit ProgramOf(OfHost& host) : host_(host), channel(host.core->open_channel()) {}

  // A command with its structure and, for those that have one, a response.
  template <class Response = std::monostate, class Body>
  tl::expected<Response, std::errc> run(std::uint32_t number, const Body& body, Bytes extra = {},
                                        ChannelId other = 0) {
    constexpr std::size_t kOut = std::is_same_v<Response, std::monostate> ? 0 : sizeof(Response);
    const rdma_ucm_cmd_hdr header{number, sizeof body, kOut};
    std::vector<std::byte> bytes(sizeof header + sizeof body);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &body, sizeof body);
    const Reply reply = host_.core->execute(channel, bytes, extra, other, host_.now);
    if (reply.error != std::errc{}) return tl::unexpected(reply.error);
    Response out{};
    if constexpr (kOut != 0) {
      std::memcpy(&out, reply.bytes.data(), std::min<std::size_t>(reply.size, kOut));
    }
    return out;
  }

  tl::expected<std::uint32_t, std::errc> create(wire::PortSpace space, std::uint64_t uid,
                                                std::uint8_t type = 0) {
    rdma_ucm_create_id command{};
    command.uid = uid;
    command.ps = static_cast<std::uint16_t>(space);
    command.qp_type = type;
    const auto response = run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_CREATE_ID, command);
    if (!response) return tl::unexpected(response.error());
    return response->id;
  }
  tl::expected<std::uint32_t, std::errc> destroy(std::uint32_t id) {
    rdma_ucm_destroy_id command{};
    command.id = id;
    const auto response = run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_DESTROY_ID, command);
    if (!response) return tl::unexpected(response.error());
    return response->events_reported;
  }
  std::errc bind(std::uint32_t id, const Address& address) {
    rdma_ucm_bind command{};
    command.id = id;
    command.addr_size = store(address, command.addr);
    return error_of(run(RDMA_USER_CM_CMD_BIND, command));
  }
  std::errc listen(std::uint32_t id, std::uint32_t backlog = 0) {
    return error_of(run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, backlog}));
  }
  std::errc resolve(std::uint32_t id, const Address& destination) {
    rdma_ucm_resolve_addr command{};
    command.id = id;
    command.timeout_ms = 2000;
    command.dst_size = store(destination, command.dst_addr);
    return error_of(run(RDMA_USER_CM_CMD_RESOLVE_ADDR, command));
  }
  std::errc resolve_route(std::uint32_t id) {
    return error_of(run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}));
  }
  std::errc connect(std::uint32_t id, rdma_ucm_conn_param parameters) {
    rdma_ucm_connect command{};
    command.id = id;
    command.conn_param = parameters;
    return error_of(run(RDMA_USER_CM_CMD_CONNECT, command));
  }
  std::errc accept(std::uint32_t id, rdma_ucm_conn_param parameters, std::uint64_t uid) {
    rdma_ucm_accept command{};
    command.uid = uid;
    command.id = id;
    command.conn_param = parameters;
    return error_of(run(RDMA_USER_CM_CMD_ACCEPT, command));
  }
  std::errc disconnect(std::uint32_t id) {
    return error_of(run(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id}));
  }
  std::errc set_option(std::uint32_t id, std::uint32_t level, std::uint32_t name, Bytes value) {
    rdma_ucm_set_option command{};
    command.id = id;
    command.level = level;
    command.optname = name;
    command.optlen = static_cast<std::uint32_t>(value.size());
    return error_of(run(RDMA_USER_CM_CMD_SET_OPTION, command, value));
  }
  std::optional<rdma_ucm_event_resp> event() {
    const auto response =
        run<rdma_ucm_event_resp>(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{});
    if (!response) return std::nullopt;
    --host_.waiting[channel];
    return *response;
  }
  // The next event, which must be of this kind.
  rdma_ucm_event_resp expect(abi::Event kind) {
    const auto got = event();
    EXPECT_TRUE(got.has_value());
    if (!got) return {};
    EXPECT_EQ(got->event, static_cast<std::uint32_t>(kind));
    return *got;
  }
  tl::expected<rdma_ucm_query_addr_resp, std::errc> query_address(std::uint32_t id) {
    rdma_ucm_query command{};
    command.id = id;
    command.option = RDMA_USER_CM_QUERY_ADDR;
    return run<rdma_ucm_query_addr_resp>(RDMA_USER_CM_CMD_QUERY, command);
  }
  tl::expected<ib_uverbs_qp_attr, std::errc> attributes(std::uint32_t id, hca::QpState state) {
    rdma_ucm_init_qp_attr command{};
    command.id = id;
    command.qp_state = static_cast<std::uint32_t>(state);
    return run<ib_uverbs_qp_attr>(RDMA_USER_CM_CMD_INIT_QP_ATTR, command);
  }
  void close() { host_.core->close_channel(channel, host_.now); }

 private:
  static std::uint16_t store(const Address& address, __kernel_sockaddr_storage& out) {
    std::array<std::byte, Address::kStorage> raw{};
    const std::size_t size = address.write(raw);
    std::memcpy(&out, raw.data(), raw.size());
    return static_cast<std::uint16_t>(size);
  }
  template <class Result>
  static std::errc error_of(const Result& result) {
    return result ? std::errc{} : result.error();
  }

  OfHost& host_;

 public:
  const ChannelId channel;
};
using Program = ProgramOf<Host>;

inline rdma_ucm_conn_param parameters(std::uint32_t qpn, std::string_view data = {}) {
  rdma_ucm_conn_param out{};
  out.valid = 1;
  out.qp_num = qpn;
  out.responder_resources = 3;
  out.initiator_depth = 2;
  out.retry_count = 5;
  out.rnr_retry_count = 6;
  std::memcpy(out.private_data, data.data(), data.size());
  out.private_data_len = static_cast<std::uint8_t>(data.size());
  return out;
}

// Two hosts of some kind on one wire, and the time.
template <class OfHost>
class TwoEnds : public ::testing::Test {
 protected:
  template <class... Rest>
  explicit TwoEnds(const Rest&... rest) : server(wire, 1, rest...), client(wire, 2, rest...) {}

  // Until nothing is under way.
  void settle() {
    while (wire.deliver()) {
    }
  }
  // Lets timers run for so long.
  void pass(Duration duration) {
    const Time end = server.now + duration;
    while (true) {
      settle();
      Time next = end;
      for (OfHost* host : {&server, &client}) {
        if (const auto deadline = host->manager->deadline()) next = std::min(next, *deadline);
      }
      server.now = client.now = std::max(server.now, next);
      if (server.now >= end) break;
      server.manager->expire(server.now);
      client.manager->expire(client.now);
    }
    settle();
  }

  Wire wire;
  OfHost server;
  OfHost client;
};

class TwoHosts : public TwoEnds<Host> {
 protected:
  explicit TwoHosts(const CoreConfig& config = {}) : TwoEnds(config) {}

  // A listener on `port` of the server, and the steps of a client up to its request.
  std::uint32_t start_listener(Program& program, std::uint16_t port,
                               wire::PortSpace space = wire::PortSpace::kTcp) {
    const auto id = program.create(space, kListenerUid).value();
    EXPECT_EQ(program.bind(id, Address::ip(server.address, port)), std::errc{});
    EXPECT_EQ(program.listen(id), std::errc{});
    return id;
  }
  std::uint32_t start_client(Program& program, std::uint16_t port,
                             wire::PortSpace space = wire::PortSpace::kTcp) {
    const auto id = program.create(space, kClientUid).value();
    EXPECT_EQ(program.resolve(id, Address::ip(server.address, port)), std::errc{});
    program.expect(abi::Event::kAddrResolved);
    EXPECT_EQ(program.resolve_route(id), std::errc{});
    program.expect(abi::Event::kRouteResolved);
    return id;
  }
  struct Connection {
    std::uint32_t client;
    std::uint32_t server;
  };
  Connection connect(Program& listening, Program& connecting, std::uint16_t port) {
    const auto id = start_client(connecting, port);
    EXPECT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
    settle();
    const auto request = listening.expect(abi::Event::kConnectRequest);
    EXPECT_EQ(listening.accept(request.id, parameters(0x222), kServerUid), std::errc{});
    settle();
    connecting.expect(abi::Event::kConnectResponse);
    EXPECT_EQ(connecting.accept(id, {}, 0), std::errc{});
    settle();
    listening.expect(abi::Event::kEstablished);
    return {id, request.id};
  }

  static constexpr std::uint64_t kListenerUid = 0xA1;
  static constexpr std::uint64_t kServerUid = 0xA2;
  static constexpr std::uint64_t kClientUid = 0xB1;
};

}  // namespace weft::rdmacm
