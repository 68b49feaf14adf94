// SPDX-License-Identifier: Apache-2.0
// A program's port on a fabric: its facts, what it sends, and what it tells the daemon.
#include <gmock/gmock.h>
#include <poll.h>

#include "fabric_port_fixture.h"

namespace weft::port {
namespace {

using testing::ElementsAre;

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
