// SPDX-License-Identifier: Apache-2.0
// QP numbers and Q_Keys of two ends that do not see each other's.
#include "runtime_fixture.h"
#include "wire/cm_alternate.h"
#include "wire/cm_refuse.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;
using wire::CommId;

constexpr CommId kMapperIdA{0xA1};
constexpr CommId kMapperIdB{0xB1};
constexpr Qpn kMapperQpA{0xAAA};
constexpr Qpn kMapperQpB{0xBBB};

class Mapping : public RuntimeTest {
 protected:
  Mapping() {
    runtime->set_chain(kService, {.map_queue_pairs = true});
    runtime->pin_path(a, {.dlid = kA, .slid = kService});
    runtime->pin_path(b, {.dlid = kB, .slid = kService});
  }

  [[nodiscard]] wire::CmReq request() const {
    wire::CmReq req{.local_comm_id = kMapperIdA, .local_qpn = kMapperQpA, .pkey = kDefaultPKey};
    req.primary = {.local_lid = kA, .remote_lid = kService, .local_gid = a, .remote_gid = b};
    return req;
  }
  [[nodiscard]] static wire::CmRep reply() {
    return {.local_comm_id = kMapperIdB, .remote_comm_id = kMapperIdA, .local_qpn = kMapperQpB};
  }
  // What the other end gets to see; nothing: it does not.
  template <class Message>
  std::optional<Message> seen(const Made& made) {
    const Buffer packet = through(made);
    if (packet.empty()) return std::nullopt;
    EXPECT_TRUE(wire::check_link_crcs(packet).good());
    const Fields fields = Fields::parse(packet);
    return Message::parse(
        Bytes(packet).subspan(fields.payload_at + wire::MadHeader::kSize, wire::kCmBodySize));
  }
  void connect() {
    const auto req = seen<wire::CmReq>(from_a(cm(request())));
    ASSERT_TRUE(req);
    a_for_b = req->local_qpn;
    const auto rep = seen<wire::CmRep>(from_b(cm(reply())));
    ASSERT_TRUE(rep);
    b_for_a = rep->local_qpn;
    ASSERT_TRUE(seen<wire::CmRtu>(
        from_a(cm(wire::CmRtu{.local_comm_id = kMapperIdA, .remote_comm_id = kMapperIdB}))));
  }
  Made data(Qpn to) {
    Made made;
    made.bth.dest_qp = to;
    made.payload = Buffer(64);
    return made;
  }

  Qpn a_for_b{};
  Qpn b_for_a{};
};

TEST_F(Mapping, ConnectionIsMadeOfNumbersThatNeitherEndHas) {
  connect();
  EXPECT_NE(a_for_b, kMapperQpA);
  EXPECT_NE(b_for_a, kMapperQpB);
  EXPECT_NE(a_for_b, b_for_a);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Fields::parse(through(from_a(data(b_for_a)))).dest_qp, kMapperQpB);
    EXPECT_EQ(Fields::parse(through(from_b(data(a_for_b)))).dest_qp, kMapperQpA);
  }
  EXPECT_EQ(count(kForwardedByFlow), 4u);
}

TEST_F(Mapping, RequestLeadsTheAnswersThroughTheService) {
  wire::CmReq req = request();
  req.alternate = {.local_lid = Lid{0x77}, .remote_lid = kB, .local_gid = a, .remote_gid = b};
  const auto got = seen<wire::CmReq>(from_a(cm(req)));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->primary.local_lid, kService);
  EXPECT_EQ(got->primary.remote_lid, kB);
  EXPECT_EQ(got->primary.local_gid, a);
  EXPECT_EQ(got->alternate, wire::CmPath{});
  EXPECT_EQ(got->local_comm_id, kMapperIdA);
  EXPECT_EQ(count(kAlternatePathsTakenOut), 1u);
}

