// SPDX-License-Identifier: Apache-2.0
// A reliable connection through a pair of firewalls, in virtual time, when the active one goes: the
// lab's subnet manager leads its LID to the other one, which was told of the connection, and the
// ends send again what was lost.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../fabric/running_lab.h"
#include "../fabric/test_program.h"
#include "../service/packets.h"
#include "base/random.h"
#include "daemon/lab/steering_options.h"
#include "daemon/service/lab_services.h"
#include "hca/connected_queue_pair.h"
#include "service/fields.h"
#include "sm/subnet_management.h"
#include "wire/cm_connect.h"

namespace weft::daemon {
namespace {

using service::test::Buffer;

constexpr const char* kFailOverLab = R"(
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
[node]
m = {}
app = {}
db = {}
fw1 = {}
fw2 = {}
[service.firewall]
at = [["fw1", "fw2"]]
[[link]]
ends = ["m", "s1"]
[[link]]
ends = ["app", "s1"]
[[link]]
ends = ["db", "s2"]
[[link]]
ends = ["fw1", "s1"]
[[link]]
ends = ["fw2", "s2"]
[[link]]
ends = ["s1", "s2"]
)";
constexpr std::size_t kFailOverSlots = 64;
constexpr std::size_t kFailOverMessage =
    1024;                                  // bytes of a message, whose first ones are its number
constexpr Duration kFailOverPace = 100us;  // of messages
// What rdma_cm makes of the path's PacketLifeTime: 4.3 s, so that nothing is found by it in time.
// It is what comes behind a packet that was lost that tells.
constexpr std::uint8_t kFailOverAckTimeout = 20;

// A program with one RC queue pair.
class FailOverEnd final : public fabric::Program, public hca::CompletionSink {
 public:
  FailOverEnd(fabric::Fabric& fabric, const std::string& node, std::uint64_t seed)
      : fabric_(fabric),
        adapter_(*fabric.find_adapter(node)),
        entropy_(Random(seed)),
        table_(entropy_),
        memory_(kFailOverSlots * kFailOverMessage) {
    attachment_ = adapter_.attach(1, *this).value();
    region_ = table_
                  .add({.base = memory_.data(),
                        .iova = 0,
                        .length = memory_.size(),
                        .access = hca::kLocalWrite,
                        .pd = 1})
                  .value();
    hca::ConnectedConfig config{};
    config.qpn = attachment_->allocate().value();
    config.pd = 1;
    config.max_sends = config.max_receives = kFailOverSlots;
    config.lossless = true;
    qp_ = std::make_unique<hca::ConnectedQueuePair>(config, table_, *this, *this);
  }

  [[nodiscard]] Lid lid() const { return adapter_.port(1).lid(); }
  [[nodiscard]] Gid gid() const { return fabric::gid_of(adapter_.port(1)); }
  [[nodiscard]] Qpn qpn() const { return qp_->qpn(); }

  void connect(const FailOverEnd& peer, Lid by) {
    using namespace hca;
    QpAttributes attributes{.state = QpState::kInit, .port = 1};
    const auto move = [&](std::uint32_t mask) {
      const auto done = qp_->modify(attributes, mask | kAttrState);
      ASSERT_TRUE(done) << done.error().message;
    };
    move(kAttrPKeyIndex | kAttrPort | kAttrAccess);
    for (std::uint64_t slot = 0; slot < kFailOverSlots; ++slot)
      receive_at(slot);
    attributes.state = QpState::kRtr;
    attributes.peer = peer.qpn();
    attributes.path = {
        .sgid = gid(), .dgid = peer.gid(), .hop_limit = 255, .dlid = by, .global = true};
    attributes.path_mtu = 2048;
    attributes.rnr_timer = 1;
    attributes.ack_timeout = kFailOverAckTimeout;
    attributes.retry_count = attributes.rnr_retry = 7;
    move(kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn | kAttrMaxReadsIn | kAttrRnrTimer);
    attributes.state = QpState::kRts;
    move(kAttrSqPsn | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut | kAttrAckTimeout);
  }

  // The next message, while a program with as many slots would send one.
  void send_next() {
    if (posted - completed == kFailOverSlots / 2) return;
    const std::size_t slot = posted % kFailOverSlots;
    std::memcpy(memory_.data() + slot * kFailOverMessage, &posted, sizeof posted);
    const std::array pieces{piece(slot)};
    ASSERT_EQ(qp_->post_send({.wr_id = slot, .signaled = true, .pieces = pieces}), std::errc{});
    ++posted;
  }

