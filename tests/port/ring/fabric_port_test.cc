// SPDX-License-Identifier: Apache-2.0
// A program's port on a fabric, with a test in place of the daemon.
#include "port/ring/fabric_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <vector>

#include "fake_lab.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace weft::port {
namespace {

using testing::ElementsAre;

constexpr QKey kQkey{0x1234};

class Collected final : public DatagramSink {
 public:
  void deliver(const hca::InDatagram& datagram) override {
    transports.emplace_back(datagram.transport.begin(), datagram.transport.end());
    transports.back().insert(transports.back().end(), datagram.apart.begin(), datagram.apart.end());
    slids.push_back(datagram.slid.value());
  }
  void end_run() override {}
  std::vector<std::vector<std::byte>> transports;
  std::vector<std::uint16_t> slids;
};

class FabricPortTest : public testing::Test {
 protected:
  void SetUp() override { lab_.gids = {Gid{{0xFE, 0x80, 7}}}; }
  void open(FabricPortConfig config = {}) {
    lab_.start();
    config.place = {lab_.directory, "a"};
    auto port = FabricPort::open(config);
    ASSERT_TRUE(port) << port.error().message;
    port_ = std::move(*port);
    auto endpoint = port_->open_endpoint(Service::kDatagram);
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    endpoint_ = std::move(*endpoint);
  }

