// SPDX-License-Identifier: Apache-2.0
// A port of a channel adapter whose MAD layer the test uses as an agent's program would.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "mad_fixture.h"

namespace weft::mgmt::test {

struct Told {
  AgentId agent;
  std::vector<std::byte> mad;
  std::optional<std::uint64_t> cookie;
  MadAddress from;
  std::optional<MadResult> result;  // of finished()
};

class Client final : public MadClient {
 public:
  void received(AgentId agent, const ReceivedMad& mad) override {
    told.push_back({agent, {mad.mad.begin(), mad.mad.end()}, mad.cookie, mad.from, std::nullopt});
    if (then) then();
  }
  void finished(AgentId agent, std::uint64_t cookie, Bytes mad, MadResult result) override {
    told.push_back({agent, {mad.begin(), mad.end()}, cookie, {}, result});
    if (then) then();
  }
  Told take() {
    EXPECT_EQ(told.size(), 1u);
    if (told.empty()) return {};
    Told first = told.front();
    told.erase(told.begin());
    return first;
  }
  std::vector<Told> told;
  std::function<void()> then;
};

inline AgentRequest agent_of(MgmtClass mgmt_class, std::uint8_t version,
                             std::initializer_list<MadMethod> methods = {}) {
  AgentRequest request{.mgmt_class = mgmt_class, .class_version = version};
  for (const MadMethod method : methods)
    request.methods.set(static_cast<std::size_t>(method));
  return request;
}

// An adapter with LIDs 8 to 11 and a second P_Key; whoever it talks to is the test.
struct Port : ManagedFixture {
  Port() : ManagedFixture(wire::NodeType::kChannelAdapter, 1), port(management.mad_port(1)) {
    wire::PortInfo& info = node.infos[1];
    info.lid = Lid{8};
    info.lmc = 2;
    info.gid_prefix = 0xFE80'0000'0000'0000;
    wire::PKeyBlock pkeys;
    pkeys.pkeys[0] = kDefaultPKey;
    pkeys.pkeys[3] = PKey{0x8001};
    node.set_pkeys(1, 0, pkeys);
  }
  AgentId add(const AgentRequest& request) { return *port.add_agent(request, client); }

  MadAddress to_lid(std::uint16_t lid) const {
    return {.lid = Lid{lid}, .qpn = kQp1, .qkey = kGsiQKey};
  }
  // What comes from `lid` in answer to `sent`.
  void answer(const SentMad& sent, std::uint16_t lid, Time now = {}) {
    MadBuffer mad = sent.mad;
    wire::store_u8(mad.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetResponse));
    arrive(mad, lid, now);
  }
  void arrive(const MadBuffer& mad, std::uint16_t lid, Time now = {}) {
    management.receive({.port = 1,
                        .slid = Lid{lid},
                        .dlid = Lid{9},
                        .source_qp = kQp1,
                        .dest_qp = kQp1,
                        .qkey = kGsiQKey},
                       mad, now);
  }
  MadPort& port;
  Client client;
};

inline MadBuffer cm_get(std::uint64_t transaction_id = 0xAAAA'BBBB'0000'0017) {
  return make_mad(MgmtClass::kDeviceMgt, 1, MadMethod::kGet, 0x0001, 0, transaction_id);
}

}  // namespace weft::mgmt::test
