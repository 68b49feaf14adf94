// SPDX-License-Identifier: Apache-2.0
// Data services on a port of an adapter: what they are given of what comes, and what they send.
#include "fabric/raw_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "running_lab.h"
#include "test_program.h"
#include "wire/cm_field.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Lid kRawServiceServiceLid{0xF};
constexpr Lid kSecondLid{0xFF};

// Keeps the bytes of what it is given, and does with the packets what it is told.
class Consumer final : public RawConsumer {
 public:
  void take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) override {
    bursts.push_back(packets.size());
    for (link::PacketPtr& packet : packets) {
      auto& bytes = taken[queue].emplace_back(packet->size());
      packet->copy_to(bytes);
      if (forward) forward(std::move(packet), now);
    }
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& [queue, packets] : taken)
      sum += packets.size();
    return sum;
  }

  std::map<std::uint16_t, std::vector<std::vector<std::byte>>> taken;  // by queue
  std::vector<std::size_t> bursts;
  std::function<void(link::PacketPtr, Time)> forward;
};

// a and b on one switch, c and d on the other; the service is on d.
class RawServiceTest : public ::testing::Test {
 protected:
  RawServiceTest() {
    lab.bring_up();
    route(kRawServiceServiceLid);
    route(kSecondLid);
  }

  // As the subnet manager does with service LIDs: as d's own.
  void route(Lid lid) {
    for (const char* const name : {"s1", "s2"}) {
      mgmt::ManagedNode& node = *lab.fabric.find_node(name);
      const auto block = static_cast<std::uint16_t>(lid.value() / 64);
      wire::LinearBlock ports = node.linear(block);
      ports.ports.at(lid.value() % 64) = node.linear(0).ports.at(d.lid().value());
      node.set_linear(block, ports);
      wire::SwitchInfo info = node.switch_info();
      info.linear_top = Lid{0xFF};
      node.set_switch_info(info);
    }
  }
  ChannelAdapter& adapter(const std::string& name) { return *lab.fabric.find_adapter(name); }
  std::unique_ptr<RawService> attach(const RawOptions& options = {}, const char* node = "d") {
    auto place = RawService::attach(adapter(node), 1, consumer, options, entropy);
    EXPECT_TRUE(place);
    return std::move(*place);
  }
  std::uint64_t count(NodeCounter counter, const char* node = "d") {
    return lab.count(node, counter);
  }
  Datagram through(Lid lid) {
    Datagram datagram = a.to(b);
    datagram.dlid = lid;
    datagram.grh =
        wire::Grh{.sgid = gid_of(adapter("a").port(1)), .dgid = gid_of(adapter("b").port(1))};
    return datagram;
  }

  // The service sends on what it is given, to this LID.
  void lead_on(RawService& service, Lid lid) {
    consumer.forward = [&service, lid](link::PacketPtr packet, Time now) {
      wire::Lrh lrh = packet->lrh();
      lrh.dlid = lid;
      packet->rewrite_lrh(lrh);
      EXPECT_EQ(service.send(std::move(packet), now), Sent::kTaken);
    };
  }

  RunningLab lab{lab_of(kFourNodes)};
  TestProgram a{lab.fabric, "a"};
  TestProgram b{lab.fabric, "b"};
  TestProgram d{lab.fabric, "d"};
  SeededEntropy entropy{Random(5)};
  Consumer consumer;
};