  static hca::Path path_to(std::uint16_t lid) {
    hca::Path path;
    path.dlid = Lid{lid};
    path.global = false;
    return path;
  }
  // `count` datagrams of `message` each.
  hca::Burst& burst(Bytes message, std::size_t count = 1, hca::Path path = path_to(0x20)) {
    burst_.clear();
    burst_.path = path;
    burst_.destination = to_;
    for (std::size_t i = 0; i < count; ++i) {
      hca::OutPacket& packet = burst_.open();
      wire::Bth bth;
      bth.opcode = wire::Opcode::ud_send_only;
      bth.pad_count = wire::pad_count_for(message.size());
      bth.pkey = pkey_;
      bth.dest_qp = to_;
      bth.psn = Psn{static_cast<std::uint32_t>(i)};
      bth.write(packet.header);
      wire::Deth{.qkey = qkey_, .src_qp = endpoint_->qpn()}.write(
          MutableBytes(packet.header).subspan(wire::Bth::kSize));
      packet.header_length = wire::Bth::kSize + wire::Deth::kSize;
      packet.pad = bth.pad_count;
      if (!message.empty()) burst_.add_piece(packet, message);
      burst_.close(packet, 4);
    }
    return burst_;
  }
  std::uint64_t counter(std::string_view name) {
    for (const CounterValue& value : port_->counters()) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  // A packet that says it comes from `slid`.
  std::vector<std::byte> packet_from(std::uint16_t slid, std::size_t payload = 4) {
    std::vector<std::byte> packet(8 + 12 + payload + 6);
    wire::Lrh{.dlid = Lid{0x10},
              .packet_words = static_cast<std::uint16_t>((packet.size() - 2) / 4),
              .slid = Lid{slid}}
        .write(packet);
    wire::Bth{.opcode = wire::Opcode::rc_send_only, .pkey = kDefaultPKey, .dest_qp = Qpn{0x100}}
        .write(MutableBytes(packet).subspan(8));
    wire::seal_link_packet(packet);
    return packet;
  }
  std::uint32_t take_news(std::uint8_t port) {
    port_->hear_news();
    return port_->take_news(port);
  }
  std::uint32_t told(const std::function<void()>& tell) {
    tell();
    return take_news(1);
  }
  void expect_dropped(const char* name) {
    const std::uint64_t before = counter(name);
    EXPECT_EQ(endpoint_->send(burst(message_, 2)).outcome, hca::SendOutcome::kSent);
    EXPECT_EQ(counter(name), before + 2);
    EXPECT_EQ(lab_.sent(), 0u);
  }

  test::FakeLab lab_;
  std::unique_ptr<FabricPort> port_;
  std::unique_ptr<Endpoint> endpoint_;
  hca::Burst burst_;
  Qpn to_{0x777};
  PKey pkey_ = kDefaultPKey;
  QKey qkey_ = kQkey;
  std::vector<std::byte> message_ = std::vector<std::byte>(1001, std::byte{0x42});
};

TEST_F(FabricPortTest, SaysOfItselfWhatTheDaemonTold) {
  lab_.facts.lmc = 2;
  lab_.pkeys = {0xFFFF, 0x8001};
  open();
  const PortAttributes port = port_->attributes(1);
  EXPECT_EQ(port.link_layer, LinkLayer::kInfiniband);
  EXPECT_EQ(port.state, LinkState::kActive);
  EXPECT_TRUE(port.link_up);
  EXPECT_EQ(port.lid, Lid{0x10});
  EXPECT_EQ(port.lmc, 2);
  EXPECT_EQ(port.sm_lid, Lid{1});
  EXPECT_EQ(port.max_mtu, 4096u);
  EXPECT_EQ(port.active_mtu, 2048u);
  EXPECT_EQ(port.rate_mbps, 40'000u);
  ASSERT_EQ(port.gids.size(), 1u);
  EXPECT_EQ(port.gids[0].gid, lab_.gids[0]);
  ASSERT_EQ(port.pkeys.size(), 128u);
  EXPECT_EQ(port.pkeys[1], PKey{0x8001});
  EXPECT_EQ(port.pkeys[2], PKey{0});
}

TEST_F(FabricPortTest, HandsOverABurstAsWholePacketsWithItsFacts) {
  open();
  ASSERT_EQ(endpoint_->send(burst(message_, 3)).outcome, hca::SendOutcome::kSent);
  ASSERT_EQ(lab_.sent(), 3u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto packet = lab_.packet(i);
    const auto walked = wire::walk_link_packet(packet);
    ASSERT_TRUE(walked);
    EXPECT_EQ(lab_.slot(i).unsealed, 1);
    EXPECT_EQ(lab_.slot(i).trailer_size, 3 + 6) << "room for pad bytes and CRCs";
    EXPECT_EQ(walked->lrh.slid, Lid{0x10});
    EXPECT_EQ(walked->lrh.dlid, Lid{0x20});
    EXPECT_EQ(walked->transport->deth->src_qp, endpoint_->qpn());
    EXPECT_EQ(walked->transport->bth.psn, Psn{static_cast<std::uint32_t>(i)});
    EXPECT_EQ(walked->payload.size(), message_.size());
    EXPECT_EQ(lab_.slot(i).epoch, 1u);
    EXPECT_EQ(lab_.slot(i).source, endpoint_->qpn().value());
  }
}

TEST_F(FabricPortTest, PathBitsBelowTheLmcChooseTheSourceLid) {
  lab_.facts.lmc = 1;
  open();
  hca::Path path = path_to(0x20);
  path.source_path_bits = 0x7F;
  endpoint_->send(burst(message_, 1, path));
  ASSERT_EQ(lab_.sent(), 1u);
  EXPECT_EQ(wire::Lrh::parse(lab_.packet(0))->slid, Lid{0x11});
}

TEST_F(FabricPortTest, AGlobalPathHasTheGidThatTheTableHasNow) {
  open();
  hca::Path path = path_to(0x20);
  path.global = true;
  path.sgid = Gid{{1, 2, 3}};
  path.dgid = Gid{{0xFE, 0x80, 9}};
  endpoint_->send(burst(message_, 1, path));
  ASSERT_EQ(lab_.sent(), 1u);
  const auto packet = lab_.packet(0);
  const auto walked = wire::walk_link_packet(packet);
  ASSERT_TRUE(walked && walked->grh);
  EXPECT_EQ(walked->grh->sgid, lab_.gids[0]);
  EXPECT_EQ(walked->grh->dgid, path.dgid);
  path.sgid_index = 1;
  EXPECT_EQ(endpoint_->send(burst(message_, 1, path)).outcome, hca::SendOutcome::kSent);
  EXPECT_EQ(lab_.sent(), 1u);
  EXPECT_EQ(counter("ring_tx_outdated"), 1u);
}

TEST_F(FabricPortTest, ABurstThatDoesNotFitIsOfferedAgainWhole) {
  open();
  std::size_t bursts = 0;
  while (endpoint_->send(burst(message_, 60)).outcome == hca::SendOutcome::kSent)
    ++bursts;
  EXPECT_EQ(bursts, ring::kSlots / 60);
  EXPECT_EQ(lab_.sent(), bursts * 60);
  EXPECT_EQ(counter("ring_tx_blocked"), 1u);
  lab_.accept_all();
  EXPECT_EQ(endpoint_->send(burst(message_, 60)).outcome, hca::SendOutcome::kSent);
  EXPECT_EQ(lab_.sent(), bursts * 60 + 60);
}

TEST_F(FabricPortTest, WhatTheAdapterWouldTakeForALieIsDroppedHere) {
  open();
  pkey_ = PKey{0x8003};
  expect_dropped("ring_tx_outdated");
  pkey_ = PKey{0x8000};
  expect_dropped("ring_tx_outdated");
  pkey_ = kDefaultPKey;
  qkey_ = QKey{0x8000'0001};
  expect_dropped("ring_tx_forbidden");
  qkey_ = kQkey;
  to_ = kQp1;
  expect_dropped("ring_tx_forbidden");
  to_ = Qpn{0x777};
  message_.resize(2049);
  expect_dropped("ring_tx_too_long");
  message_.resize(10);
  EXPECT_EQ(endpoint_->send(burst(message_, 1, path_to(0))).outcome, hca::SendOutcome::kSent);
  EXPECT_EQ(counter("ring_tx_unaddressed"), 1u);
  EXPECT_EQ(lab_.sent(), 0u);
}

TEST_F(FabricPortTest, APortThatIsNotActiveSendsNothing) {
  lab_.facts.state = 3;
  open();
  expect_dropped("ring_tx_inactive");
}

TEST_F(FabricPortTest, PacketsGoByTheFactsThatWereTakenLast) {
  open();
  const std::uint32_t news = told([&] {
    lab_.facts.epoch = 2;
    lab_.facts.lid = 0x18;
    lab_.pkeys = {0x8003};
    lab_.tell_facts();
  });
  EXPECT_EQ(news, kNewsLid | kNewsPKey);
  expect_dropped("ring_tx_outdated");
  pkey_ = PKey{0x8003};
  endpoint_->send(burst(message_));
  ASSERT_EQ(lab_.sent(), 1u);
  EXPECT_EQ(lab_.slot(0).epoch, 2u);
  EXPECT_EQ(wire::Lrh::parse(lab_.packet(0))->slid, Lid{0x18});
}

TEST_F(FabricPortTest, TellsWhatHasHappenedToThePort) {
  open();
  EXPECT_EQ(take_news(1), 0u);
  EXPECT_EQ(told([&] {
              lab_.facts.state = 2;
              lab_.tell_facts();
              lab_.facts.sm_lid = 9;
              lab_.facts.events = attach::kClientReregister;
              lab_.tell_facts();
            }),
            kNewsError | kNewsSm | kNewsReregister);
  EXPECT_EQ(told([&] {
              lab_.facts.state = 4;
              lab_.facts.events = 0;
              lab_.gids.push_back(Gid{{0xFE, 0x80, 8}});
              lab_.tell_facts();
            }),
            kNewsActive | kNewsGid);
}

TEST_F(FabricPortTest, SendsByThePortOfTheAdapterThatTheQueuePairIsOn) {
  lab_.welcome.ports = 2;
  open();
  EXPECT_EQ(port_->ports(), 2);
  ASSERT_TRUE(endpoint_->move_to(2));
  EXPECT_EQ(lab_.requests().back().action, attach::kMove);
  EXPECT_EQ(lab_.requests().back().qpn, endpoint_->qpn().value());
  EXPECT_EQ(lab_.requests().back().port, 2u);
  lab_.facts.port = 2;
  lab_.facts.lid = 0x44;
  lab_.facts.epoch = 7;
  lab_.tell_facts();
  EXPECT_EQ(take_news(1), 0u);
  EXPECT_EQ(take_news(2), kNewsLid);
  EXPECT_EQ(port_->attributes(1).lid, Lid{0x10});
  EXPECT_EQ(port_->attributes(2).lid, Lid{0x44});
  endpoint_->send(burst(message_));
  ASSERT_EQ(lab_.sent(), 1u);
  EXPECT_EQ(lab_.slot(0).port, 2);
  EXPECT_EQ(lab_.slot(0).epoch, 7u);
  EXPECT_EQ(wire::Lrh::parse(lab_.packet(0))->slid, Lid{0x44});
}

// News of one port that come while those of another are taken wait, and are told of.
TEST_F(FabricPortTest, HearsOnlyWhenItIsToldTo) {
  lab_.welcome.ports = 2;
  open();
  port_->hear_news();
  EXPECT_EQ(port_->take_news(1), 0u);
  lab_.facts.lid = 0x44;
  lab_.tell_facts();
  EXPECT_EQ(port_->take_news(2), 0u);
  pollfd ready{port_->news_descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  EXPECT_EQ(take_news(1), kNewsLid);
}

TEST_F(FabricPortTest, ToldOfAPortThatItDoesNotHaveItGoesOn) {
  open();
  lab_.facts.port = 2;
  lab_.facts.lid = 0x44;
  lab_.tell_facts();
  EXPECT_EQ(take_news(1), 0u);
  EXPECT_EQ(port_->attributes(1).lid, Lid{0x10});
}

TEST_F(FabricPortTest, WithoutItsDaemonThePortIsDownAndRefuses) {
  open();
  lab_.end();
  pollfd ready{port_->news_descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  EXPECT_EQ(take_news(1), kNewsDeviceFatal);
  EXPECT_EQ(take_news(1), 0u);
  EXPECT_EQ(port_->attributes(1).state, LinkState::kDown);
  EXPECT_EQ(endpoint_->send(burst(message_)).outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(counter("ring_tx_gone"), 1u);
  EXPECT_FALSE(port_->open_endpoint(Service::kDatagram));
}

TEST_F(FabricPortTest, MemoryThatIsNotThereIsALocalErrorAndCostsNoBlock) {
  FabricPortConfig config;
  config.guard = [](void (*)(void*), void*) { return false; };
  open(config);
  for (std::size_t i = 0; i < 2 * ring::kBlocks; ++i) {
    const hca::SendResult result = endpoint_->send(burst(message_));
    ASSERT_EQ(result.outcome, hca::SendOutcome::kRefused);
    ASSERT_EQ(result.reason, hca::CompletionStatus::kLocalProtectionError);
  }
  EXPECT_EQ(lab_.sent(), 0u);
}

TEST_F(FabricPortTest, HandsOnWhatArrivedInOrderAndGivesTheRoomBack) {
  open();
  lab_.push(packet_from(1), 20, 0);
  lab_.push(packet_from(2, 1000), 20, 1);
  lab_.push(packet_from(3, 0), 20, 2);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 2), 2u);
  EXPECT_EQ(lab_.program().page.taken.load(), 2u);
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 1u);
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 0u);
  EXPECT_EQ(lab_.program().page.taken.load(), 3u);
  EXPECT_THAT(sink.slids, ElementsAre(1, 2, 3));
  EXPECT_EQ(sink.transports[1].size(), 1012u);
}

// Its CRCs are zeros, which nobody looks at.
TEST_F(FabricPortTest, WhatComesWithoutCrcsIsHandedOnHoweverItIsCut) {
  open();
  auto packet = packet_from(1, 200);
  std::fill(packet.end() - 6, packet.end(), std::byte{0});
  const std::vector<std::byte> transport(packet.begin() + 8, packet.end() - 6);
  for (const std::size_t header : {20u, 28u, 128u}) {
    lab_.push(packet, header, 0, 1);
    lab_.push(packet, header, 0, 0);
  }
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 6u);
  EXPECT_THAT(sink.transports, ElementsAre(transport, transport, transport));
  EXPECT_EQ(counter("ring_rx_bad_icrc"), 3u) << "those that say they are sealed";
  packet[5] ^= std::byte{1};  // PktLen
  lab_.push(packet, 20, 0, 1);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_EQ(counter("ring_rx_malformed"), 1u);
}

TEST_F(FabricPortTest, FaultsFindCrcsInWhatComesWithoutThem) {
  FabricPortConfig config;
  config.faults.corrupt = 1;
  open(config);
  for (int i = 0; i < 20; ++i)
    lab_.push(packet_from(1, 200), 20, 0, 1);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 20), 20u);
  EXPECT_EQ(sink.transports.size() + counter("ring_rx_bad_icrc") + counter("ring_rx_malformed"),
            20u);
  EXPECT_GT(counter("ring_rx_bad_icrc"), 10u);
}

