// SPDX-License-Identifier: Apache-2.0
// A lab's daemon with one program, as a test plays it: answers on the socket `attach`, tells facts.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/plain_bytes.h"
#include "fake_daemon.h"
#include "io/pass_descriptor.h"
#include "io/unix_socket.h"
#include "port/ring/attach_protocol.h"

namespace weft::port::test {

class FakeLab : public FakeDaemon {
 public:
  FakeLab() {
    std::string pattern = testing::TempDir() + "weft-lab-XXXXXX";
    directory = mkdtemp(pattern.data());
    listener_ = std::move(*io::listen_unix(directory + "/attach", io::UnixKind::kSeqPacket));
    // So that accept waits.
    fcntl(listener_.get(), F_SETFL, 0);
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      ADD_FAILURE() << "socketpair";
    }
    news_.reset(ends[0]);
    theirs_.reset(ends[1]);
    welcome.arena = 5;
    welcome.ports = 1;
    welcome.node_guid = 0x1234;
    facts.kind = attach::kFacts;
    facts.epoch = 1;
    facts.port = 1;
    facts.lid = 0x10;
    facts.sm_lid = 1;
    facts.state = 4;
    facts.physical_state = 5;
    facts.mtu_cap = 5;
    facts.neighbor_mtu = 4;
    facts.width_active = 2;
    facts.speed_active = 4;
  }
  ~FakeLab() {
    end();
    std::filesystem::remove_all(directory);
  }

  // Serves one program from now on.
  void start() {
    thread_ = std::thread([this] { serve(); });
  }
  // Ends the attachment.
  void end() {
    news_.reset();
    if (!thread_.joinable()) return;
    {
      const std::lock_guard guard(mutex_);
      if (connection_) shutdown(connection_.get(), SHUT_RDWR);
    }
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  void tell_facts() {
    facts.gids = static_cast<std::uint16_t>(gids.size());
    facts.pkeys = static_cast<std::uint16_t>(pkeys.size());
    std::vector<std::byte> message(sizeof facts + gids.size() * sizeof(Gid) + pkeys.size() * 2);
    std::memcpy(message.data(), &facts, sizeof facts);
    std::memcpy(message.data() + sizeof facts, gids.data(), gids.size() * sizeof(Gid));
    std::memcpy(message.data() + sizeof facts + gids.size() * sizeof(Gid), pkeys.data(),
                pkeys.size() * 2);
    EXPECT_TRUE(io::send_message(news_.get(), message));
  }
  void tell(const attach::Arena& arena, int file = -1) {
    EXPECT_TRUE(io::send_message(news_.get(), plain::bytes_of(arena), file));
  }
  std::vector<attach::Request> requests() {
    const std::lock_guard guard(mutex_);
    return requests_;
  }

  std::string directory;
  attach::Welcome welcome{};
  attach::Facts facts{};
  std::vector<Gid> gids;
  std::vector<std::uint16_t> pkeys{0xFFFF};

 private:
  void serve() {
    io::UniqueFd connection(::accept(listener_.get(), nullptr, nullptr));
    attach::Hello hello{};
    if (recv(connection.get(), &hello, sizeof hello, 0) != sizeof hello) return;
    const std::array<int, attach::kFiles> files{program_file.get(), daemon_file.get(),
                                                doorbell.get(), arrivals.get(), theirs_.get()};
    const bool describes = hello.attach == 0;
    // The ports of the adapter are alike at first.
    for (facts.port = 0; facts.port < welcome.ports;) {
      ++facts.port;
      tell_facts();
    }
    facts.port = 1;
    EXPECT_TRUE(io::send_message(connection.get(), plain::bytes_of(welcome),
                                 std::span(files).first(describes ? 0 : files.size())));
    theirs_.reset();
    attach::Request request{};
    {
      const std::lock_guard guard(mutex_);
      connection_.reset(dup(connection.get()));
    }
    while (recv(connection.get(), &request, sizeof request, 0) == sizeof request) {
      attach::Answer answer{};
      if (request.action == attach::kAllocate) answer.qpn = next_++;
      {
        const std::lock_guard guard(mutex_);
        requests_.push_back(request);
      }
      if (!io::send_message(connection.get(), plain::bytes_of(answer))) return;
    }
  }

  io::UniqueFd listener_;
  io::UniqueFd news_;
  io::UniqueFd theirs_;
  std::mutex mutex_;
  io::UniqueFd connection_;
  std::vector<attach::Request> requests_;
  std::uint32_t next_ = 0x100;
  std::thread thread_;
};

}  // namespace weft::port::test