  // True: there was something to do.
  bool run(Time now) {
    const bool came = !inbox_.empty();
    for (const Buffer& packet : std::exchange(inbox_, {}))
      take(packet, now);
    if (came) qp_->end_run(now);
    for (const hca::Completion& completion : std::exchange(completions_, {}))
      look_at(completion, now);
    bool sent = false;
    while (qp_->next_burst(burst_, now)) {
      send_burst(now);
      qp_->sent(burst_, {}, now);
      sent = true;
    }
    return came || sent;
  }
  [[nodiscard]] std::optional<Time> deadline() const { return qp_->deadline(); }

  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::vector<Time> arrivals;  // of messages, each once and in order

 private:
  [[nodiscard]] hca::Sge piece(std::size_t slot) const {
    return {.address = slot * kFailOverMessage,
            .length = static_cast<std::uint32_t>(kFailOverMessage),
            .lkey = LKey{region_.key}};
  }
  void receive_at(std::uint64_t slot) {
    const std::array pieces{piece(slot)};
    ASSERT_EQ(qp_->post_receive({.wr_id = slot, .pieces = pieces}), std::errc{});
  }
  void take(const Buffer& packet, Time now) {
    const auto fields = service::Fields::parse(packet);
    const std::size_t end = packet.size() - wire::kIcrcSize - wire::kVcrcSize;
    qp_->receive({.transport = Bytes(packet).first(end).subspan(fields.transport_at),
                  .source = fields.sgid,
                  .destination = fields.dgid,
                  .global = true,
                  .slid = fields.slid,
                  .dlid = fields.dlid},
                 now);
  }
  void look_at(const hca::Completion& completion, Time now) {
    if (completion.status != hca::CompletionStatus::kSuccess) {
      ++failed;
    } else if (completion.opcode != hca::CompletionOpcode::kReceive) {
      ++completed;
    } else {
      std::uint64_t number = 0;
      std::memcpy(&number, memory_.data() + completion.wr_id * kFailOverMessage, sizeof number);
      EXPECT_EQ(number, arrivals.size());
      arrivals.push_back(now);
      receive_at(completion.wr_id);
    }
  }
  void send_burst(Time now) {
    for (const hca::OutPacket& out : burst_.packets()) {
      const std::size_t transport = out.length() + wire::kIcrcSize;
      Buffer bytes(wire::Lrh::kSize + wire::Grh::kSize);
      wire::Lrh{.next_header = wire::Lnh::iba_global,
                .dlid = burst_.path.dlid,
                .packet_words = static_cast<std::uint16_t>((bytes.size() + transport) / 4),
                .slid = lid()}
          .write(bytes);
      wire::Grh{.payload_length = static_cast<std::uint16_t>(transport),
                .hop_limit = burst_.path.hop_limit,
                .sgid = burst_.path.sgid,
                .dgid = burst_.path.dgid}
          .write(MutableBytes(bytes).subspan(wire::Lrh::kSize));
      bytes.insert(bytes.end(), out.header.begin(), out.header.begin() + out.header_length);
      for (const Bytes part : burst_.pieces(out))
        bytes.insert(bytes.end(), part.begin(), part.end());
      bytes.resize(bytes.size() + out.pad + wire::kIcrcSize + wire::kVcrcSize);
      wire::seal_link_packet(bytes);
      link::PacketPtr packet = fabric_.pool().copy(bytes);
      ASSERT_EQ(attachment_->send(packet, qpn(), attachment_->epoch(), now), fabric::Sent::kTaken);
    }
  }

  // fabric::Program, hca::CompletionSink
  void deliver(link::PacketPtr& packet, Time) override {
    inbox_.emplace_back(packet->size());
    packet->copy_to(inbox_.back());
    packet.reset();
  }
  void may_send(Time) override {}
  void port_changed(bool, Time) override {}
  void complete(const hca::Completion& completion) override { completions_.push_back(completion); }