// 0xF and 0xFF go raw to the service, all else to the protocol engine.
TEST_F(RawServiceTest, GetsItsLidsRawAndLeavesTheRestToTheEngine) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  ASSERT_TRUE(service->divert(kSecondLid));
  const auto first = through(kRawServiceServiceLid);
  const auto second = through(kSecondLid);
  EXPECT_EQ(a.send(first, lab.now), Sent::kTaken);
  EXPECT_EQ(a.send(second, lab.now), Sent::kTaken);
  EXPECT_EQ(a.send(a.to(d), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_THAT(consumer.taken[0], ElementsAre(first.bytes(), second.bytes()));
  EXPECT_THAT(d.taken, SizeIs(1));
  EXPECT_EQ(count(NodeCounter::kDiverted), 2u);
  EXPECT_EQ(count(NodeCounter::kDelivered), 1u);
}

TEST_F(RawServiceTest, LosesItsLidsWhenItGoes) {
  auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  service.reset();
  a.send(through(kRawServiceServiceLid), lab.now);
  lab.settle();
  EXPECT_EQ(consumer.count(), 0u);
  EXPECT_EQ(count(NodeCounter::kNotMine), 1u);
  // Another one may have them.
  const auto next = attach();
  EXPECT_TRUE(next->divert(kRawServiceServiceLid));
}

// The service sets the DLID that the packet is really for: with a GRH nothing else changes.
TEST_F(RawServiceTest, ForwardsByReferenceAndTheReceiverFindsBothCrcsRight) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  lead_on(*service, b.lid());
  Datagram sent = through(kRawServiceServiceLid);
  sent.payload = 1'024;
  a.send(sent, lab.now);
  lab.settle();
  ASSERT_THAT(b.taken, SizeIs(1));
  sent.dlid = b.lid();
  EXPECT_EQ(b.taken[0], sent.bytes());  // SLID and SGID are a's
  EXPECT_TRUE(wire::check_link_crcs(b.taken[0]).good());
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(RawServiceTest, GivesWhatIsForItsOwnNodeToTheEngine) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  lead_on(*service, d.lid());
  Datagram sent = through(kRawServiceServiceLid);
  sent.dest = d.qpn;
  a.send(sent, lab.now);
  lab.settle();
  EXPECT_THAT(d.taken, SizeIs(1));
  EXPECT_EQ(count(NodeCounter::kLooped), 1u);
}

// What the node's own applications send through the service does not leave the node.
TEST_F(RawServiceTest, GetsWhatApplicationsOfItsOwnNodeSendThroughIt) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  Datagram sent = d.to(kRawServiceServiceLid, b.qpn);
  EXPECT_EQ(d.send(sent, lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_EQ(count(NodeCounter::kLooped), 1u);
}

// One that takes all that is not for the port itself knows no LIDs; the port does.
TEST_F(RawServiceTest, GetsSoWhatComesToItsPortByOtherRules) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(OtherLids{}));
  d.send(d.to(kRawServiceServiceLid, b.qpn), lab.now);
  lab.settle();
  EXPECT_EQ(consumer.count(), 0u) << "the switch sends nothing back by where it came in";
  (*adapter("d").raw_port(1))->set_service_lids({kRawServiceServiceLid});
  d.send(d.to(kRawServiceServiceLid, b.qpn), lab.now);
  d.send(d.to(b), lab.now);
  lab.settle();
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_THAT(b.taken, SizeIs(1));
}

// A communication manager of the node, as rdma_cm has one.
struct Manager final : mgmt::MadClient {
  void received(mgmt::AgentId, const mgmt::ReceivedMad&) override { ++heard; }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}
  mgmt::AgentId open(Node& node) {
    mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kCommMgt,
                              .class_version = wire::kCmClassVersion,
                              .own_transactions = true};
    wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kSend));
    return node.management().mad_port(1).add_agent(wanted, *this).value();
  }
  int heard = 0;
};

TEST_F(RawServiceTest, GetsWhatManagementOfItsOwnNodeSendsThroughItButNotOnVl15) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  lead_on(*service, b.lid());
  Manager there;
  there.open(adapter("b"));
  Manager here;
  std::array<std::byte, wire::kMadSize> mad{};
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kCommMgt,
                  .class_version = wire::kCmClassVersion,
                  .method = wire::MadMethod::kSend}
      .write(mad);
  const mgmt::MadRequest request{
      .to = {.lid = kRawServiceServiceLid,
             .qpn = kQp1,
             .qkey = kGsiQKey,
             .global = mgmt::GlobalAddress{.gid = gid_of(adapter("b").port(1)), .hop_limit = 255}},
      .mad = mad};
  const mgmt::AgentId agent = here.open(adapter("d"));
  ASSERT_TRUE(adapter("d").management().mad_port(1).send(agent, request, lab.now));
  adapter("d").management_used();
  lab.settle();
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_EQ(count(NodeCounter::kLooped), 1u);
  EXPECT_EQ(there.heard, 1);
  // Subnet management is nothing for services.
  lab.from = "d";
  EXPECT_FALSE(
      lab.routed(wire::MadMethod::kGet, wire::SmAttribute::kNodeInfo, 0, kRawServiceServiceLid));
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_EQ(count(NodeCounter::kLooped), 1u);
}

