// SPDX-License-Identifier: Apache-2.0
// Whose messages are whose, on their way out and before they are taken in.
#include <set>

#include "cm_fixture.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

constexpr std::uint64_t kAsking = 11;
constexpr std::uint64_t kAsked = 22;

class CmOwner : public CmTest {
 protected:
  CmOwner() {
    for (CmHost* host : {&a, &b}) {
      // While a message leaves and before it arrives at the other host.
      host->drops = [this, host](const Mad& mad) {
        CmHost& other = host == &a ? b : a;
        left_[kind_of(mad)].insert(host->manager.owner_of_leaving(mad, host->path_to(other)));
        world.scheduler().after(900us, [this, &other, host, mad] {
          came_[kind_of(mad)].insert(other.manager.owner_of_arriving(mad, other.path_to(*host)));
        });
        return false;
      };
    }
    b.on_each = [this](const CmEvent& event) {
      const bool asked = std::holds_alternative<ConnectRequest>(event.what) ||
                         std::holds_alternative<SidrRequest>(event.what);
      if (asked) {
        EXPECT_TRUE(b.manager.set_owner(event.id, kAsked));
      }
    };
  }
  static ConnectParameters owned(ConnectParameters parameters) {
    parameters.owner = kAsking;
    return parameters;
  }
  using Owners = std::set<std::uint64_t>;

  std::map<CmMessage, Owners> left_;
  std::map<CmMessage, Owners> came_;
};

TEST_F(CmOwner, IsKnownOfEveryMessageOfAConnection) {
  listen();
  const CmId at_a = connect(owned(connect_parameters(a, b)));
  run(600ms);  // a asks again: b, whose consumer thinks, answers with an MRA
  const CmId at_b = b.only_id<ConnectRequest>();
  ASSERT_TRUE(accept(at_b));
  run();
  ASSERT_TRUE(ready(at_a));
  run();
  ASSERT_TRUE(disconnect(a, at_a));
  run();
  EXPECT_EQ(left_[CmMessage::kReq], Owners{kAsking});
  EXPECT_EQ(came_[CmMessage::kReq], (Owners{0, kAsked})) << "the first may be of a listener";
  for (const CmMessage of_b : {CmMessage::kMra, CmMessage::kRep, CmMessage::kDrep}) {
    EXPECT_EQ(left_[of_b], Owners{kAsked}) << to_string(of_b);
    EXPECT_EQ(came_[of_b], Owners{kAsking}) << to_string(of_b);
  }
  for (const CmMessage of_a : {CmMessage::kRtu, CmMessage::kDreq}) {
    EXPECT_EQ(left_[of_a], Owners{kAsking}) << to_string(of_a);
    EXPECT_EQ(came_[of_a], Owners{kAsked}) << to_string(of_a);
  }
}

TEST_F(CmOwner, IsKnownOfQuestionsForDatagramServices) {
  listen();
  a.call([&](ConnectionManager& cm) {
    return cm.sidr_request({.path = a.path_to(b), .service_id = kService, .owner = kAsking},
                           world.now());
  });
  run();
  const CmId at_b = b.only_id<SidrRequest>();
  ASSERT_TRUE(b.call(
      [&](ConnectionManager& cm) { return cm.sidr_reply(at_b, {.qpn = Qpn{0x22}}, world.now()); }));
  run();
  EXPECT_EQ(left_[CmMessage::kSidrReq], Owners{kAsking});
  EXPECT_EQ(left_[CmMessage::kSidrRep], Owners{kAsked});
  EXPECT_EQ(came_[CmMessage::kSidrRep], Owners{kAsking});
}

TEST_F(CmOwner, IsRememberedOfAConnectionThatWasDestroyed) {
  listen();
  const CmId at_a = connect(owned(connect_parameters(a, b)));
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  ASSERT_TRUE(ready(at_a));
  run();
  destroy(a, at_a);  // says DREQ in the name of who is gone
  run();
  EXPECT_EQ(left_[CmMessage::kDreq], Owners{kAsking});
  EXPECT_EQ(came_[CmMessage::kDrep], Owners{kAsking});
}

TEST_F(CmOwner, IsNobodyOfWhatIsNoMessageOrOfNoConnection) {
  Mad mad{};
  EXPECT_EQ(a.manager.owner_of_leaving(mad, a.path_to(b)), 0u);
  EXPECT_EQ(a.manager.owner_of_arriving({}, a.path_to(b)), 0u);
  connect(owned(connect_parameters(a, b)));
  mad = a.sent.back();
  EXPECT_EQ(a.manager.owner_of_leaving(mad, a.path_to(b)), kAsking);
  EXPECT_EQ(a.manager.owner_of_leaving(Bytes(mad).first(kMadSize - 1), a.path_to(b)), 0u);
  mad[27] ^= std::byte{1};  // the communication ID
  EXPECT_EQ(a.manager.owner_of_leaving(mad, a.path_to(b)), 0u);
  EXPECT_FALSE(a.manager.set_owner(CmId{}, kAsking));
}

}  // namespace
}  // namespace weft::mgmt
