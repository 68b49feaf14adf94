// SPDX-License-Identifier: Apache-2.0
// Clients that come before their server listens.
#include "cm_fixture.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

class Early : public testing::Test {
 protected:
  static constexpr Duration kPatience = 1s;

  static CmConfig patient() {
    CmConfig config;
    config.early_patience = kPatience;
    config.limits.early = 4;
    return config;
  }
  Expected<CmId> listen(const Gid& address = {}) {
    return b.call([&](ConnectionManager& cm) {
      return cm.listen({.service_id = kService, .address = address, .backlog = 16});
    });
  }
  CmId connect(std::uint32_t qpn = 0x11) {
    ConnectParameters wanted = connect_parameters(a, b);
    wanted.qpn = Qpn{qpn};
    return a.call([&](ConnectionManager& cm) { return cm.connect(wanted, world.now()); }).value();
  }
  CmId ask() {
    return a
        .call([&](ConnectionManager& cm) {
          return cm.sidr_request({.path = a.path_to(b), .service_id = kService}, world.now());
        })
        .value();
  }

  CmWorld world{1, {}, patient()};
  CmHost& a = world.a();
  CmHost& b = world.b();
};

TEST_F(Early, ARequestIsHeardByTheListenerThatComesNext) {
  connect();
  world.run(kPatience / 2);
  EXPECT_TRUE(b.sent.empty()) << "neither refused nor answered";
  ASSERT_TRUE(listen());
  world.run(1ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 1u);
  EXPECT_EQ(a.count<Rejected>(), 0u);
}

TEST_F(Early, AQuestionIsHeardByTheListenerThatComesNext) {
  ask();
  world.run(kPatience / 2);
  EXPECT_TRUE(b.sent.empty());
  ASSERT_TRUE(listen());
  world.run(1ms);
  EXPECT_EQ(b.count<SidrRequest>(), 1u);
}

TEST_F(Early, WhatNobodyHearsInTimeIsRefused) {
  connect();
  ask();
  world.run(kPatience + 10ms);
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kInvalidServiceId);
  EXPECT_EQ(a.only<SidrReply>().status, SidrStatus::kServiceNotSupported);
  EXPECT_EQ(b.counter(CmCounter::kRefusedNoListener), 2u);
  EXPECT_FALSE(b.manager.deadline()) << "nothing is left of them";
}

TEST_F(Early, ARepeatedRequestIsHeardOnce) {
  connect();
  world.run(kPatience - 10ms);  // the client has sent it again by now
  EXPECT_GT(b.counter(CmCounter::kRxRepeated), 0u);
  ASSERT_TRUE(listen());
  world.run(10ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 1u);
}

TEST_F(Early, AListenerAtAnotherAddressDoesNotHearIt) {
  b.more_addresses = {address_of(200)};
  connect();
  world.run(10ms);
  ASSERT_TRUE(listen(address_of(200)));
  world.run(10ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 0u);
  EXPECT_TRUE(b.sent.empty()) << "and may still be followed by one that does";
  ASSERT_TRUE(listen(b.gid));
  world.run(10ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 1u);
}

TEST_F(Early, AClientThatGivesUpIsForgotten) {
  const CmId id = connect();
  world.run(10ms);
  a.call([&](ConnectionManager& cm) { cm.destroy(id, world.now()); });
  world.run(10ms);
  ASSERT_TRUE(listen());
  world.run(10ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 0u);
}

TEST_F(Early, MoreThanTheLimitAreRefusedAtOnce) {
  for (std::uint32_t i = 0; i < 5; ++i)
    connect(0x11 + i);
  world.run(10ms);
  EXPECT_EQ(a.count<Rejected>(), 1u);
  ASSERT_TRUE(listen());
  world.run(10ms);
  EXPECT_EQ(b.count<ConnectRequest>(), 4u);
}

}  // namespace
}  // namespace weft::mgmt