// A permissive LID is the one that the packet came with: it may stay, and nothing beside it may.
TEST_F(Mapping, RequestWithPermissiveLidsIsNotAnsweredAroundTheService) {
  constexpr Lid kAny{wire::CmPath::kPermissiveLid};
  wire::CmReq req = request();
  req.primary.remote_lid = kAny;
  req.alternate = {.local_lid = Lid{0x77}, .remote_lid = kB, .local_gid = a, .remote_gid = b};
  auto got = seen<wire::CmReq>(from_a(cm(req)));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->primary.local_lid, kService);
  EXPECT_EQ(got->primary.remote_lid, kAny);
  EXPECT_EQ(got->alternate, wire::CmPath{});
  req.primary.local_lid = kAny;
  got = seen<wire::CmReq>(from_a(cm(req)));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->primary.local_lid, kAny);
  EXPECT_EQ(got->alternate, wire::CmPath{});
  EXPECT_EQ(count(kAlternatePathsTakenOut), 2u);
}

TEST_F(Mapping, RequestNamesThePartitionThatItsPacketsLeaveWith) {
  runtime->set_chain(
      kService, {.map_queue_pairs = true, .pkeys = {{.from = PKey{0x0001}, .to = PKey{0x8001}}}});
  wire::CmReq req = request();
  req.pkey = PKey{0x0001};
  Made made = from_a(cm(req));
  made.bth.pkey = PKey{0x0001};
  EXPECT_EQ(seen<wire::CmReq>(made)->pkey, PKey{0x8001});
  wire::CmSidrReq sidr{.request_id = CommId{9}, .pkey = PKey{0x0001}};
  EXPECT_EQ(seen<wire::CmSidrReq>(from_a(cm(sidr)))->pkey, PKey{0x8001});
}

TEST_F(Mapping, RequestThatIsSentAgainHasTheSameNumber) {
  const Qpn first = seen<wire::CmReq>(from_a(cm(request())))->local_qpn;
  EXPECT_EQ(seen<wire::CmReq>(from_a(cm(request())))->local_qpn, first);
  EXPECT_EQ(runtime->mapper().connections(), 1u);
}

TEST_F(Mapping, NumbersMeanNothingToAnybodyElse) {
  connect();
  const Gid c = gid(0xCCCC);
  Made made = from_a(data(b_for_a));
  made.gids->first = c;
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kDropForeignQp), 1u);
  // Nor does that of another end.
  made = from_a(data(a_for_b));
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kDropForeignQp), 2u);
  // A true number is nobody's.
  EXPECT_TRUE(through(from_a(data(kMapperQpB))).empty());
  EXPECT_EQ(count(kDropNoMapping), 1u);
}

TEST_F(Mapping, AnswersWithoutARequestAreDropped) {
  EXPECT_FALSE(seen<wire::CmRep>(from_b(cm(reply()))));
  EXPECT_FALSE(seen<wire::CmRtu>(from_a(cm(wire::CmRtu{.local_comm_id = kMapperIdA}))));
  EXPECT_FALSE(seen<wire::CmSidrRep>(from_b(cm(wire::CmSidrRep{.request_id = kMapperIdA}))));
  EXPECT_EQ(count(kDropUnknownConnection), 3u);
  // Nor may the requester, or a third one, answer.
  ASSERT_TRUE(seen<wire::CmReq>(from_a(cm(request()))));
  EXPECT_FALSE(seen<wire::CmRep>(from_a(cm(reply()))));
  Made made = from_b(cm(reply()));
  made.gids->first = gid(0xCCCC);
  EXPECT_FALSE(seen<wire::CmRep>(made));
  EXPECT_EQ(count(kDropUnknownConnection), 5u);
}

