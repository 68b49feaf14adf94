// SPDX-License-Identifier: Apache-2.0
// An instance of a service that goes on for another: it knows what that has told it.
#include "runtime_fixture.h"
#include "service/map_record.h"
#include "wire/cm_refuse.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;
using wire::CommId;

constexpr CommId kReplicationIdA{0xA1};
constexpr CommId kReplicationIdB{0xB1};
constexpr Qpn kReplicationQpA{0xAAA};
constexpr Qpn kReplicationQpB{0xBBB};

class Pair : public RuntimeTest {
 protected:
  Pair() {
    begin();
    connect(kReplicationIdA, kReplicationIdB);
  }
  // An instance that knows nothing.
  void begin() {
    restart({});
    runtime->set_chain(kService, {.map_queue_pairs = true});
    runtime->pin_path(a, {.dlid = kA, .slid = kService});
    runtime->pin_path(b, {.dlid = kB, .slid = kService});
  }
  // Another one has the first's place; `lost` of the newest records have not come.
  void fail_over(std::size_t lost = 0) {
    begin();
    const std::vector<Buffer> said = std::exchange(records, {});
    for (std::size_t i = 0; i + lost < said.size(); ++i)
      runtime->apply(Runtime::kMapping, said[i], now);
  }
  // Another one that comes later is told all at once.
  void begin_with_snapshot() {
    class Sink final : public Service::RecordSink {
     public:
      void take(Bytes record) override { all.emplace_back(record.begin(), record.end()); }
      std::vector<Buffer> all;
    } sink;
    runtime->snapshot(sink);
    records.clear();
    begin();
    for (const Buffer& record : sink.all)
      runtime->apply(Runtime::kMapping, record, now);
  }
  std::optional<wire::CmReq> request(CommId id) {
    return seen<wire::CmReq>(
        from_a(cm(wire::CmReq{.local_comm_id = id, .local_qpn = kReplicationQpA})));
  }
  std::optional<wire::CmRep> reply(CommId id, CommId to) {
    return seen<wire::CmRep>(from_b(
        cm(wire::CmRep{.local_comm_id = id, .remote_comm_id = to, .local_qpn = kReplicationQpB})));
  }
  void connect(CommId from, CommId to) {
    a_for_b = request(from)->local_qpn;
    b_for_a = reply(to, from)->local_qpn;
  }
  template <class Message>
  std::optional<Message> seen(const Made& made) {
    const Buffer packet = through(made);
    if (packet.empty()) return std::nullopt;
    const Fields fields = Fields::parse(packet);
    return Message::parse(
        Bytes(packet).subspan(fields.payload_at + wire::MadHeader::kSize, wire::kCmBodySize));
  }
  Made data(Qpn to) {
    Made made;
    made.bth.dest_qp = to;
    return made;
  }
  void expect_connected() {
    EXPECT_EQ(Fields::parse(through(from_a(data(b_for_a)))).dest_qp, kReplicationQpB);
    EXPECT_EQ(Fields::parse(through(from_b(data(a_for_b)))).dest_qp, kReplicationQpA);
  }

  Qpn a_for_b{};
  Qpn b_for_a{};
};

TEST_F(Pair, ConnectionSurvivesAndIsEndedAtTheOtherInstance) {
  fail_over();
  expect_connected();
  const auto dreq = seen<wire::CmDreq>(from_a(cm(wire::CmDreq{.local_comm_id = kReplicationIdA,
                                                              .remote_comm_id = kReplicationIdB,
                                                              .remote_qpn = b_for_a})));
  ASSERT_TRUE(dreq);
  EXPECT_EQ(dreq->remote_qpn, kReplicationQpB);
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(
      cm(wire::CmDrep{.local_comm_id = kReplicationIdB, .remote_comm_id = kReplicationIdA}))));
  // And so says the first one again.
  fail_over();
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  EXPECT_TRUE(through(from_a(data(b_for_a))).empty());
}

// Their queue pairs have other numbers then, and what ends takes none of them along.
TEST_F(Pair, ConnectionThatIsMadeAnewAtOnceSurvives) {
  const Qpn before = a_for_b;
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(
      cm(wire::CmDrep{.local_comm_id = kReplicationIdB, .remote_comm_id = kReplicationIdA}))));
  connect(CommId{0xA2}, CommId{0xB2});
  EXPECT_NE(a_for_b, before);
  fail_over();
  expect_connected();
  now += QpMap::Options{}.time_wait;
  runtime->run(now);
  expect_connected();
  EXPECT_TRUE(through(from_b(data(before))).empty());
  EXPECT_EQ(runtime->mapper().queue_pairs().size(), 2u);
}