TEST_F(RawServiceTest, DoesNotGetBackWhatItSendsToItself) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  consumer.forward = [&](link::PacketPtr packet, Time now) {
    service->send(std::move(packet), now);
  };
  a.send(through(kRawServiceServiceLid), lab.now);
  lab.settle();  // comes to rest
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_EQ(count(NodeCounter::kNotMine), 1u);
}

TEST_F(RawServiceTest, SendsToAnotherServiceOfItsPort) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  Consumer other;
  const auto second = *RawService::attach(adapter("d"), 1, other, {}, entropy);
  ASSERT_TRUE(second->divert(kSecondLid));
  EXPECT_EQ(second->divert(kRawServiceServiceLid).error().code, std::errc::file_exists);
  lead_on(*service, kSecondLid);
  a.send(through(kRawServiceServiceLid), lab.now);
  lab.settle();
  EXPECT_EQ(other.count(), 1u);
}

TEST_F(RawServiceTest, InvertedGetsWhatIsNotForThePort) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(OtherLids{}));
  a.send(through(kRawServiceServiceLid), lab.now);
  a.send(a.to(d), lab.now);
  lab.settle();
  EXPECT_EQ(consumer.count(), 1u);
  EXPECT_THAT(d.taken, SizeIs(1));
  // The port gets another LID: what goes to the old one is not its any more.
  mgmt::ManagedNode& node = *lab.fabric.find_node("d");
  wire::PortInfo info = node.port_info(1);
  const Lid old = info.lid;
  info.lid = Lid{0x20};
  node.set_port_info(1, info, lab.now);
  lab.settle();
  a.send(a.to(old, d.qpn), lab.now);
  lab.settle();
  EXPECT_EQ(consumer.count(), 2u);
}

TEST_F(RawServiceTest, InvertedByGidKnowsEachGidOfThePort) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(OtherGids{}));
  mgmt::ManagedNode& node = *lab.fabric.find_node("d");
  wire::GuidBlock guids = node.guids(1, 0);
  guids.guids[2] = Guid{0x0200'0000'0000'4321};
  node.set_guids(1, 0, guids);
  Datagram sent = a.to(d);
  sent.grh =
      wire::Grh{.sgid = gid_of(adapter("a").port(1)), .dgid = gid_of(adapter("d").port(1), 2)};
  a.send(sent, lab.now);
  sent.grh->dgid = gid_of(adapter("b").port(1));
  a.send(sent, lab.now);
  lab.settle();
  EXPECT_THAT(d.taken, SizeIs(1));
  EXPECT_EQ(consumer.count(), 1u);
}

TEST_F(RawServiceTest, WatchesWithoutHoldingAnythingUp) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(Everything{}));
  const auto sent = a.to(d);
  a.send(sent, lab.now);
  lab.settle();
  EXPECT_THAT(consumer.taken[0], ElementsAre(sent.bytes()));
  EXPECT_THAT(d.taken, ElementsAre(sent.bytes()));
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST_F(RawServiceTest, DropsWhatHasAWrongIcrcAndCountsIt) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  auto bytes = through(kRawServiceServiceLid).bytes();
  bytes[90] ^= std::byte{1};
  wire::store_le16(bytes.data() + bytes.size() - 2,
                   wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset,
                                                         Bytes(bytes).first(bytes.size() - 2))));
  EXPECT_EQ(a.send(bytes, a.qpn, a.attachment().epoch(), lab.now), Sent::kTaken);
  lab.settle();
  EXPECT_EQ(consumer.count(), 0u);
  EXPECT_EQ(count(NodeCounter::kRawBadIcrc), 1u);
}