TEST_F(Mapping, DisconnectNamesTheReceiversOwnQueuePairAndEndsTheMapping) {
  connect();
  const auto dreq = seen<wire::CmDreq>(from_a(cm(wire::CmDreq{
      .local_comm_id = kMapperIdA, .remote_comm_id = kMapperIdB, .remote_qpn = b_for_a})));
  ASSERT_TRUE(dreq);
  EXPECT_EQ(dreq->remote_qpn, kMapperQpB);
  const wire::CmDrep drep{.local_comm_id = kMapperIdB, .remote_comm_id = kMapperIdA};
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(cm(drep))));
  EXPECT_FALSE(through(from_b(data(a_for_b))).empty());  // was under way
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  EXPECT_TRUE(through(from_b(data(a_for_b))).empty());
  EXPECT_TRUE(through(from_a(data(b_for_a))).empty());
  EXPECT_EQ(count(kDropNoMapping), 2u);
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 0u);
  EXPECT_EQ(runtime->mapper().connections(), 0u);
}

TEST_F(Mapping, EndThatIsSaidWithoutEndTakesNoMemory) {
  connect();
  const std::size_t before = runtime->mapper().queue_pairs().waiting();
  const wire::CmDrep drep{.local_comm_id = kMapperIdB, .remote_comm_id = kMapperIdA};
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(seen<wire::CmDrep>(from_b(cm(drep))));
  EXPECT_EQ(runtime->mapper().queue_pairs().waiting(), before + 2);
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 0u);
}

TEST_F(Mapping, DisconnectOfAStrangersQueuePairIsDropped) {
  connect();
  EXPECT_FALSE(seen<wire::CmDreq>(from_a(cm(wire::CmDreq{
      .local_comm_id = kMapperIdA, .remote_comm_id = kMapperIdB, .remote_qpn = a_for_b}))));
  EXPECT_EQ(count(kDropForeignQp), 1u);
  EXPECT_FALSE(seen<wire::CmDreq>(from_a(cm(wire::CmDreq{
      .local_comm_id = kMapperIdA, .remote_comm_id = kMapperIdB, .remote_qpn = kMapperQpB}))));
  EXPECT_EQ(count(kDropNoMapping), 1u);
}

TEST_F(Mapping, RefusedConnectionLeavesNothing) {
  ASSERT_TRUE(seen<wire::CmReq>(from_a(cm(request()))));
  ASSERT_TRUE(seen<wire::CmRej>(from_b(cm(wire::CmRej{.remote_comm_id = kMapperIdA}))));
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 0u);
  EXPECT_EQ(runtime->mapper().connections(), 0u);
}

TEST_F(Mapping, RequestThatNobodyAnswersIsForgotten) {
  ASSERT_TRUE(seen<wire::CmReq>(from_a(cm(request()))));
  now += CmTable::Options{}.patience;
  runtime->run(now);
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 0u);
  EXPECT_EQ(runtime->mapper().connections(), 0u);
  EXPECT_FALSE(seen<wire::CmRep>(from_b(cm(reply()))));
}

TEST_F(Mapping, FloodOfRequestsOfOneEndTouchesNobodyElse) {
  connect();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Made made =
        from_a(cm(wire::CmReq{.local_comm_id = CommId{1000 + i}, .local_qpn = Qpn{5000 + i}}));
    made.gids->first = gid(0xCCCC);
    through(made);
  }
  EXPECT_EQ(count(kDropMapFull), 1000 - CmTable::Options{}.unanswered_each);
  EXPECT_FALSE(through(from_a(data(b_for_a))).empty());
  wire::CmReq other = request();
  other.local_comm_id = CommId{7};
  EXPECT_TRUE(seen<wire::CmReq>(from_a(cm(other))));
}

