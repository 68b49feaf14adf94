// SPDX-License-Identifier: Apache-2.0
// A program at the attach socket of a lab, as good or as bad as a test wants it, and the lab with
// it, in one thread and in virtual time.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../fabric/running_lab.h"
#include "../fabric/test_program.h"
#include "base/plain_bytes.h"
#include "daemon/lab/attach_server.h"
#include "io/pass_descriptor.h"
#include "io/shared_mapping.h"
#include "io/unix_socket.h"
#include "port/ring/attach_protocol.h"
#include "port/ring/shared_memory.h"

namespace weft::daemon {

namespace attach = port::attach;
namespace ring = port::ring;

using Packets = std::vector<std::vector<std::byte>>;

inline bool is_readable(int fd) {
  pollfd what{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&what, 1, 0) == 1;
}

class ProgramClient {
 public:
  explicit ProgramClient(const std::string& path) {
    auto socket = io::connect_unix(path, io::UnixKind::kSeqPacket, 0ns);
    EXPECT_TRUE(socket);
    if (socket) socket_ = std::move(*socket);
    EXPECT_EQ(fcntl(socket_.get(), F_SETFL, O_NONBLOCK), 0);
  }

  static attach::Hello hello(const std::string& node) {
    attach::Hello out{.magic = attach::kMagic,
                      .version = attach::kVersion,
                      .attach = 1,
                      .reserved = 0,
                      .node = {}};
    node.copy(out.node, sizeof out.node - 1);
    return out;
  }
  bool say(Bytes message) { return io::send_message(socket_.get(), message).has_value(); }
  template <class T>
  bool say(const T& message) {
    return say(plain::bytes_of(message));
  }
  // A message that is there; nothing when there is none.
  template <class T>
  std::optional<T> hear() {
    T out{};
    std::array<io::UniqueFd, attach::kFiles> files;
    const auto message =
        io::receive_message(socket_.get(), std::as_writable_bytes(std::span<T, 1>(&out, 1)), files);
    if (!message || !*message || (*message)->size != sizeof out) return std::nullopt;
    if (files[0]) files_ = std::move(files);
    return out;
  }
  bool is_dropped() {
    std::array<std::byte, 4096> buffer;
    for (;;) {
      const auto message = io::receive_message(socket_.get(), buffer);
      if (!message) return true;  // with what it had not read
      if (!*message) return false;
      if ((*message)->size == 0) return true;
    }
  }
  void die() { *this = ProgramClient(); }

  // After a welcome.
  void map() {
    for (const io::UniqueFd& file : files_)
      ASSERT_TRUE(file);
    auto ours = io::SharedMapping::map(file(attach::kProgramMemory), sizeof(ring::ProgramMemory),
                                       io::Access::kWrite);
    auto theirs = io::SharedMapping::map(file(attach::kDaemonMemory), sizeof(ring::DaemonMemory),
                                         io::Access::kRead);
    ASSERT_TRUE(ours && theirs);
    ours_ = std::move(*ours);
    theirs_ = std::move(*theirs);
  }
  [[nodiscard]] int file(attach::File which) const { return files_[which].get(); }
  [[nodiscard]] ring::ProgramMemory& ours() const {
    return *static_cast<ring::ProgramMemory*>(ours_.begin());
  }
  [[nodiscard]] const ring::DaemonMemory& theirs() const {
    return *static_cast<const ring::DaemonMemory*>(theirs_.begin());
  }

  // News that are there.
  std::optional<std::vector<std::byte>> news() {
    std::array<std::byte, 4096> buffer;
    const auto message =
        io::receive_message(file(attach::kNews), buffer, std::span(&news_file_, 1));
    if (!message || !*message || (*message)->size == 0) return std::nullopt;
    return std::vector<std::byte>(buffer.begin(),
                                  buffer.begin() + static_cast<std::ptrdiff_t>((*message)->size));
  }
  [[nodiscard]] int news_file() const { return news_file_.get(); }