TEST_F(FabricPortTest, WhatIsNoPacketIsDroppedAndCounted) {
  open();
  auto corrupt = packet_from(1);
  corrupt[20] ^= std::byte{1};
  lab_.push(corrupt, 20);
  lab_.push(packet_from(1), 19, 1);
  ring::ArrivalSlot slot{};
  slot.port = 1;
  const ring::ArrivalSlot empty = slot;
  slot.header_size = 200;
  lab_.push(slot);
  slot = empty;
  slot.trailer_size = 10;
  lab_.push(slot);
  slot = empty;
  slot.block = ring::kBlocks;
  slot.payload_size = 1;
  lab_.push(slot);
  slot.block = 0;
  slot.payload_size = ring::kBlock + 1;
  lab_.push(slot);
  slot.payload_size = 1;
  slot.arena = 99;
  lab_.push(slot);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 100), 7u);
  EXPECT_TRUE(sink.transports.empty());
  EXPECT_EQ(counter("ring_rx_bad_icrc"), 1u);
  EXPECT_EQ(counter("ring_rx_malformed"), 6u);
}

TEST_F(FabricPortTest, WhatCameToAPortThatTheAdapterHasNotIsDroppedAndCounted) {
  open();
  const auto packet = packet_from(4);
  ring::ArrivalSlot slot{};
  slot.block = ring::kNoBlock;
  slot.header_size = static_cast<std::uint8_t>(packet.size() - 6);
  slot.trailer_size = 6;
  std::copy_n(packet.begin(), packet.size() - 6, slot.header.begin());
  std::copy_n(packet.end() - 6, 6, slot.trailer.begin());
  const auto beyond = static_cast<std::uint8_t>(lab_.welcome.ports + 1);
  for (const std::uint8_t port : std::array<std::uint8_t, 4>{0, 1, beyond, 255}) {
    slot.port = port;
    lab_.push(slot);
  }
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 100), 4u);
  EXPECT_THAT(sink.slids, ElementsAre(4));
  EXPECT_EQ(counter("ring_rx_malformed"), 3u);
}

