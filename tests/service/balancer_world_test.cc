// SPDX-License-Identifier: Apache-2.0
// Clients that connect to a service GID, exchange packets and disconnect in virtual time, over
// links that lose and reorder messages and data, while the set of servers changes: each packet of
// a connection gets to the server that has it, as if there was no balancer.
#include <map>
#include <queue>

#include "runtime_fixture.h"
#include "service/balancer/balancer.h"
#include "sim/seeds.h"

namespace weft::service::test {
namespace {

using wire::CmMessage;
using wire::CommId;

constexpr Lid kBalancer{0xF};
constexpr Lid kFirstClient{0x10};
constexpr Lid kFirstServer{0x20};
constexpr Duration kRepeat = 400ms;
constexpr int kMostRepeats = 12;
constexpr int kPacketsSent = 8;  // each way of a connection

// A connection, as both ends know it. Queue pair numbers of servers are all the same.
struct Connection {
  enum class State { kIdle, kRequested, kConnected, kClosing, kDone };
  std::size_t client = 0;
  State state = State::kIdle;
  Time repeat_at{};
  int repeats = 0;
  std::optional<std::size_t> server{};
  Qpn client_sees{};
  Qpn server_sees{};
  int sent = 0;
  int at_server = 0;
  int at_client = 0;
};

class BalancerWorld final : private RuntimeUser, private PathAsker {
 public:
  BalancerWorld(std::uint64_t seed, Balancer::Spread spread)
      : random_(seed),
        entropy_(Random(seed + 1)),
        runtime_({}, *this, *this, entropy_),
        balancer_({.spread = spread}, entropy_),
        loss_(static_cast<double>(random_.below(20)) / 100) {
    balancer_.set_service(kService);
    set_servers();
    runtime_.set_chain(kBalancer, {.services = {&balancer_}});
    for (std::size_t i = 0; i < connections_.size(); ++i)
      connections_[i] = {.client = i % kClients, .repeat_at = Time(1s + i * 20ms)};
  }

  void run() {
    while (now_ < Time(40s)) {
      now_ += 5ms;
      for (std::size_t i = 0; i < connections_.size(); ++i)
        work(i);
      while (!flying_.empty() && flying_.top().when <= now_) {
        const Flying next = flying_.top();
        flying_.pop();
        if (next.to == kBalancer) {
          to_balancer(next.packet);
        } else {
          arrive(next.to, next.packet);
        }
      }
      if (const auto due = runtime_.deadline(); due && *due <= now_) runtime_.run(now_);
      if (random_.chance(0.02)) set_servers();
    }
  }
  [[nodiscard]] std::size_t done() const {
    return static_cast<std::size_t>(
        std::ranges::count(connections_, Connection::State::kDone, &Connection::state));
  }
  [[nodiscard]] const Balancer& balancer() const { return balancer_; }
  [[nodiscard]] int delivered() const { return delivered_; }
  std::vector<std::string> wrong;

  static constexpr std::size_t kConnections = 24;

 private:
  static constexpr std::size_t kClients = 3;
  static constexpr std::size_t kServers = 4;
  static constexpr Qpn kServerQp{0x777};
  static inline const Gid kService = gid(0x5E);

  struct Flying {
    Time when{};
    Lid to{};
    Buffer packet;
    [[nodiscard]] bool operator<(const Flying& other) const { return when > other.when; }
  };

  static Gid client_gid(std::size_t i) { return gid(static_cast<std::uint16_t>(0xA0 + i)); }
  static Gid server_gid(std::size_t i) { return gid(static_cast<std::uint16_t>(0xB0 + i)); }
  static Lid at(Lid first, std::size_t i) {
    return Lid{static_cast<std::uint16_t>(first.value() + i)};
  }
  // IDs begin with 1; a client's QP is known by its connection too.
  static CommId id_of(std::size_t connection) {
    return CommId{static_cast<std::uint32_t>(connection + 1)};
  }
  static CommId server_id_of(std::size_t connection) {
    return CommId{static_cast<std::uint32_t>(connection + 0x1001)};
  }
  static Qpn qp_of(std::size_t connection) {
    return Qpn{static_cast<std::uint32_t>(0x100 + connection)};
  }