  fabric::Fabric& fabric_;
  fabric::ChannelAdapter& adapter_;
  SeededEntropy entropy_;
  hca::MemoryTable table_;
  std::vector<std::byte> memory_;
  hca::MemoryRegion region_{};
  std::unique_ptr<hca::ConnectedQueuePair> qp_;
  std::unique_ptr<fabric::Attachment> attachment_;
  hca::Burst burst_;
  std::vector<Buffer> inbox_;
  std::vector<hca::Completion> completions_;
};

class FirewallsFailOver : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < lab.fabric.link_count(); ++i)
      lab.fabric.link(i).set_emulation({.delay = 1us}, lab.now);
    management = std::make_unique<sm::SubnetManagement>(
        lab.fabric.find_node("m")->management().mad_port(1),
        sm::ManagerOptions{.steering = steering_options(lab.fabric.lab())});
    ASSERT_TRUE(management->start());
    services.steer_by({&management->steering()});
    ASSERT_TRUE(services.open());
    management->sweep();
    run_for(1s);
    ASSERT_FALSE(management->steering().services().lids().empty());
    service = management->steering().services().lids().front().lid;
    app = std::make_unique<FailOverEnd>(lab.fabric, "app", 1);
    db = std::make_unique<FailOverEnd>(lab.fabric, "db", 2);
  }

  // A message of the communication manager, by way of the firewall.
  template <class Message>
  void say(const std::string& node, const FailOverEnd& from, const FailOverEnd& to,
           const Message& message) {
    service::test::Made made = service::test::cm(message);
    made.slid = from.lid();
    made.dlid = service;
    made.gids = {from.gid(), to.gid()};
    made.hops = 255;
    lab.fabric.find_node(node)->port(1).link().transmit(
        lab.fabric.pool().copy(service::test::make(made)), Vl{0}, lab.now);
    run_for(1ms);
  }
  void connect() {
    wire::CmReq req{.local_comm_id = wire::CommId{1}, .service_id = wire::ServiceId{7}};
    req.local_qpn = app->qpn();
    req.primary = {.local_lid = app->lid(),
                   .remote_lid = service,
                   .local_gid = app->gid(),
                   .remote_gid = db->gid()};
    say("app", *app, *db, req);
    wire::CmRep rep{.local_comm_id = wire::CommId{2}, .remote_comm_id = wire::CommId{1}};
    rep.local_qpn = db->qpn();
    say("db", *db, *app, rep);
    say("app", *app, *db,
        wire::CmRtu{.local_comm_id = wire::CommId{1}, .remote_comm_id = wire::CommId{2}});
    app->connect(*db, service);
    db->connect(*app, service);
  }

  void stream_for(Duration time) {
    for (const Time end = lab.now + time; lab.now < end;) {
      app->send_next();
      run_for(kFailOverPace);
    }
  }
  void run_for(Duration time) {
    const Time end = lab.now + time;
    for (;;) {
      settle();
      Time next = Time::max();
      for (const auto& due :
           {lab.fabric.deadline(), management->deadline(), services.deadline(),
            app ? app->deadline() : std::nullopt, db ? db->deadline() : std::nullopt})
        next = std::min(next, due.value_or(Time::max()));
      if (next > end) break;
      lab.now = std::max(lab.now + 1us, next);
    }
    lab.now = std::max(lab.now, end);
  }
  void settle() {
    for (bool again = true; again;) {
      lab.settle();
      again = management->run(lab.now);
      if (again) lab.fabric.find_node("m")->management_used();
      again = services.run(lab.now) || again;
      if (app) again = app->run(lab.now) || again;
      if (db) again = db->run(lab.now) || again;
    }
  }

  [[nodiscard]] std::uint64_t count(const std::string& node, service::RuntimeCounter which) const {
    const auto rows = services.report("firewall", false);
    for (const auto& row : rows) {
      if (row["node"] != node) continue;
      const auto& name = service::kRuntimeCounters[static_cast<std::size_t>(which)].name;
      return row["counters"].value(std::string(name), std::uint64_t{0});
    }
    ADD_FAILURE() << node;
    return 0;
  }
  // The longest time without a message from the nth one on.
  [[nodiscard]] Duration pause_from(std::size_t n) const {
    Duration longest{};
    for (std::size_t i = n; i < db->arrivals.size(); ++i)
      longest = std::max(longest, db->arrivals[i] - db->arrivals[i - 1]);
    return std::max(longest, lab.now - db->arrivals.back());
  }

  fabric::RunningLab lab{fabric::lab_of(kFailOverLab)};
  BufferPool blocks{ServicePlace::kBlock, 1024};
  SeededEntropy entropy{Random(3)};
  std::unique_ptr<sm::SubnetManagement> management;
  LabServices services{lab.fabric, blocks, entropy, [this] { return lab.now; }};
  Lid service{};
  std::unique_ptr<FailOverEnd> app;
  std::unique_ptr<FailOverEnd> db;
};

TEST_F(FirewallsFailOver, KeepsConnectionsAndTakesLessThanATenthOfASecond) {
  using enum service::RuntimeCounter;
  ASSERT_NO_FATAL_FAILURE(connect());
  stream_for(50ms);
  const std::size_t before = db->arrivals.size();
  ASSERT_GT(before, 400u);
  EXPECT_GT(count("fw1", kForwarded), before);
  EXPECT_EQ(count("fw2", kForwarded), 0u);

  lab.fabric.link(*lab.fabric.find_link("fw1:1")).set_plugged(false, lab.now);
  stream_for(1s);
  const Duration pause = pause_from(before);
  RecordProperty("pause_us", static_cast<int>(pause / 1us));
  EXPECT_LT(pause, 100ms);
  EXPECT_GE(pause, 2 * kFailOverPace) << "nothing was lost, so nothing was tried";
  EXPECT_EQ(app->failed + db->failed, 0u);
  EXPECT_GT(db->arrivals.size(), before + 5000);
  EXPECT_GT(count("fw2", kForwarded), db->arrivals.size() - before);
  EXPECT_EQ(count("fw2", kDropByService), 0u);
}

}  // namespace
}  // namespace weft::daemon