TEST_F(FabricPortTest, ReadsPayloadWhereAnotherProgramHasIt) {
  open();
  const auto packet = packet_from(4, 100);
  ring::ArrivalSlot slot{};
  slot.port = 1;
  slot.header_size = 20;
  slot.trailer_size = 6;
  slot.payload_size = 100;
  slot.block = 17;
  std::copy_n(packet.begin(), 20, slot.header.begin());
  std::copy_n(packet.end() - 6, 6, slot.trailer.begin());
  const auto other = io::make_shared_file("other", sizeof(ring::ProgramMemory));
  ASSERT_TRUE(other);
  auto mapping =
      io::SharedMapping::map(other->get(), sizeof(ring::ProgramMemory), io::Access::kWrite);
  ASSERT_TRUE(mapping);
  std::copy_n(packet.begin() + 20, 100,
              static_cast<ring::ProgramMemory*>(mapping->begin())->blocks[17].begin());
  std::copy_n(packet.begin() + 20, 100, lab_.program().blocks[17].begin());

  Collected sink;
  slot.arena = lab_.welcome.arena;  // its own
  lab_.push(slot);
  EXPECT_EQ(told([&] { lab_.tell({attach::kArena, 8}, other->get()); }), 0u);
  const auto requests = lab_.requests();
  EXPECT_EQ(requests.back().action, attach::kMapped);
  EXPECT_EQ(requests.back().arena, 8u);
  slot.arena = 8;
  lab_.push(slot);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_THAT(sink.slids, ElementsAre(4, 4));
  told([&] { lab_.tell({attach::kArenaGone, 8}); });
  lab_.push(slot);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_EQ(sink.slids.size(), 2u);
  EXPECT_EQ(counter("ring_rx_malformed"), 1u);
}

