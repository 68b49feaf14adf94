// SPDX-License-Identifier: Apache-2.0
// A lab and its sockets for management and for programs, run by the thread that calls run(): what
// libibumad needs of a daemon. Nobody is attached.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/lab/attach_server.h"
#include "daemon/lab/lab_node.h"
#include "daemon/lab/mad_server.h"
#include "fabric/fabric.h"
#include "io/clock.h"
#include "io/reactor.h"

namespace weft::daemon {

inline FindMadNode find_in(fabric::Fabric& fabric) {
  return [&fabric](std::string_view name) -> Expected<MadNode> {
    fabric::Node* node = fabric.find_node(name);
    if (node == nullptr) return no_such_node(fabric, name);
    return MadNode{.management = &node->management(), .node = node, .used = [node] {
                     node->management_used();
                   }};
  };
}

class LabDaemon {
 public:
  // Its files are in `directory`.
  static Expected<std::unique_ptr<LabDaemon>> open(fabric::Lab lab, const std::string& directory,
                                                   MadOutbox::Limits outbox = {}) {
    std::unique_ptr<LabDaemon> daemon(new LabDaemon(std::move(lab)));
    auto reactor = io::Reactor::create(0us);
    if (!reactor) return tl::unexpected(reactor.error());
    daemon->reactor_ = std::move(*reactor);
    const MadServerConfig config{
        .socket = directory + "/mads", .directory = directory, .outbox = outbox};
    auto server = MadServer::open(config, find_in(daemon->fabric_), *daemon->reactor_);
    if (!server) return tl::unexpected(server.error());
    daemon->server_ = std::move(*server);
    auto programs =
        AttachServer::open({.socket = directory + "/attach"}, daemon->fabric_, *daemon->reactor_);
    if (!programs) return tl::unexpected(programs.error());
    daemon->programs_ = std::move(*programs);
    daemon->fabric_.start(io::now());
    return daemon;
  }

  // Until stop().
  void run() {
    while (!stopping_) {
      const Time now = io::now();
      fabric_.run(now);
      const std::optional<Time> next = fabric_.deadline();
      const Duration wait = next ? std::max(Duration{0}, *next - now) : Duration{-1};
      static_cast<void>(reactor_->run_once(wait));
    }
  }
  // From any thread, and from signal handlers.
  void stop() {
    stopping_ = true;
    reactor_->wake();
  }

  // From any thread.
  [[nodiscard]] const MadCounters& counters() const { return server_->counters(); }

 private:
  explicit LabDaemon(fabric::Lab lab) : fabric_(std::move(lab)) {}

  fabric::Fabric fabric_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<MadServer> server_;
  std::unique_ptr<AttachServer> programs_;
  std::atomic<bool> stopping_{false};
};

}  // namespace weft::daemon