TEST_F(RawServiceTest, SpreadsFlowsOverItsQueuesEachInOrder) {
  const auto service = attach({.queues = 4});
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    for (std::uint32_t flow = 0; flow < 40; ++flow) {
      Datagram sent = through(kRawServiceServiceLid);
      sent.dest = Qpn{100 + flow};
      sent.psn = Psn{turn};
      a.send(sent, lab.now);
    }
    lab.settle();
  }
  EXPECT_EQ(consumer.count(), 160u);
  EXPECT_EQ(consumer.taken.size(), 4u);
  std::map<Qpn, std::uint16_t> queue_of;
  std::map<Qpn, std::uint32_t> next;
  for (const auto& [queue, packets] : consumer.taken) {
    for (const auto& packet : packets) {
      const auto bth = *wire::Bth::parse(Bytes(packet).subspan(48));
      EXPECT_EQ(queue_of.try_emplace(bth.dest_qp, queue).first->second, queue);
      EXPECT_EQ(bth.psn.value(), next[bth.dest_qp]++);
    }
  }
  EXPECT_EQ(queue_of.size(), 40u);
}

TEST_F(RawServiceTest, IsGivenWhatHasComeTogether) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  for (int i = 0; i < 20; ++i)
    d.send(d.to(kRawServiceServiceLid, b.qpn), lab.now);
  lab.settle();
  EXPECT_THAT(consumer.bursts, ElementsAre(20u));
}

TEST_F(RawServiceTest, MovesFlowsToTheQueueOfACore) {
  const auto service = attach({.queues = 2, .cores = {2, 3}});
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  const auto bytes = through(kRawServiceServiceLid).bytes();
  const auto hash = service->scaling().hash(hca::flow_of(bytes, {}));
  for (const unsigned core : {3U, 2U, 3U}) {
    ASSERT_TRUE(service->scaling().direct(hash, core));
    // What is there goes to the queue where it is.
    a.send(bytes, a.qpn, a.attachment().epoch(), lab.now);
    lab.settle();
    consumer.taken.clear();
    a.send(bytes, a.qpn, a.attachment().epoch(), lab.now);
    lab.settle();
    EXPECT_EQ(consumer.taken[static_cast<std::uint16_t>(core - 2)].size(), 1u) << core;
  }
}

TEST_F(RawServiceTest, HoldsTheSenderUpWhileItKeepsPackets) {
  const auto service = attach();
  ASSERT_TRUE(service->divert(kRawServiceServiceLid));
  std::vector<link::PacketPtr> kept;
  consumer.forward = [&](link::PacketPtr packet, Time) { kept.push_back(std::move(packet)); };
  Datagram sent = through(kRawServiceServiceLid);
  sent.payload = 2'048;
  int taken = 0;
  while (a.send(sent, lab.now) == Sent::kTaken && taken < 100'000) {
    ++taken;
    lab.settle();
  }
  EXPECT_LT(taken, 1'000);
  kept.clear();
  lab.settle();
  EXPECT_EQ(a.send(sent, lab.now), Sent::kTaken);
  lab.settle();
  kept.clear();
}

TEST_F(RawServiceTest, SendsNoSubnetManagementAndNothingMalformed) {
  const auto service = attach();
  const auto refused = [&](const Datagram& datagram) {
    return service->send(lab.fabric.pool().copy(datagram.bytes()), lab.now) == Sent::kForged;
  };
  Datagram sent = a.to(b);
  EXPECT_FALSE(refused(sent));  // from a's LID
  sent.dest = kQp1;
  EXPECT_FALSE(refused(sent));
  sent.dest = kQp0;
  EXPECT_TRUE(refused(sent));
  sent = a.to(b);
  sent.vl = Vl{15};
  EXPECT_TRUE(refused(sent));
  sent = a.to(b);
  sent.payload = 8'192;
  EXPECT_EQ(lab.fabric.pool().copy(sent.bytes()), nullptr);
  auto bytes = a.to(b).bytes();
  bytes[5] = std::byte{3};
  EXPECT_EQ(service->send(lab.fabric.pool().copy(bytes), lab.now), Sent::kForged);
  EXPECT_EQ(count(NodeCounter::kForged), 3u);
}

TEST_F(RawServiceTest, MustBeOnAPortAndHaveQueues) {
  EXPECT_EQ(RawService::attach(adapter("d"), 2, consumer, {}, entropy).error().message,
            "port 2: d has ports 1 to 1");
  EXPECT_EQ(RawService::attach(adapter("d"), 1, consumer, {.queues = 0}, entropy).error().message,
            "0 raw queues: a service has 1 to 128");
}

}  // namespace
}  // namespace weft::fabric