TEST_F(Mapping, CommunicationIdIsFreeForAnotherConnectionOnceItsOneHasEnded) {
  connect();
  const wire::CmDrep drep{.local_comm_id = kMapperIdB, .remote_comm_id = kMapperIdA};
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(cm(drep))));
  wire::CmReq req = request();
  req.local_qpn = Qpn{0xAAB};
  ASSERT_TRUE(seen<wire::CmReq>(from_a(cm(req))));
  wire::CmRep rep = reply();
  rep.local_comm_id = CommId{0xB2};
  rep.local_qpn = Qpn{0xBBC};
  const auto seen_rep = seen<wire::CmRep>(from_b(cm(rep)));
  ASSERT_TRUE(seen_rep);
  EXPECT_EQ(Fields::parse(through(from_a(data(seen_rep->local_qpn)))).dest_qp, Qpn{0xBBC});
}

// Packets of the one that has ended may be under way still: they go where they were sent.
TEST_F(Mapping, QueuePairsThatAreConnectedAnewAtOnceStayConnected) {
  connect();
  const Qpn before = a_for_b;
  const wire::CmDrep drep{.local_comm_id = kMapperIdB, .remote_comm_id = kMapperIdA};
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(cm(drep))));
  now += 1s;
  wire::CmReq req = request();
  req.local_comm_id = CommId{0xA2};
  wire::CmRep rep = reply();
  rep.local_comm_id = CommId{0xB2};
  rep.remote_comm_id = CommId{0xA2};
  const auto seen_req = seen<wire::CmReq>(from_a(cm(req)));
  const auto seen_rep = seen<wire::CmRep>(from_b(cm(rep)));
  ASSERT_TRUE(seen_req && seen_rep);
  EXPECT_NE(seen_req->local_qpn, before);
  EXPECT_FALSE(through(from_b(data(before))).empty());
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  EXPECT_TRUE(through(from_b(data(before))).empty());
  EXPECT_EQ(Fields::parse(through(from_b(data(seen_req->local_qpn)))).dest_qp, kMapperQpA);
  EXPECT_EQ(Fields::parse(through(from_a(data(seen_rep->local_qpn)))).dest_qp, kMapperQpB);
}

TEST_F(Mapping, AlternatePathsLeadThroughTheServiceToo) {
  connect();
  wire::CmLap lap{.local_comm_id = kMapperIdA, .remote_comm_id = kMapperIdB, .remote_qpn = b_for_a};
  lap.path = {.local_lid = Lid{0x77}, .remote_lid = Lid{0x78}, .local_gid = a, .remote_gid = b};
  const auto got = seen<wire::CmLap>(from_a(cm(lap)));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->remote_qpn, kMapperQpB);
  EXPECT_EQ(got->path.local_lid, kService);
  EXPECT_EQ(got->path.remote_lid, kB);
  lap.path.remote_gid = gid(0xCCCC);
  EXPECT_FALSE(seen<wire::CmLap>(from_a(cm(lap))));
  EXPECT_EQ(count(kDropAlternatePath), 1u);
}

TEST_F(Mapping, DatagramsAreMappedBothWaysWithTheirQKeys) {
  constexpr QKey kRealKey{0x1357};
  ASSERT_TRUE(seen<wire::CmSidrReq>(from_a(cm(wire::CmSidrReq{.request_id = kMapperIdA}))));
  const auto rep = seen<wire::CmSidrRep>(
      from_b(cm(wire::CmSidrRep{.request_id = kMapperIdA, .qpn = kMapperQpB, .qkey = kRealKey})));
  ASSERT_TRUE(rep);
  EXPECT_NE(rep->qpn, kMapperQpB);
  EXPECT_NE(rep->qkey, kRealKey);
  EXPECT_EQ(rep->qkey.value() & kPrivilegedQKeyBit, 0u);

  Made there = from_a(datagram(Buffer(20), rep->qpn));
  there.deth = {.qkey = rep->qkey, .src_qp = kMapperQpA};
  Qpn a_seen{};
  for (int i = 0; i < 3; ++i) {
    const Fields at_b = Fields::parse(through(there));
    EXPECT_EQ(at_b.dest_qp, kMapperQpB);
    EXPECT_EQ(at_b.qkey, kRealKey);
    EXPECT_NE(at_b.source_qp, kMapperQpA);
    a_seen = at_b.source_qp;
  }
  // B answers with the Q_Key that both have, as it thinks.
  Made back = from_b(datagram(Buffer(20), a_seen));
  back.deth = {.qkey = kRealKey, .src_qp = kMapperQpB};
  for (int i = 0; i < 3; ++i) {
    const Fields at_a = Fields::parse(through(back));
    EXPECT_EQ(at_a.dest_qp, kMapperQpA);
    EXPECT_EQ(at_a.qkey, rep->qkey);
    EXPECT_EQ(at_a.source_qp, rep->qpn);
  }
  // The true Q_Key opens nothing from A's side.
  there.deth.qkey = kRealKey;
  EXPECT_TRUE(through(there).empty());
  EXPECT_EQ(count(kDropBadQKey), 1u);
}

