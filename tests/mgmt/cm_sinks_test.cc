// SPDX-License-Identifier: Apache-2.0
// Several who share a manager: each hears of what it has begun, and of nothing else.
#include "cm_fixture.h"

namespace weft::mgmt {
namespace {

using namespace test;

class SinksOther final : public EventSink {
 public:
  std::vector<CmEvent> events;

 private:
  void on_event(const CmEvent& event) override { events.push_back(event); }
};

constexpr ServiceId kOthers{kService.value() + 1};

class CmSinks : public CmTest {
 protected:
  CmId listen_for(SinksOther& other) {
    return b
        .call([&](ConnectionManager& cm) {
          return cm.listen({.service_id = kOthers, .events = &other});
        })
        .value();
  }
  ConnectParameters to_others() {
    ConnectParameters parameters = connect_parameters(a, b);
    parameters.service_id = kOthers;
    parameters.qpn = Qpn{0x99};
    return parameters;
  }
};

TEST_F(CmSinks, HearOfTheirOwnListenersAndConnections) {
  SinksOther at_a;
  SinksOther at_b;
  listen_for(at_b);
  ConnectParameters parameters = to_others();
  parameters.events = &at_a;
  const CmId id = connect(parameters);
  run();
  ASSERT_EQ(at_b.events.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<ConnectRequest>(at_b.events[0].what));
  EXPECT_EQ(at_b.events[0].now, world.now() - 99ms) << "when it came";
  ASSERT_TRUE(accept(at_b.events[0].id));
  run();
  ASSERT_EQ(at_a.events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ConnectResponse>(at_a.events[0].what));
  ASSERT_TRUE(ready(id));
  run();
  ASSERT_TRUE(disconnect(a, id));
  run_out();
  EXPECT_EQ(at_a.events.size(), 3u) << "Disconnected, TimewaitExit";
  EXPECT_EQ(at_b.events.size(), 4u) << "Established, Disconnected, TimewaitExit";
  EXPECT_TRUE(a.events.empty());
  EXPECT_TRUE(b.events.empty());
}

TEST_F(CmSinks, AreNotToldWhatIsTheManagersOwn) {
  SinksOther at_b;
  listen_for(at_b);
  establish();
  EXPECT_TRUE(at_b.events.empty());
  EXPECT_EQ(b.count<Established>(), 1u);
}

TEST_F(CmSinks, HearOfTheirOwnQuestions) {
  SinksOther at_a;
  SinksOther at_b;
  listen_for(at_b);
  a.call([&](ConnectionManager& cm) {
    return cm.sidr_request(
        {.path = a.path_to(b), .service_id = kOthers, .private_data = {}, .events = &at_a},
        world.now());
  });
  run();
  ASSERT_EQ(at_b.events.size(), 1u);
  ASSERT_TRUE(b.call([&](ConnectionManager& cm) {
    return cm.sidr_reply(at_b.events[0].id, {.qpn = Qpn{0x22}}, world.now());
  }));
  run();
  ASSERT_EQ(at_a.events.size(), 1u);
  EXPECT_EQ(std::get<SidrReply>(at_a.events[0].what).qpn, Qpn{0x22});
  EXPECT_TRUE(a.events.empty());
  EXPECT_TRUE(b.events.empty());
}

}  // namespace
}  // namespace weft::mgmt