// Whatever is known of the one before.
TEST_F(Pair, SnapshotHasConnectionsThatAreMadeAnew) {
  ASSERT_TRUE(seen<wire::CmDrep>(from_b(
      cm(wire::CmDrep{.local_comm_id = kReplicationIdB, .remote_comm_id = kReplicationIdA}))));
  connect(CommId{0xA2}, CommId{0xB2});
  begin_with_snapshot();
  expect_connected();
}

TEST_F(Pair, ConnectionYoungerThanTheLastRecordIsRefusedAndCounted) {
  fail_over(3);  // what its REP has made known
  EXPECT_TRUE(through(from_a(data(b_for_a))).empty());
  EXPECT_EQ(count(kDropNoMapping), 1u);
  // It is made anew.
  ASSERT_TRUE(request(CommId{0xA2}));
  ASSERT_TRUE(reply(CommId{0xB2}, CommId{0xA2}));
}

TEST_F(Pair, RequestThatIsSentAgainToTheOtherInstanceHasTheSameNumber) {
  const auto first = request(CommId{0xA2});
  ASSERT_TRUE(first);
  fail_over();
  EXPECT_EQ(request(CommId{0xA2})->local_qpn, first->local_qpn);
}

TEST_F(Pair, InstanceThatComesLaterLearnsAllByASnapshot) {
  begin_with_snapshot();
  expect_connected();
}

// However often it is told of its end.
TEST_F(Pair, ConnectionThatEndsWaitsForOneTime) {
  CmTable table({});
  CmConnection connection{.requester = a,
                          .responder = b,
                          .requester_id = kReplicationIdA,
                          .responder_id = kReplicationIdB,
                          .state = CmConnection::State::kClosing};
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(table.restore(connection, now + 5s + i * 1ms));
  EXPECT_EQ(table.waiting(), 1u);
  // Another one of the same ID stays when that one's time has come.
  connection.state = CmConnection::State::kEstablished;
  ASSERT_TRUE(table.restore(connection, now + 5s));
  table.run(now + 10s, [](const CmConnection&) { ADD_FAILURE() << "it goes on"; });
  EXPECT_EQ(table.size(), 1u);
  connection.state = CmConnection::State::kClosing;
  ASSERT_TRUE(table.restore(connection, now + 20s));
  int gone = 0;
  table.run(now + 20s, [&gone](const CmConnection&) { ++gone; });
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(Pair, WhatIsLearntIsNotSaidAgain) {
  fail_over();
  runtime->run(now);
  EXPECT_TRUE(records.empty());
}

TEST_F(Pair, RecordsThatCannotBeAreCounted) {
  const auto bad = [this](Buffer record) { runtime->apply(Runtime::kMapping, record, now); };
  bad({});
  bad(Buffer(63));
  bad(Buffer(64));
  Buffer record(64, std::byte{3});
  record[1] = std::byte{9};  // of a state that there is not
  bad(record);
  Buffer gone(64, std::byte{0});
  gone[0] = std::byte{4};  // of a connection its state says that it has ended
  gone[1] = std::byte{2};
  bad(gone);
  EXPECT_EQ(count(kBadRecords), 5u);
  // A number that is another's already.
  const MappedQp* const known = const_cast<Mapper&>(runtime->mapper()).queue_pairs().find(a_for_b);
  ASSERT_NE(known, nullptr);
  MappedQp stolen = *known;
  stolen.owner = gid(0xCCCC);
  const auto bytes = MapRecord{.of = stolen}.bytes();
  bad({bytes.begin(), bytes.end()});
  EXPECT_EQ(count(kBadRecords), 6u);
  expect_connected();
}

TEST_F(Pair, RecordsAreReadAsTheyWereWritten) {
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    MappedQp entry{.number = Qpn{static_cast<std::uint32_t>(random.between(2, 0xFFFFFE))},
                   .owner = gid(static_cast<std::uint16_t>(random.next())),
                   .real = Qpn{static_cast<std::uint32_t>(random.between(2, 0xFFFFFE))},
                   .peer = gid(static_cast<std::uint16_t>(random.next())),
                   .has_qkey = random.chance(0.5),
                   .real_qkey = QKey{static_cast<std::uint32_t>(random.next())},
                   .shown_qkey = QKey{static_cast<std::uint32_t>(random.next())},
                   .established = random.chance(0.5),
                   .datagram = random.chance(0.5)};
    const MapRecord record{.gone = random.chance(0.5), .of = entry};
    const auto read = MapRecord::parse(record.bytes());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->gone, record.gone);
    EXPECT_EQ(read->bytes(), record.bytes());
  }
}

}  // namespace
}  // namespace weft::service::test
