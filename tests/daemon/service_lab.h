// SPDX-License-Identifier: Apache-2.0
// A lab that runs, with a firewall outside of the daemon's own thread, and two nodes that send and
// take whole packets.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../fabric/test_program.h"
#include "await.h"
#include "daemon/lab/lab_server.h"
#include "daemon/service/service_process.h"
#include "fabric/lab_file.h"
#include "in_a_directory.h"
#include "port/ring/fabric_port.h"

namespace weft::daemon {

// Who sends, and who receives, are services too: they send and take whole packets.
inline constexpr const char* kServiceProcessLab = R"(
[switch]
s = { ports = 4 }
[node]
app = {}
db = {}
fw = {}
[service.firewall]
type = "process"
at = "fw"
lids = [0x40]
[service.sender]
type = "process"
at = "app"
[service.receiver]
type = "process"
at = "db"
[[policy]]
from = "app"
to = "db"
through = "firewall"
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["fw", "s"]
)";
inline constexpr Lid kServiceProcessServiceLid{0x40};
inline constexpr Qpn kRefused{0x999};

class ServiceInALab : public InADirectory {
 protected:
  ServiceInALab()
      : rules_(directory_ + "/rules"),
        paths_(*lab_paths(directory_, "service")),
        server_(*LabServer::open(*fabric::parse_lab(kServiceProcessLab, "lab.toml"), paths_)),
        lab_([this] { EXPECT_TRUE(server_->run()); }) {
    std::ofstream(rules_) << "table t { chain forward { hook forward; policy accept;\n"
                             "dqp 0x999 drop\n} }\n";
  }
  ~ServiceInALab() override { end_lab(); }
  // At the latest when the test ends.
  void end_lab() {
    if (!server_) return;
    server_->stop();
    lab_.join();
    server_.reset();
  }
  [[nodiscard]] umad::Place place(const std::string& node) const {
    return {.lab = paths_.directory, .node = node};
  }

  // Raw queue pairs of a node.
  struct End final : port::DatagramSink {
    explicit End(const umad::Place& place) {
      port::FabricPortConfig there;
      there.place = {.lab = place.lab, .node = place.node};
      adapter = *port::FabricPort::open(there);
      endpoint = *adapter->open_raw_endpoint();
      await([this] {
        adapter->hear_news();
        return facts().state == port::LinkState::kActive;
      });
    }
    port::PortAttributes facts() { return adapter->attributes(1); }
    Gid gid() { return facts().gids.at(0).gid; }
    bool send(Bytes packet) {
      hca::Burst burst;
      burst.raw.emplace();
      hca::OutPacket& out = burst.open();
      out.header_length = 0;
      burst.add_piece(out, packet);
      burst.close(out, 0);
      return endpoint->send(burst).outcome == hca::SendOutcome::kSent;
    }
    void deliver(const hca::InDatagram& datagram) override {
      std::vector<std::byte> packet(datagram.raw->header.begin(), datagram.raw->header.end());
      const Bytes rest = datagram.raw->payload;
      packet.insert(packet.end(), rest.begin(), rest.end());
      taken.push_back(std::move(packet));
    }
    void end_run() override {}
    std::unique_ptr<port::Port> adapter;
    std::unique_ptr<port::Endpoint> endpoint;
    std::vector<std::vector<std::byte>> taken;
  };

  ServiceProcessConfig config(unsigned threads) {
    ServiceProcessConfig made{.place = place("fw"), .threads = threads};
    made.service.name = "firewall";
    made.service.type = "firewall";
    made.service.rules = rules_;
    return made;
  }

  const std::string rules_;
  const LabPaths paths_;
  std::unique_ptr<LabServer> server_;
  std::thread lab_;
};

}  // namespace weft::daemon
