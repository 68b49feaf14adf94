// SPDX-License-Identifier: Apache-2.0
// A host agent in a thread of its own, with its socket in a temporary directory, and programs that
// talk to it as the shim does.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "daemon/agent.h"
#include "host/door.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/system_entropy.h"
#include "rdmacm/abi.h"
#include "rdmacm/address.h"

namespace weft::daemon {

namespace door = host::door;
namespace abi = rdmacm::abi;

// A wait that a test ends with a failure; no test passes by waiting for so long.
inline constexpr int kPatienceMs = 20000;

// One program's connection to the agent.
class Client {
 public:
  Client() : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const timeval limit{kPatienceMs / 1000, 0};
    EXPECT_EQ(setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  }
  explicit Client(const std::string& path) : Client() { EXPECT_EQ(connect(path), 0); }

  // errno, or 0.
  int connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket_.get(), raw, sizeof address) == 0 ? 0 : errno;
  }
  // As the kernel does when a process dies.
  void vanish() { socket_.reset(); }
  [[nodiscard]] int fd() const { return socket_.get(); }

  // errno, or 0. Waits where the agent does not keep up.
  int say(Bytes message) {
    return ::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0 ? errno : 0;
  }
  template <class T>
  int say(const T& message) {
    return say(abi::bytes_of(message));
  }
  // The agent has ended the connection; what it said before is passed over.
  [[nodiscard]] bool is_dropped() const {
    std::array<std::byte, 4096> rest;
    ssize_t got = 0;
    do {
      got = ::recv(socket_.get(), rest.data(), rest.size(), 0);
    } while (got > 0);
    return got == 0 || errno == ECONNRESET;
  }

  static door::Hello hello(door::Purpose purpose, std::uint16_t cm_port) {
    door::Hello out{};
    out.magic = door::kMagic;
    out.version = door::kVersion;
    out.purpose = purpose;
    out.wire = cm_port == 0 ? door::kWireRoce : door::kWireUdp;
    out.cm_port = cm_port;
    return out;
  }
  // The agent's answer; nothing when it has ended the connection instead.
  std::optional<door::Welcome> greet(const door::Hello& hello) {
    if (say(hello) != 0) return std::nullopt;
    return read_welcome();
  }
  std::optional<door::Welcome> read_welcome() {
    door::Welcome out{};
    auto got =
        io::receive_message(socket_.get(), std::as_writable_bytes(std::span(&out, std::size_t{1})));
    if (!got || !*got || (*got)->size != sizeof out) return std::nullopt;
    if ((*got)->descriptor) descriptor_ = std::move((*got)->descriptor);
    return out;
  }
  // What came with the welcome.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  // `other`: the file that MIGRATE_ID is to move an identifier out of.
  static std::vector<std::byte> request(std::uint32_t command, Bytes body, std::size_t out,
                                        std::uint64_t other = 0) {
    const rdma_ucm_cmd_hdr header{command, static_cast<std::uint16_t>(body.size()),
                                  static_cast<std::uint16_t>(out)};
    const door::Request request{static_cast<std::uint32_t>(sizeof header + body.size()), 0, other};
    std::vector<std::byte> message;
    for (const Bytes part : {abi::bytes_of(request), abi::bytes_of(header), body})
      message.insert(message.end(), part.begin(), part.end());
    return message;
  }
  template <class Response = std::monostate, class Body>
  tl::expected<Response, std::errc> run(std::uint32_t command, const Body& body,
                                        std::uint64_t other = 0) {
    constexpr std::size_t kOut = std::is_same_v<Response, std::monostate> ? 0 : sizeof(Response);
    std::array<std::byte, sizeof(door::Answer) + door::kMostResponse> in;
    if (say(Bytes(request(command, abi::bytes_of(body), kOut, other))) != 0) return lost();
    const auto got = io::receive_message(socket_.get(), in);
    if (!got || !*got || (*got)->size < sizeof(door::Answer)) return lost();
    const auto answer = abi::read<door::Answer>(in);
    if (answer->error != 0) return tl::unexpected(static_cast<std::errc>(answer->error));
    Response out{};
    if constexpr (kOut != 0) {
      std::memcpy(&out, in.data() + sizeof *answer, std::min<std::size_t>(answer->size, kOut));
    }
    return out;
  }

  // rdma_cm, as far as these tests need it. Failures are the test's.
  std::uint32_t create_id(std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP) {
    rdma_ucm_create_id command{};
    command.uid = uid;
    command.ps = space;
    const auto made = run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_CREATE_ID, command);
    EXPECT_TRUE(made) << static_cast<int>(made ? std::errc{} : made.error());
    return made ? made->id : 0;
  }
  void bind(std::uint32_t id, const Gid& address, std::uint16_t port) {
    rdma_ucm_bind command{};
    command.id = id;
    command.addr_size = store(rdmacm::Address::ip(address, port), command.addr);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_BIND, command));
  }
  void join(std::uint32_t id, const rdmacm::Address& group) {
    rdma_ucm_join_mcast command{};
    command.id = id;
    command.addr_size = store(group, command.addr);
    EXPECT_TRUE(run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, command));
  }
  void listen(std::uint32_t id, const Gid& address, std::uint16_t port) {
    bind(id, address, port);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, 0}));
  }
  void resolve(std::uint32_t id, const Gid& address, std::uint16_t port) {
    rdma_ucm_resolve_addr command{};
    command.id = id;
    command.timeout_ms = 2000;
    command.dst_size = store(rdmacm::Address::ip(address, port), command.dst_addr);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_RESOLVE_ADDR, command));
    await(abi::Event::kAddrResolved);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}));
    await(abi::Event::kRouteResolved);
  }
  void connect(std::uint32_t id, std::uint32_t qpn) {
    rdma_ucm_connect command{};
    command.id = id;
    command.conn_param = parameters(qpn);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_CONNECT, command));
  }
  void accept(std::uint32_t id, std::uint32_t qpn) {
    rdma_ucm_accept command{};
    command.uid = id;
    command.id = id;
    command.conn_param = parameters(qpn);
    EXPECT_TRUE(run(RDMA_USER_CM_CMD_ACCEPT, command));
  }
  // Waits for the next event, which must be of this kind.
  rdma_ucm_event_resp await(abi::Event kind) {
    pollfd watched{descriptor_.get(), POLLIN, 0};
    EXPECT_EQ(poll(&watched, 1, kPatienceMs), 1) << "no event";
    if (watched.revents == 0) return {};
    const auto got = run<rdma_ucm_event_resp>(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{});
    EXPECT_TRUE(got);
    if (!got) return {};
    EXPECT_EQ(got->event, static_cast<std::uint32_t>(kind));
    return *got;
  }

 private:
  static tl::unexpected<std::errc> lost() { return tl::unexpected(std::errc::connection_reset); }
  static std::uint16_t store(const rdmacm::Address& address, __kernel_sockaddr_storage& out) {
    std::array<std::byte, rdmacm::Address::kStorage> raw{};
    const std::size_t size = address.write(raw);
    std::memcpy(&out, raw.data(), raw.size());
    return static_cast<std::uint16_t>(size);
  }
  static rdma_ucm_conn_param parameters(std::uint32_t qpn) {
    rdma_ucm_conn_param out{};
    out.valid = 1;
    out.qp_num = qpn;
    out.retry_count = 5;
    out.rnr_retry_count = 6;
    return out;
  }

  io::UniqueFd socket_;
  io::UniqueFd descriptor_;
};

