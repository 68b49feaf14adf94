// SPDX-License-Identifier: Apache-2.0
#include "service_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hca/pkey_table.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"

namespace weft::service::test {
namespace {

using namespace hca;

constexpr Lid kService{0xF};
constexpr PKey kLimited{0x0001};
constexpr PKey kFull{0x8001};
constexpr std::size_t kRoom = 8'192;  // of a message
constexpr std::size_t kMostMessages = 32;
constexpr std::size_t kReceives = kRoom * kMostMessages;  // where they begin
constexpr std::size_t kTarget = 2 * kReceives;            // of the peer's RDMA writes
constexpr std::size_t kFetched = 3 * kReceives;           // by our RDMA reads
constexpr std::size_t kMemory = 4 * kReceives;
constexpr PdHandle kPd = 1;
constexpr Duration kRetry = 5ms;
constexpr std::uint32_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead;

std::byte pattern(int end, std::size_t message, std::size_t at) {
  return static_cast<std::byte>(message * 131 + at * 7 + static_cast<std::size_t>(end) * 17);
}

RuntimeOptions options_of_runtime() {
  RuntimeOptions options;
  options.paths.patience = 2ms;
  options.paths.refusal_lifetime = 1ms;
  return options;
}

}  // namespace

struct ServiceWorld::End final : public CompletionSink {
  End(ServiceWorld& owner, int number)
      : world(owner),
        index(number),
        entropy(owner.random_.fork()),
        memory(kMemory),
        table(entropy) {}

  void complete(const Completion& completion) override { world.complete(*this, completion); }
  [[nodiscard]] std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
  }
  [[nodiscard]] Sge piece(std::size_t offset, std::size_t length) const {
    return {.address = address(offset),
            .length = static_cast<std::uint32_t>(length),
            .lkey = LKey{region.key}};
  }

  ServiceWorld& world;
  const int index;
  SeededEntropy entropy;
  std::vector<std::byte> memory;
  MemoryTable table;
  MemoryRegion region{};
  PKeyTable pkeys{std::span(&kLimited, 1)};
  std::unique_ptr<ConnectedQueuePair> qp;
  Lid lid{};
  Gid gid{};
  Psn psn{};
  wire::CommId id{};
  Burst burst;
  std::optional<Time> wake_at;
  // What the communication manager of this end knows.
  bool connected = false;
  Qpn peer{};
  // The plan, and how far it is.
  std::vector<std::size_t> lengths;
  std::size_t posted = 0;
  std::size_t sent = 0;
  std::size_t receives_posted = 0;
  std::size_t received = 0;
};

