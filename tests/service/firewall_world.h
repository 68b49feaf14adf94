// SPDX-License-Identifier: Apache-2.0
// A firewall and the packets of two hosts and an intruder, who may send whatever he likes.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "packets.h"
#include "service/firewall/firewall.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_refuse.h"
#include "wire/cm_sidr.h"

namespace weft::service::firewall {

using test::Buffer;
using test::Made;

inline Program program_of(const std::string& rules, const std::string& policy = "drop") {
  auto parsed = RuleSet::parse(
      "table t {\nchain forward {\nhook forward; policy " + policy + ";\n" + rules + "\n}\n}\n",
      "rules");
  EXPECT_TRUE(parsed) << parsed.error().message;
  auto program = Program::compile(std::move(*parsed));
  EXPECT_TRUE(program) << program.error().message;
  return std::move(*program);
}

// A connection as its two ends make it, A (LID 1) asking B (LID 2).
struct Exchange {
  Lid a{1};
  Lid b{2};
  bool global = true;
  bool permissive = false;  // the LIDs that a REQ names
  bool routed = false;      // the ends are of different subnets
  wire::ServiceId service{0x1000};
  Qpn a_qp{0xA1};
  Qpn b_qp{0xB1};
  std::uint32_t a_id = 0x11;
  std::uint32_t b_id = 0x22;
  PKey pkey{kDefaultPKey};
  wire::CmTransport transport = wire::CmTransport::kRc;
  std::array<std::uint8_t, 4> private_data{};

  [[nodiscard]] static Gid gid_of(Lid lid) { return test::gid(lid.value()); }
  [[nodiscard]] Gid gid_of_end(bool passive) const {
    auto bytes = gid_of(passive ? b : a).bytes();
    if (routed) bytes[0] = passive ? 0xFD : 0xFC;
    return Gid{bytes};
  }
  [[nodiscard]] Made addressed(Made made, bool back) const {
    made.slid = back ? b : a;
    made.dlid = back ? a : b;
    if (global) made.gids = {gid_of_end(back), gid_of_end(!back)};
    made.bth.pkey = pkey;
    return made;
  }
  [[nodiscard]] Made req() const {
    wire::CmReq req{.local_comm_id = wire::CommId{a_id}, .service_id = service};
    req.local_qpn = a_qp;
    req.transport = transport;
    req.pkey = pkey;
    req.primary.local_lid = permissive ? Lid{0xFFFF} : a;
    req.primary.remote_lid = permissive ? Lid{0xFFFF} : b;
    req.primary.local_gid = gid_of_end(false);
    req.primary.remote_gid = gid_of_end(true);
    std::memcpy(req.private_data.data(), private_data.data(), private_data.size());
    return addressed(test::cm(req), false);
  }
  [[nodiscard]] Made rep() const {
    wire::CmRep rep{.local_comm_id = wire::CommId{b_id}, .remote_comm_id = wire::CommId{a_id}};
    rep.local_qpn = b_qp;
    return addressed(test::cm(rep), true);
  }
  [[nodiscard]] Made rtu() const {
    return addressed(test::cm(wire::CmRtu{.local_comm_id = wire::CommId{a_id},
                                          .remote_comm_id = wire::CommId{b_id}}),
                     false);
  }
  [[nodiscard]] Made rej() const {
    return addressed(test::cm(wire::CmRej{.remote_comm_id = wire::CommId{a_id}}), true);
  }
  [[nodiscard]] Made dreq() const {
    return addressed(test::cm(wire::CmDreq{.local_comm_id = wire::CommId{a_id},
                                           .remote_comm_id = wire::CommId{b_id},
                                           .remote_qpn = b_qp}),
                     false);
  }
  [[nodiscard]] Made drep() const {
    return addressed(test::cm(wire::CmDrep{.local_comm_id = wire::CommId{b_id},
                                           .remote_comm_id = wire::CommId{a_id}}),
                     true);
  }
  [[nodiscard]] Made data(bool back = false,
                          wire::Opcode opcode = wire::Opcode::rc_send_only) const {
    Made made;
    made.bth.opcode = opcode;
    made.payload = Buffer(wire::info(opcode).has_payload ? 256 : 0);
    made = addressed(made, back);
    made.bth.dest_qp = back ? a_qp : b_qp;
    return made;
  }
};

// What the runtime does for the firewall, and was told by it.
class RecordingHost : public Host {
 public:
  void release(std::uint64_t) override {}
  void revoke(FlowTag tag) override { revoked.insert(tag); }
  void revoke_all() override { ++revoked_all; }
  void publish(Bytes record) override { published.emplace_back(record.begin(), record.end()); }
  bool send(Bytes packet, std::uint8_t) override {
    sent.emplace_back(packet.begin(), packet.end());
    return true;
  }
  std::multiset<FlowTag> revoked;
  unsigned revoked_all = 0;
  std::vector<Buffer> sent;
  std::vector<Buffer> published;
};

class World {
 public:
  explicit World(const std::string& rules, const std::string& policy = "drop",
                 const FirewallOptions& options = {}, LogSink* log = nullptr)
      : firewall(program_of(rules, policy), options, log) {}

  Decision decide(const Made& made) { return decide(test::make(made)); }
  Decision decide(const Buffer& bytes) { return firewall.decide(Fields::parse(bytes), bytes, now); }
  [[nodiscard]] bool passes(const Made& made) { return decide(made).action == Action::accept; }
  [[nodiscard]] bool passes(const Buffer& bytes) { return decide(bytes).action == Action::accept; }
  // Whether all three messages get through.
  [[nodiscard]] bool connects(const Exchange& exchange) {
    return passes(exchange.req()) && passes(exchange.rep()) && passes(exchange.rtu());
  }

  Time now{1h};
  Firewall firewall;
};

}  // namespace weft::service::firewall