class AgentFixture : public ::testing::Test {
 protected:
  AgentFixture() {
    std::string pattern = testing::TempDir() + "weft-agent-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    config_.socket = pattern + "/agent.sock";
    config_.roce_port = kRocePort;
    config_.idle = 1h;
  }
  ~AgentFixture() override {
    if (agent_) agent_->stop();
    if (running_.valid()) {
      EXPECT_TRUE(running_.get());
    }
    agent_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // From here on programs may come; nobody hears them before run().
  void open() {
    auto agent = Agent::open(config_, entropy_);
    ASSERT_TRUE(agent) << agent.error().message;
    agent_ = std::move(*agent);
  }
  void run() {
    running_ = std::async(std::launch::async, [this] { return agent_->run().has_value(); });
  }
  void serve() {
    open();
    run();
  }
  // A program with an rdma_cm file.
  Client opened() {
    Client out(config_.socket);
    const auto welcome = out.greet(Client::hello(door::kOpen, cm_port_));
    EXPECT_TRUE(welcome && welcome->error == 0) << (welcome ? welcome->message : "dropped");
    return out;
  }
  // Until the agent knows it: it may hear other programs first.
  void vanish(Client& client) {
    const std::uint64_t before = count(AgentCounter::kEnded);
    client.vanish();
    const Time deadline = io::now() + std::chrono::milliseconds(kPatienceMs);
    while (count(AgentCounter::kEnded) == before && io::now() < deadline)
      std::this_thread::yield();
    EXPECT_EQ(count(AgentCounter::kEnded), before + 1);
  }
  // Programs are served as ever.
  void expect_service() {
    Client next = opened();
    EXPECT_NE(next.descriptor(), -1);
    static_cast<void>(next.create_id(1));
  }
  [[nodiscard]] std::uint64_t count(AgentCounter counter) const {
    return agent_->counters().get(counter);
  }

  // A UDP port that nobody has.
  static std::uint16_t free_port() {
    const io::UniqueFd probe(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(probe.get(), raw, size), 0);
    EXPECT_EQ(getsockname(probe.get(), raw, &size), 0);
    return ntohs(address.sin6_port);
  }

  static constexpr std::uint16_t kRocePort = 14789;
  const Gid loopback_ = Gid::from_ipv4(INADDR_LOOPBACK);
  const std::uint16_t cm_port_ = free_port();
  io::SystemEntropy entropy_;
  AgentConfig config_;
  std::unique_ptr<Agent> agent_;
  std::future<bool> running_;

 private:
  std::string directory_;
};

}  // namespace weft::daemon