  // Puts a packet into the next slot; with a block, all behind the DETH lies there.
  ring::SendSlot& put(const std::vector<std::byte>& packet, std::uint32_t block = ring::kNoBlock) {
    constexpr std::size_t kHeaders = wire::Lrh::kSize + wire::Bth::kSize + wire::Deth::kSize;
    ring::SendSlot& slot = ours().slots[put_++ % ring::kSlots];
    const std::size_t covered = packet.size() - wire::kVcrcSize;
    const std::size_t front = block == ring::kNoBlock ? covered : kHeaders;
    EXPECT_LE(front, ring::kMostHeader);
    slot.epoch = epoch;
    slot.source = qpn.value();
    slot.port = port;
    slot.block = block;
    slot.payload_size = static_cast<std::uint32_t>(covered - front);
    slot.header_size = static_cast<std::uint8_t>(front);
    slot.trailer_size = wire::kVcrcSize;
    std::copy_n(packet.begin(), front, slot.header.begin());
    if (block != ring::kNoBlock) {
      std::copy_n(packet.data() + front, covered - front, ours().blocks[block].data());
    }
    std::copy_n(packet.end() - wire::kVcrcSize, wire::kVcrcSize, slot.trailer.begin());
    return slot;
  }
  void publish() {
    publish_silently();
    if ((theirs().page.sleeps.load() & ring::kUntilSent) != 0) ring_doorbell();
  }
  void publish_silently() { ours().page.sent.store(put_); }
  void ring_doorbell() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(file(attach::kDoorbell), &one, sizeof one), 8);
  }

  // What has arrived and was not taken, made whole.
  Packets arrivals() {
    Packets out;
    for (std::uint64_t at = taken; at != theirs().page.arrived.load(); ++at) {
      const ring::ArrivalSlot& slot = theirs().slots[at % ring::kSlots];
      std::vector<std::byte> bytes(slot.header.begin(), slot.header.begin() + slot.header_size);
      if (slot.block != ring::kNoBlock) {
        const std::byte* payload = block_of(slot);
        EXPECT_NE(payload, nullptr);
        if (payload != nullptr) bytes.insert(bytes.end(), payload, payload + slot.payload_size);
      }
      bytes.insert(bytes.end(), slot.trailer.begin(), slot.trailer.begin() + slot.trailer_size);
      out.push_back(std::move(bytes));
    }
    return out;
  }
  void take_all() { ours().page.taken.store(taken = theirs().page.arrived.load()); }
  void map_arena(std::uint32_t number) {
    auto mapping =
        io::SharedMapping::map(news_file(), sizeof(ring::ProgramMemory), io::Access::kRead);
    ASSERT_TRUE(mapping);
    arenas_.emplace_back(number, std::move(*mapping));
  }

  Qpn qpn{};
  std::uint8_t port = 1;
  std::uint32_t epoch = 0;
  std::uint32_t arena = 0;
  std::uint64_t taken = 0;

 private:
  ProgramClient() = default;
  const std::byte* block_of(const ring::ArrivalSlot& slot) {
    if (slot.arena == ring::kDaemonArena) return theirs().blocks[slot.block].data();
    if (slot.arena == arena) return ours().blocks[slot.block].data();
    for (const auto& each : arenas_) {
      if (each.first != slot.arena) continue;
      return static_cast<const ring::ProgramMemory*>(each.second.begin())
          ->blocks[slot.block]
          .data();
    }
    return nullptr;
  }

  io::UniqueFd socket_;
  std::array<io::UniqueFd, attach::kFiles> files_;
  io::UniqueFd news_file_;
  io::SharedMapping ours_;
  io::SharedMapping theirs_;
  std::vector<std::pair<std::uint32_t, io::SharedMapping>> arenas_;
  std::uint64_t put_ = 0;
};