ServiceWorld::ServiceWorld(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      entropy_(random_.fork()),
      runtime_(options_of_runtime(), *this, *this, entropy_) {
  runtime_.set_chain(kService, {.services = options.services,
                                .map_queue_pairs = true,
                                .pkeys = {{.from = kLimited, .to = kFull}}});
  for (int i = 0; i < 2; ++i) {
    auto& end = ends_[static_cast<std::size_t>(i)];
    end = std::make_unique<End>(*this, i);
    end->lid = Lid{static_cast<std::uint16_t>(i == 0 ? 0xA : 0xB)};
    end->gid = gid(static_cast<std::uint16_t>(i == 0 ? 0xAAAA : 0xBBBB));
    end->psn = Psn{static_cast<std::uint32_t>(random_.next())};
    end->id = wire::CommId{static_cast<std::uint32_t>(random_.next())};
    end->region = *end->table.add({.base = end->memory.data(),
                                   .iova = end->address(0),
                                   .length = kMemory,
                                   .access = kAll,
                                   .pd = kPd});
    ConnectedConfig config{};
    config.qpn = Qpn{static_cast<std::uint32_t>(i == 0 ? 0xA000 : 0xB000)};
    config.pd = kPd;
    config.max_sends = 64;
    config.max_receives = 64;
    config.lossless = true;
    config.pkeys = &end->pkeys;
    end->qp = std::make_unique<ConnectedQueuePair>(config, end->table, *end, *end);
    for (std::size_t n = 0; n < options_.messages; ++n) {
      end->lengths.push_back(random_.below(options_.longest + 1));
      for (std::size_t at = 0; at < end->lengths[n]; ++at)
        end->memory[n * kRoom + at] = pattern(i, n, at);
    }
  }
}

ServiceWorld::~ServiceWorld() = default;

// --- the fabric
// ------------------------------------------------------------------------------------

Duration ServiceWorld::delay() {
  Duration delay = std::chrono::nanoseconds(random_.between(1'000, 3'000));
  if (random_.chance(options_.reorder)) {
    delay += std::chrono::nanoseconds(random_.between(1'000, 200'000));
  }
  return delay;
}

void ServiceWorld::to_service(Buffer packet) {
  if (random_.chance(options_.loss)) return;
  scheduler_.after(delay(), [this, packet = std::move(packet)]() mutable {
    Item item{.bytes = packet};
    runtime_.handle({&item, 1}, scheduler_.now());
    if (item.fate == Fate::kForward) from_service(std::move(packet));
  });
}

void ServiceWorld::from_service(Buffer packet) {
  if (random_.chance(options_.loss)) return;
  scheduler_.after(delay(), [this, packet = std::move(packet)] {
    const Lid dlid = wire::Lrh::read(packet).dlid;
    for (const auto& end : ends_) {
      if (end->lid == dlid) return arrive(*end, packet);
    }
    ++bad_;
  });
}

void ServiceWorld::send(Bytes packet, std::uint8_t, bool) {
  from_service({packet.begin(), packet.end()});
}
void ServiceWorld::mirror(Bytes, const Arrival&) {
}
void ServiceWorld::publish(std::size_t, Bytes) {
}

// The administrator knows both ends; questions and answers may be lost.
void ServiceWorld::ask(std::uint64_t number, const PathQuestion& question) {
  if (random_.chance(options_.loss * 2)) return;
  scheduler_.after(20us + delay(), [this, number, question] {
    std::optional<Path> path;
    for (const auto& end : ends_) {
      if (end->gid == question.dgid) path = Path{.dlid = end->lid, .slid = kService};
    }
    runtime_.path_answered(number, path, scheduler_.now());
  });
}

void ServiceWorld::tick() {
  runtime_.run(scheduler_.now());
  if (options_.policy_changes && random_.chance(0.1)) runtime_.paths_changed();
  if (!finished_ && random_.chance(0.3)) guess();
  if (!finished_ || runtime_.held() != 0) scheduler_.after(500us, [this] { tick(); });
}

// A stranger tries numbers of both ends, and what it may have seen of a packet's PSN.
void ServiceWorld::guess() {
  Made made;
  made.slid = Lid{0xC};
  made.dlid = kService;
  const End& to = *ends_[random_.below(2)];
  made.gids = {gid(0xCCCC), to.gid};
  made.bth.pkey = kLimited;
  const End& other = *ends_[static_cast<std::size_t>(1 - to.index)];
  made.bth.dest_qp = random_.chance(0.5) && other.connected ? other.peer : to.qp->qpn();
  made.bth.psn = to.psn;
  made.payload = Buffer(64, std::byte{0xEE});
  to_service(make(made));
}

// --- the ends
// --------------------------------------------------------------------------------------

void ServiceWorld::arrive(End& end, const Buffer& packet) {
  const Fields fields = Fields::parse(packet);
  if (!wire::check_link_crcs(packet).good() || fields.dgid != end.gid || fields.slid != kService) {
    ++bad_;
    return;
  }
  if (fields.dest_qp == kQp1) return arrive_message(end, fields, packet);
  const bool from_peer = fields.sgid == ends_[static_cast<std::size_t>(1 - end.index)]->gid;
  if (fields.dest_qp != end.qp->qpn() || fields.pkey != kFull || !from_peer) {
    ++bad_;
    return;
  }
  ++delivered_;
  if (on_received) on_received(end.index, packet);
  const std::size_t at = fields.transport_at;
  end.qp->receive({.transport = Bytes(packet).subspan(
                       at, packet.size() - at - wire::kIcrcSize - wire::kVcrcSize),
                   .source = fields.sgid,
                   .destination = fields.dgid,
                   .global = true,
                   .slid = fields.slid,
                   .dlid = fields.dlid,
                   .sl = fields.sl},
                  scheduler_.now());
  end.qp->end_run(scheduler_.now());
  pump(end);
}

template <class Message>
void ServiceWorld::say(const End& from, const Message& message) {
  const End& to = *ends_[static_cast<std::size_t>(1 - from.index)];
  Made made = cm(message);
  made.slid = from.lid;
  made.dlid = kService;
  made.gids = {from.gid, to.gid};
  made.bth.pkey = kLimited;
  to_service(make(made));
}

// Until it is answered, as the communication manager does.
void ServiceWorld::request() {
  End& end = *ends_[0];
  if (end.connected) return;
  wire::CmReq req{.local_comm_id = end.id,
                  .service_id = wire::ServiceId{7},
                  .local_qpn = end.qp->qpn(),
                  .starting_psn = end.psn,
                  .pkey = kLimited};
  req.primary = {.local_lid = end.lid,
                 .remote_lid = kService,
                 .local_gid = end.gid,
                 .remote_gid = ends_[1]->gid};
  say(end, req);
  scheduler_.after(kRetry, [this] { request(); });
}

void ServiceWorld::arrive_message(End& end, const Fields& fields, const Buffer& packet) {
  const CmFields& cm = fields.cm;
  End& other = *ends_[static_cast<std::size_t>(1 - end.index)];
  switch (cm.message) {
    case wire::CmMessage::kReq:
      if (cm.local_qp == other.qp->qpn()) complain("a REQ shows the QP number of its sender");
      if (cm.pkey != kFull) complain("a REQ names the P_Key that its sender has");
      if (cm.primary_local_lid != kService) complain("a REQ leads around the service");
      if (!end.connected) connect(end, cm.local_qp, cm.starting_psn);
      return say(end, wire::CmRep{.local_comm_id = end.id,
                                  .remote_comm_id = cm.local_comm_id,
                                  .local_qpn = end.qp->qpn(),
                                  .starting_psn = end.psn});
    case wire::CmMessage::kRep:
      if (cm.local_qp == other.qp->qpn()) complain("a REP shows the QP number of its sender");
      if (!end.connected) connect(end, cm.local_qp, cm.starting_psn);
      return say(end, wire::CmRtu{.local_comm_id = end.id, .remote_comm_id = cm.local_comm_id});
    case wire::CmMessage::kDreq:
      if (cm.remote_qp != end.qp->qpn()) complain("a DREQ names another QP than its receiver's");
      return say(end, wire::CmDrep{.local_comm_id = end.id, .remote_comm_id = cm.local_comm_id});
    case wire::CmMessage::kDrep:
      finished_ = true;
      return;
    default:
      static_cast<void>(packet);
  }
}

void ServiceWorld::connect(End& end, Qpn peer, Psn peer_psn) {
  end.connected = true;
  end.peer = peer;
  const End& other = *ends_[static_cast<std::size_t>(1 - end.index)];
  QpAttributes attributes{.state = QpState::kInit, .port = 1, .access = kAll};
  const auto move = [&](std::uint32_t mask) {
    const auto done = end.qp->modify(attributes, mask);
    if (!done) complain(done.error().message);
  };
  move(kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess);
  attributes.state = QpState::kRtr;
  attributes.rq_psn = peer_psn;
  attributes.sq_psn = end.psn;
  attributes.peer = peer;
  attributes.path = {.sgid = end.gid, .dgid = other.gid, .dlid = kService, .global = true};
  attributes.path_mtu = 1024;
  attributes.max_reads_in = 4;
  attributes.max_reads_out = 4;
  attributes.rnr_timer = 1;
  attributes.ack_timeout = 9;
  attributes.retry_count = 7;
  attributes.rnr_retry = 7;
  move(kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn | kAttrMaxReadsIn |
       kAttrRnrTimer);
  attributes.state = QpState::kRts;
  move(kAttrState | kAttrSqPsn | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut |
       kAttrAckTimeout);
  post_receives(end);
  post_more(end);
}

void ServiceWorld::post_receives(End& end) {
  for (; end.receives_posted < options_.messages; ++end.receives_posted) {
    const std::array pieces{end.piece(kReceives + end.receives_posted * kRoom, kRoom)};
    if (end.qp->post_receive({.wr_id = end.receives_posted, .pieces = pieces}) != std::errc{}) {
      complain("a receive was refused");
    }
  }
}

// Sends, RDMA writes and reads by turns.
void ServiceWorld::post_more(End& end) {
  const End& other = *ends_[static_cast<std::size_t>(1 - end.index)];
  for (int batch = 0; batch < 5 && end.posted < options_.messages; ++batch) {
    const std::size_t n = end.posted++;
    SendRequest request{};
    request.wr_id = n;
    request.signaled = true;
    request.rkey = RKey{other.region.key};
    std::array pieces{end.piece(n * kRoom, end.lengths[n])};
    if (n % 3 == 1) {
      request.opcode = SendOpcode::kRdmaWrite;
      request.remote_address = other.address(kTarget + n * kRoom);
    } else if (n % 3 == 2) {
      request.opcode = SendOpcode::kRdmaRead;
      request.remote_address = other.address(n * kRoom);
      pieces = {end.piece(kFetched + n * kRoom, other.lengths[n])};
    } else {
      request.opcode = SendOpcode::kSend;
    }
    request.pieces = pieces;
    if (end.qp->post_send(request) != std::errc{}) complain("a request was refused");
  }
  if (end.posted < options_.messages) {
    scheduler_.after(std::chrono::microseconds(random_.between(5, 500)),
                     [this, &end] { post_more(end); });
  }
  scheduler_.after(0ns, [this, &end] { pump(end); });
}

void ServiceWorld::pump(End& end) {
  const Time now = scheduler_.now();
  while (end.qp->next_burst(end.burst, now)) {
    for (const OutPacket& out : end.burst.packets()) {
      const std::size_t transport = out.length() + wire::kIcrcSize;
      Buffer packet(wire::Lrh::kSize + wire::Grh::kSize);
      wire::Lrh{.sl = end.burst.path.sl,
                .next_header = wire::Lnh::iba_global,
                .dlid = end.burst.path.dlid,
                .packet_words = static_cast<std::uint16_t>((packet.size() + transport) / 4),
                .slid = end.lid}
          .write(packet);
      wire::Grh{.payload_length = static_cast<std::uint16_t>(transport),
                .hop_limit = 1,
                .sgid = end.burst.path.sgid,
                .dgid = end.burst.path.dgid}
          .write(MutableBytes(packet).subspan(wire::Lrh::kSize));
      packet.insert(packet.end(), out.header.begin(), out.header.begin() + out.header_length);
      for (const Bytes piece : end.burst.pieces(out))
        packet.insert(packet.end(), piece.begin(), piece.end());
      packet.resize(packet.size() + out.pad + wire::kIcrcSize + wire::kVcrcSize);
      wire::seal_link_packet(packet);
      if (on_sent) on_sent(end.index, packet);
      to_service(std::move(packet));
    }
    end.qp->sent(end.burst, {}, now);
  }
  if (const auto due = end.qp->deadline()) wake(end, std::max(*due, now + 1ns));
}

void ServiceWorld::wake(End& end, Time when) {
  if (end.wake_at && *end.wake_at <= when) return;
  end.wake_at = when;
  scheduler_.at(when, [this, &end, when] {
    if (end.wake_at != when) return;
    end.wake_at.reset();
    if (!finished_) pump(end);
  });
}

void ServiceWorld::complete(End& end, const Completion& completion) {
  if (completion.status != CompletionStatus::kSuccess) {
    complain(fmt::format("end {}: work request {} failed with status {}", end.index,
                         completion.wr_id, static_cast<int>(completion.status)));
    return;
  }
  if (completion.opcode != CompletionOpcode::kReceive) {
    if (completion.wr_id != end.sent) complain("requests are completed out of order");
    ++end.sent;
  } else {
    // The nth SEND of the other end is its message 3n.
    const int from = 1 - end.index;
    const std::size_t n = 3 * end.received++;
    const End& other = *ends_[static_cast<std::size_t>(from)];
    bool right = completion.byte_length == other.lengths[n];
    const std::size_t base = kReceives + completion.wr_id * kRoom;
    for (std::size_t at = 0; right && at < completion.byte_length; ++at)
      right = end.memory[base + at] == pattern(from, n, at);
    if (!right) complain(fmt::format("message {} of end {} came otherwise than sent", n, from));
  }
  if (all_done() && !std::exchange(disconnecting_, true)) disconnect();
}

bool ServiceWorld::all_done() const {
  return std::ranges::all_of(ends_, [this](const auto& end) {
    return end->sent == options_.messages && end->received == (options_.messages + 2) / 3;
  });
}

void ServiceWorld::disconnect() {
  if (finished_) return;
  const End& end = *ends_[0];
  say(end, wire::CmDreq{
               .local_comm_id = end.id, .remote_comm_id = ends_[1]->id, .remote_qpn = end.peer});
  scheduler_.after(kRetry, [this] { disconnect(); });
}

std::vector<std::string> ServiceWorld::run() {
  request();
  tick();
  scheduler_.run_until(Time{60s});
  for (int i = 0; i < 2; ++i) {
    const End& end = *ends_[static_cast<std::size_t>(i)];
    const int from = 1 - i;
    const End& other = *ends_[static_cast<std::size_t>(from)];
    for (std::size_t n = 1; n < options_.messages; ++n) {
      if (n % 3 == 0) continue;
      const std::size_t base = (n % 3 == 1 ? kTarget : kFetched) + n * kRoom;
      for (std::size_t at = 0; at < other.lengths[n]; ++at) {
        if (end.memory[base + at] == pattern(from, n, at)) continue;
        complain(fmt::format("RDMA {} of end {} is wrong at {}", n, from, at));
        break;
      }
    }
    if (end.sent != options_.messages) {
      complain(fmt::format("end {} has completed {} requests", i, end.sent));
    }
  }
  if (!finished_) complain("the connection was not ended");
  return wrong_;
}

}  // namespace weft::service::test