  // One at least.
  void set_servers() {
    std::vector<Balancer::Server> servers;
    for (std::size_t i = 0; i < kServers; ++i) {
      if (i == 0 || random_.chance(0.6)) servers.push_back({.name = "s", .gid = server_gid(i)});
    }
    balancer_.set_servers(servers);
  }

  // --- the runtime's ---
  void send(Bytes packet, std::uint8_t, bool) override { from_balancer(packet); }
  void mirror(Bytes, const Arrival&) override {}
  void publish(std::size_t, Bytes) override {}
  void ask(std::uint64_t number, const PathQuestion& question) override {
    asked_.emplace_back(number, question.dgid);
  }
  void to_balancer(Buffer packet) {
    Item item{.bytes = packet, .arrival = {}};
    runtime_.handle({&item, 1}, now_);
    if (item.fate == Fate::kForward) from_balancer(packet);
    for (const auto& [number, to] : std::exchange(asked_, {})) {
      std::optional<Path> path;
      for (std::size_t i = 0; i < kClients; ++i)
        if (to == client_gid(i)) path = Path{.dlid = at(kFirstClient, i), .slid = kBalancer};
      for (std::size_t i = 0; i < kServers; ++i)
        if (to == server_gid(i)) path = Path{.dlid = at(kFirstServer, i), .slid = kBalancer};
      runtime_.path_answered(number, path, now_);
    }
  }
  void from_balancer(Bytes packet) {
    fly(Fields::parse(packet).dlid, {packet.begin(), packet.end()});
  }
  void fly(Lid to, Buffer packet) {
    if (random_.chance(loss_)) return;
    const auto delay = random_.chance(0.1) ? random_.below(300) : random_.below(4);
    flying_.push({now_ + std::chrono::milliseconds(delay), to, std::move(packet)});
  }

  // --- ends ---
  void from_client(std::size_t client, Made made) {
    made.slid = at(kFirstClient, client);
    made.dlid = kBalancer;
    made.gids = {client_gid(client), kService};
    fly(kBalancer, make(made));
  }
  void from_server(std::size_t server, std::size_t client, Made made) {
    made.slid = at(kFirstServer, server);
    made.dlid = kBalancer;
    made.gids = {server_gid(server), client_gid(client)};
    fly(kBalancer, make(made));
  }
  static Made data(std::size_t connection, Qpn to) {
    Made made;
    made.bth.dest_qp = to;
    made.payload = Buffer(8, static_cast<std::byte>(connection));
    return made;
  }
  void request(std::size_t i) {
    wire::CmReq req{.local_comm_id = id_of(i), .local_qpn = qp_of(i), .pkey = kDefaultPKey};
    req.primary = {.local_gid = client_gid(connections_[i].client), .remote_gid = kService};
    from_client(connections_[i].client, cm(req));
  }
  void reply(std::size_t i) {
    Connection& c = connections_[i];
    from_server(
        *c.server, c.client,
        cm(wire::CmRep{
            .local_comm_id = server_id_of(i), .remote_comm_id = id_of(i), .local_qpn = kServerQp}));
  }

  void work(std::size_t i) {
    using State = Connection::State;
    Connection& c = connections_[i];
    if (c.state == State::kDone || now_ < c.repeat_at) return;
    if (c.state == State::kConnected) {
      from_client(c.client, data(i, c.client_sees));
      from_server(*c.server, c.client, data(i, c.server_sees));
      c.repeat_at = now_ + 50ms;
      if (++c.sent == kPacketsSent) c = with(c, State::kClosing);
      return;
    }
    if (c.repeats++ == kMostRepeats) {
      c.state = State::kDone;
      return;
    }
    c.repeat_at = now_ + kRepeat;
    if (c.state == State::kClosing) {
      from_client(c.client, cm(wire::CmDreq{.local_comm_id = id_of(i),
                                            .remote_comm_id = server_id_of(i),
                                            .remote_qpn = c.client_sees}));
      return;
    }
    c.state = State::kRequested;
    request(i);
  }
  static Connection with(Connection c, Connection::State state) {
    c.state = state;
    c.repeats = 0;
    return c;
  }