TEST_F(Mapping, DatagramsThatAreNotUsedAnyMoreAreForgotten) {
  ASSERT_TRUE(seen<wire::CmSidrReq>(from_a(cm(wire::CmSidrReq{.request_id = kMapperIdA}))));
  const auto rep = seen<wire::CmSidrRep>(
      from_b(cm(wire::CmSidrRep{.request_id = kMapperIdA, .qpn = kMapperQpB, .qkey = QKey{5}})));
  Made there = from_a(datagram(Buffer(20), rep->qpn));
  there.deth = {.qkey = rep->qkey, .src_qp = kMapperQpA};
  for (int i = 0; i < 10; ++i) {
    now += QpMap::Options{}.datagram_idle * 2 / 3;
    runtime->run(now);
    EXPECT_FALSE(through(there).empty()) << i;
  }
  for (int i = 0; i < 3; ++i) {
    now += QpMap::Options{}.datagram_idle;
    runtime->run(now);
  }
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 0u);
  EXPECT_TRUE(through(there).empty());
}

TEST_F(Mapping, GroupsStayAsTheyAre) {
  const Gid group{{0xFF, 0x12, 0x40, 0x1B}};
  runtime->pin_path(group, {.dlid = Lid{0xC001}});
  Made made = from_a(datagram(Buffer(20), kMulticastQpn));
  made.gids->second = group;
  made.deth = {.qkey = QKey{0xB1B}, .src_qp = kMapperQpA};
  const Fields at_b = Fields::parse(through(made));
  EXPECT_EQ(at_b.dest_qp, kMulticastQpn);
  EXPECT_EQ(at_b.qkey, QKey{0xB1B});
  EXPECT_NE(at_b.source_qp, kMapperQpA);
  // Whoever has heard it may answer.
  EXPECT_EQ(Fields::parse(through(from_b(datagram(Buffer(8), at_b.source_qp)))).dest_qp,
            kMapperQpA);
}

TEST_F(Mapping, ServicesSeeTheNumbersThatTheEndsHave) {
  std::vector<Qpn> dest;
  std::vector<Qpn> local;
  Scripted service([&](Packet& packet) {
    dest.push_back(packet.fields().dest_qp);
    local.push_back(packet.fields().cm.local_qp);
    return Verdict::forward();
  });
  runtime->set_chain(kService, {.services = {&service}, .map_queue_pairs = true});
  connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Fields::parse(through(from_a(data(b_for_a)))).dest_qp, kMapperQpB);
    EXPECT_EQ(dest.back(), kMapperQpB);
  }
  EXPECT_EQ(local[0], kMapperQpA);
  EXPECT_EQ(local[1], kMapperQpB);
}

TEST_F(Mapping, PortThatIsGoneTakesItsNumbersWithIt) {
  connect();
  runtime->forget(b);
  runtime->run(now);
  EXPECT_TRUE(through(from_a(data(b_for_a))).empty());
}

}  // namespace
}  // namespace weft::service::test
