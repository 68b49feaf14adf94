// SPDX-License-Identifier: Apache-2.0
// What the network says of messages that did not arrive, truly or not.
#include "cm_fixture.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

class CmUndelivered : public CmTest {
 protected:
  static constexpr std::size_t kQuoted = 44;  // of a message, in what sockets give us

  CmUndelivered() {
    a.drops = b.drops = [](const Mad&) { return true; };
  }
  // The network says that it could not deliver this to `destination`.
  void report(CmHost& to, Bytes mad, const Gid& destination) {
    to.call([&](ConnectionManager& cm) { cm.undelivered(mad, destination, world.now()); });
  }
  void report_last(CmHost& sender, const CmHost& receiver) {
    report(sender, Bytes(sender.sent.back()).first(kQuoted), receiver.gid);
  }
  // Runs until `host` has sent so many of a kind, reporting each as it leaves.
  void report_each(CmHost& host, const CmHost& peer, CmMessage kind, std::size_t times) {
    for (std::size_t seen = 0; seen < times; run(10ms)) {
      const auto sent = std::count_if(host.sent.begin(), host.sent.end(),
                                      [&](const Mad& mad) { return kind_of(mad) == kind; });
      if (static_cast<std::size_t>(sent) <= seen) continue;
      ++seen;
      report_last(host, peer);
    }
  }
};

TEST_F(CmUndelivered, AConnectionWhoseRequestsAreAllRefusedIsUnreachableSoon) {
  connect();
  const Time began = world.now();
  report_each(a, b, CmMessage::kReq, 2);
  EXPECT_EQ(a.count<Unreachable>(), 0u) << "two may be a mistake";
  report_each(a, b, CmMessage::kReq, 3);
  EXPECT_EQ(a.only<Unreachable>().message, CmMessage::kReq);
  EXPECT_LT(world.now() - began, 3s);
  EXPECT_EQ(a.counter(CmCounter::kUndelivered), 1u);
  EXPECT_EQ(a.counter(CmCounter::kTimeouts), 0u);
}

TEST_F(CmUndelivered, AQuestionForADatagramServiceIsUnreachableSoon) {
  a.call([&](ConnectionManager& cm) {
    return cm.sidr_request({.path = a.path_to(b), .service_id = kService}, world.now());
  });
  report_each(a, b, CmMessage::kSidrReq, 3);
  EXPECT_EQ(a.only<Unreachable>().message, CmMessage::kSidrReq);
}

TEST_F(CmUndelivered, ADisconnectTowardsAHostWithoutAManagerEndsSoon) {
  a.drops = b.drops = [](const Mad&) { return false; };
  const Ids ids = establish();
  a.drops = [](const Mad&) { return true; };
  ASSERT_TRUE(disconnect(a, ids.a));
  report_each(a, b, CmMessage::kDreq, 3);
  EXPECT_EQ(a.only<Disconnected>().cause, Disconnected::Cause::kUnanswered);
}

TEST_F(CmUndelivered, OneTransmissionReportedAgainAndAgainCountsOnce) {
  connect();
  for (int i = 0; i < 100; ++i)
    report_last(a, b);
  EXPECT_EQ(a.count<Unreachable>(), 0u);
  EXPECT_EQ(a.counter(CmCounter::kRxReports), 100u);
  EXPECT_EQ(a.counter(CmCounter::kRxStrayReports), 99u);
}

TEST_F(CmUndelivered, WhoDoesNotKnowTheMessageIsNotBelieved) {
  connect();
  run(5s);
  const std::size_t sent = a.sent.size();
  ASSERT_GT(sent, 3u);
  const Mad genuine = a.sent.back();
  const auto forged = [&](std::size_t at) {
    Mad mad = genuine;
    mad[at] ^= std::byte{1};
    return mad;
  };
  constexpr std::size_t kClass = 1, kTransaction = 15, kAttribute = 17, kCommId = 27;
  for (std::size_t i = 0; i < sent; ++i) {
    for (const std::size_t at : {kClass, kTransaction, kAttribute, kCommId})
      report(a, Bytes(forged(at)).first(kQuoted), b.gid);
    report(a, Bytes(genuine).first(kQuoted), address_of(99));
    report(a, Bytes(genuine).first(kCommId), b.gid);  // too short to tell
    report(a, {}, b.gid);
  }
  EXPECT_EQ(a.count<Unreachable>(), 0u);
  EXPECT_EQ(a.counter(CmCounter::kRxStrayReports), 7 * sent);
}

TEST_F(CmUndelivered, APeerThatAsksForTimeIsThere) {
  listen();
  a.drops = b.drops = [](const Mad&) { return false; };
  connect();
  report_last(a, b);
  run(600ms);
  report_last(a, b);  // sent again; the consumer of b thinks, and b answers with an MRA
  run(10ms);
  ASSERT_EQ(a.count<MoreTime>(), 1u);
  report_last(a, b);
  report_last(a, b);
  EXPECT_EQ(a.count<Unreachable>(), 0u);
}

TEST_F(CmUndelivered, NothingIsLeftOfAConnectionThatWasGivenUp) {
  connect();
  report_each(a, b, CmMessage::kReq, 3);
  const std::size_t sent = a.sent.size();
  run_out();
  EXPECT_EQ(a.sent.size(), sent);
  EXPECT_EQ(a.count<Unreachable>(), 1u);
}

}  // namespace
}  // namespace weft::mgmt