  void arrive(Lid lid, const Buffer& packet) {
    if (!wire::check_link_crcs(packet).good()) wrong.emplace_back("CRCs");
    const Fields fields = Fields::parse(packet);
    const bool is_client = lid.value() < kFirstServer.value();
    if (fields.slid != kBalancer) wrong.emplace_back("not from the balancer");
    if (is_client) {
      if (fields.sgid != kService) wrong.emplace_back("a client sees a server");
      at_client(lid.value() - kFirstClient.value(), fields, packet);
    } else {
      const std::size_t server = lid.value() - kFirstServer.value();
      if (fields.dgid != server_gid(server)) wrong.emplace_back("a server sees the service");
      at_server(server, fields, packet);
    }
  }
  void at_server(std::size_t server, const Fields& fields, const Buffer& packet) {
    if (!fields.cm.present) {
      const auto i = static_cast<std::size_t>(packet[fields.payload_at]);
      if (connections_[i].server != server) wrong.emplace_back("data at another server");
      if (fields.dest_qp != kServerQp) wrong.emplace_back("not the server's number");
      ++delivered_;
      return;
    }
    const CommId id =
        fields.cm.message == CmMessage::kReq ? fields.cm.local_comm_id : fields.cm.local_comm_id;
    const std::size_t i = id.value() - 1;
    Connection& c = connections_[i];
    if (fields.cm.message == CmMessage::kReq) {
      // A request that was lost behind the balancer may go to another one the next time.
      if (!c.server) c.server = server;
      if (c.server != server) return;
      c.server_sees = fields.cm.local_qp;
      reply(i);
    } else if (fields.cm.message == CmMessage::kDreq) {
      if (c.server != server) wrong.emplace_back("DREQ at another server");
      if (fields.cm.remote_qp != kServerQp) wrong.emplace_back("DREQ of another number");
      from_server(server, c.client,
                  cm(wire::CmDrep{.local_comm_id = server_id_of(i), .remote_comm_id = id_of(i)}));
    } else if (c.server != server) {
      wrong.emplace_back("RTU at another server");
    }
  }
  void at_client(std::size_t client, const Fields& fields, const Buffer& packet) {
    if (!fields.cm.present) {
      const auto i = static_cast<std::size_t>(packet[fields.payload_at]);
      if (connections_[i].client != client) wrong.emplace_back("data at another client");
      if (fields.dest_qp != qp_of(i)) wrong.emplace_back("not the client's number");
      ++delivered_;
      return;
    }
    Connection& c = connections_[fields.cm.remote_comm_id.value() - 1];
    const std::size_t i = fields.cm.remote_comm_id.value() - 1;
    if (fields.cm.message == CmMessage::kRep) {
      c.client_sees = fields.cm.local_qp;
      from_client(client,
                  cm(wire::CmRtu{.local_comm_id = id_of(i), .remote_comm_id = server_id_of(i)}));
      if (c.state == Connection::State::kRequested) c = with(c, Connection::State::kConnected);
    } else if (fields.cm.message == CmMessage::kDrep) {
      c.state = Connection::State::kDone;
    }
  }

  Random random_;
  SeededEntropy entropy_;
  Runtime runtime_;
  Balancer balancer_;
  const double loss_;
  Time now_{};
  std::array<Connection, kConnections> connections_{};
  std::priority_queue<Flying> flying_;
  std::vector<std::pair<std::uint64_t, Gid>> asked_;
  int delivered_ = 0;
};

TEST(BalancerWorld, ConnectionsStayWithTheirServersWhateverTheNetworkDoes) {
  int delivered = 0;
  const std::vector<std::uint64_t> seeds = sim::seeds(20);
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE(sim::how_to_replay(
        seed, "BalancerWorld.ConnectionsStayWithTheirServersWhateverTheNetworkDoes"));
    BalancerWorld world(seed, seed % 2 == 0 ? Balancer::Spread::kHash : Balancer::Spread::kLeast);
    world.run();
    for (const std::string& wrong : world.wrong)
      ADD_FAILURE() << wrong;
    EXPECT_EQ(world.done(), BalancerWorld::kConnections);
    delivered += world.delivered();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(delivered, static_cast<int>(seeds.size() * BalancerWorld::kConnections) * kPacketsSent);
}

}  // namespace
}  // namespace weft::service::test