TEST_F(FabricPortTest, MemoryThatItsMakerCouldTakeAwayIsNotAskedFor) {
  open();
  const io::UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(unsealed.get(), sizeof(ring::ProgramMemory)), 0);
  told([&] { lab_.tell({attach::kArena, 8}, unsealed.get()); });
  for (const attach::Request& request : lab_.requests())
    EXPECT_NE(request.action, attach::kMapped);
}

TEST_F(FabricPortTest, FaultsSpoilWhatArrives) {
  FabricPortConfig config;
  config.faults.loss = 1;
  open(config);
  lab_.push(packet_from(1), 20);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 1u);
  EXPECT_TRUE(sink.transports.empty());
  EXPECT_EQ(counter("fault_lost"), 1u);
}

TEST_F(FabricPortTest, WhatIsDuplicatedComesTwice) {
  FabricPortConfig config;
  config.faults.duplicate = 1;
  open(config);
  lab_.push(packet_from(1), 20);
  Collected sink;
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_THAT(sink.slids, ElementsAre(1, 1));
}

TEST_F(FabricPortTest, TellsTheDaemonOfNumbersAndGroups) {
  open();
  const Gid group{{0xFF, 0x12, 3}};
  EXPECT_TRUE(endpoint_->attach(group));
  EXPECT_TRUE(endpoint_->detach(group));
  const Qpn number = endpoint_->qpn();
  endpoint_.reset();
  const auto requests = lab_.requests();
  ASSERT_EQ(requests.size(), 4u);
  std::vector<std::uint32_t> actions;
  for (const attach::Request& request : requests)
    actions.push_back(request.action);
  EXPECT_THAT(actions,
              ElementsAre(attach::kAllocate, attach::kJoin, attach::kLeave, attach::kRelease));
  EXPECT_EQ(requests[1].qpn, number.value());
  EXPECT_TRUE(std::equal(group.bytes().begin(), group.bytes().end(), requests[1].group));
  EXPECT_EQ(requests[3].qpn, number.value());
}

TEST_F(FabricPortTest, ErrorsOfTheDaemonReachWhoOpens) {
  lab_.welcome.error = ENODEV;
  std::strcpy(lab_.welcome.message, "there is no node 'a'");
  lab_.start();
  FabricPortConfig config;
  config.place = {lab_.directory, "a"};
  const auto port = FabricPort::open(config);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, std::errc::no_such_device);
  EXPECT_EQ(port.error().message, "there is no node 'a'");
}

}  // namespace
}  // namespace weft::port