// Four adapters at a switch, brought up; one has two ports.
class AttachedPrograms : public testing::Test {
 protected:
  AttachedPrograms() : lab_(fabric::lab_of(kLab)) {
    lab_.bring_up();
    std::string pattern = testing::TempDir() + "weft-attach-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    config_.socket = pattern + "/attach";
    directory_ = pattern;
  }
  ~AttachedPrograms() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void serve() {
    auto reactor = io::Reactor::create(0us);
    ASSERT_TRUE(reactor);
    reactor_ = std::move(*reactor);
    auto server = AttachServer::open(config_, lab_.fabric, *reactor_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  // Everything that happens without time passing.
  void settle() {
    for (int round = 0; round < 10'000; ++round) {
      const bool sent = server_->poll(lab_.now);
      lab_.settle();
      server_->flush(lab_.now);
      const auto ready = reactor_->run_once(0ns);
      ASSERT_TRUE(ready);
      if (!sent && *ready == 0) return;
    }
    FAIL() << "never comes to rest";
  }
  void pass(Duration time) {
    lab_.run_for(time);
    settle();
  }

  // A program that plays by the rules.
  ProgramClient placed(const std::string& node) {
    return placed(ProgramClient(config_.socket), node);
  }
  ProgramClient placed(ProgramClient client, const std::string& node) {
    EXPECT_TRUE(client.say(ProgramClient::hello(node)));
    settle();
    const auto welcome = client.hear<attach::Welcome>();
    EXPECT_TRUE(welcome);
    if (!welcome) return client;
    EXPECT_EQ(welcome->error, 0) << welcome->message;
    client.arena = welcome->arena;
    client.map();
    EXPECT_TRUE(client.say(attach::Request{
        .action = attach::kAllocate, .qpn = 0, .arena = 0, .port = 0, .group = {}}));
    settle();
    const auto answer = client.hear<attach::Answer>();
    EXPECT_TRUE(answer);
    if (answer) client.qpn = Qpn{answer->qpn};
    client.epoch = facts(client).epoch;
    return client;
  }
  // The last of a port that came; those of others are lost.
  static attach::Facts facts(ProgramClient& client, std::uint8_t port = 1) {
    attach::Facts out{};
    while (const auto news = client.news()) {
      const auto facts = plain::read<attach::Facts>(*news, sizeof(attach::Arena));
      if (facts && facts->kind == attach::kFacts && facts->port == port) out = *facts;
    }
    return out;
  }
  int ask(ProgramClient& client, const attach::Request& request) {
    EXPECT_TRUE(client.say(request));
    settle();
    const auto answer = client.hear<attach::Answer>();
    return answer ? answer->error : -1;
  }

  [[nodiscard]] Lid lid_of(const std::string& node) {
    return lab_.fabric.find_adapter(node)->port(1).lid();
  }
  std::vector<std::byte> packet(const ProgramClient& from, const std::string& at,
                                const ProgramClient& to, const std::string& node,
                                std::uint32_t psn = 0, std::size_t payload = 64) {
    return fabric::Datagram{.slid = lid_of(at),
                            .dlid = lid_of(node),
                            .dest = to.qpn,
                            .source = from.qpn,
                            .psn = Psn{psn},
                            .payload = payload}
        .bytes();
  }
  [[nodiscard]] std::uint64_t count(AttachCounter counter) const {
    return server_->counters().get(counter);
  }

  // Two programs that play by the rules are served as if nothing had happened.
  void expect_service() {
    ProgramClient a = placed("a");
    ProgramClient b = placed("b");
    const auto bytes = packet(a, "a", b, "b", 77);
    a.put(bytes, 3);
    a.publish();
    settle();
    ASSERT_EQ(b.arrivals().size(), 1u);
    EXPECT_EQ(b.arrivals()[0], bytes);
    a.die();
    b.die();
    settle();
  }

  static constexpr const char* kLab = R"(
[switch]
s = { ports = 5 }
[node]
a = {}
b = {}
c = {}
d = { ports = 2 }
[[link]]
ends = ["a", "s"]
[[link]]
ends = ["b", "s"]
[[link]]
ends = ["c", "s"]
[[link]]
ends = ["d:1", "s"]
[[link]]
ends = ["d:2", "s"]
)";

  fabric::RunningLab lab_;
  AttachServerConfig config_;
  std::string directory_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<AttachServer> server_;
};

}  // namespace weft::daemon
