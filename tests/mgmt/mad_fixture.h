// SPDX-License-Identifier: Apache-2.0
// Datagrams for tests of management: made, kept when they are sent, and looked into.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <utility>
#include <vector>

#include "mgmt/mad_envelope.h"
#include "mgmt/node_management.h"
#include "mgmt/sm/trap_sender.h"
#include "model_node.h"
#include "wire/endian.h"
#include "wire/perf.h"
#include "wire/rmpp.h"
#include "wire/sm/notice.h"
#include "wire/sm/smp.h"

namespace weft::mgmt::test {

using wire::MadBuffer;
using wire::MadMethod;
using wire::MadStatus;
using wire::MgmtClass;
using wire::SmAttribute;

struct SentMad {
  MadEnvelope envelope;
  MadBuffer mad;
  [[nodiscard]] wire::MadHeader header() const { return *wire::MadHeader::parse(mad); }
  [[nodiscard]] MadStatus status() const {
    return static_cast<MadStatus>(header().status & ~wire::smp::kDirectionBit);
  }
  [[nodiscard]] Bytes data() const { return Bytes(mad).subspan(64); }
};

class KeptMads final : public MadOutlet {
 public:
  void send(const MadEnvelope& envelope, wire::MadBytes mad) override {
    SentMad& sent = all.emplace_back();
    sent.envelope = envelope;
    std::copy(mad.begin(), mad.end(), sent.mad.begin());
  }
  // The only one that was sent since.
  SentMad take() {
    EXPECT_EQ(all.size(), 1u);
    if (all.empty()) return {};
    SentMad first = all.front();
    all.pop_front();
    return first;
  }
  std::deque<SentMad> all;
};

inline Time at(Duration since) {
  return Time{} + since;
}

inline MadBuffer make_mad(MgmtClass mgmt_class, std::uint8_t version, MadMethod method,
                          std::uint16_t attribute, std::uint32_t modifier = 0,
                          std::uint64_t transaction_id = 0x1122'3344) {
  MadBuffer mad{};
  wire::MadHeader{.mgmt_class = mgmt_class,
                  .class_version = version,
                  .method = method,
                  .transaction_id = transaction_id,
                  .attribute_id = attribute,
                  .attribute_modifier = modifier}
      .write(mad);
  return mad;
}

inline MadBuffer make_smp(MadMethod method, SmAttribute attribute, std::uint32_t modifier = 0) {
  return make_mad(MgmtClass::kSubnLid, 1, method, static_cast<std::uint16_t>(attribute), modifier);
}

// A request of class 0x81 as its requester hands it over, along these ports.
inline MadBuffer make_directed(MadMethod method, SmAttribute attribute, std::uint32_t modifier,
                               std::initializer_list<std::uint8_t> path) {
  MadBuffer mad = make_smp(method, attribute, modifier);
  wire::store_u8(mad.data() + 1, static_cast<std::uint8_t>(MgmtClass::kSubnDirected));
  wire::smp::set_dr_lids(mad, wire::kPermissiveLid, wire::kPermissiveLid);
  wire::smp::set_hop_count(mad, static_cast<std::uint8_t>(path.size()));
  std::size_t hop = 1;
  for (const std::uint8_t port : path)
    wire::smp::set_initial_path(mad, hop++, port);
  return mad;
}

inline MutableBytes data_of(MadBuffer& mad) {
  return MutableBytes(mad).subspan(64);
}

// A node and all that it sends.
class ManagedFixture {
 public:
  ManagedFixture(wire::NodeType type, std::uint8_t ports)
      : node(type, ports, 0x0002'C903'0000'1000, "node"), management(node, outlet) {}

  // LID routed, from LID 7, to the node's own LID 5.
  void give(const MadBuffer& mad, Time now = {}, PortNumber port = 1) {
    const bool smp = (wire::load_u8(mad.data() + 1) & 0x7F) == 1;
    management.receive({.port = port,
                        .slid = Lid{7},
                        .dlid = Lid{5},
                        .source_qp = smp ? kQp0 : kQp1,
                        .dest_qp = smp ? kQp0 : kQp1,
                        .qkey = smp ? QKey{} : kGsiQKey},
                       mad, now);
  }
  SentMad ask(const MadBuffer& mad, Time now = {}, PortNumber port = 1) {
    give(mad, now, port);
    return outlet.take();
  }
  template <class Value>
  Value get(SmAttribute attribute, std::uint32_t modifier = 0) {
    const SentMad answer = ask(make_smp(MadMethod::kGet, attribute, modifier));
    EXPECT_EQ(answer.status(), MadStatus::kOk);
    return *Value::parse(answer.data());
  }
  template <class Value>
  MadStatus set(SmAttribute attribute, std::uint32_t modifier, const Value& value) {
    MadBuffer mad = make_smp(MadMethod::kSet, attribute, modifier);
    value.write(data_of(mad));
    return ask(mad).status();
  }
  [[nodiscard]] std::uint64_t count(ManagementCounter counter) const {
    return management.counters().get(counter);
  }

  ModelNode node;
  KeptMads outlet;
  NodeManagement management;
};

}  // namespace weft::mgmt::test
