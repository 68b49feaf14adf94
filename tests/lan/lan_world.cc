// SPDX-License-Identifier: Apache-2.0
#include "lan_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "datagram_of.h"
#include "group_frames.h"
#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::lan::test {
namespace {

constexpr std::uint16_t kTestType = 0x88B5;  // IEEE 802's first for local experiments
constexpr std::size_t kShortest = kEthernetHeader + 8;

void write_macs(std::byte* at, const MacAddress& to, const MacAddress& from) {
  std::memcpy(at, to.data(), to.size());
  std::memcpy(at + 6, from.data(), from.size());
}

}  // namespace

World::World(std::uint64_t seed, std::size_t count, const Faults& with, std::size_t bridges)
    : random(seed), faults(with) {
  constexpr std::uint16_t kMtus[] = {256, 512, 1024, 2048, 4096};
  for (std::size_t i = 0; i < count; ++i) {
    // Each with two LIDs, so that there are two ways to it.
    const PortLids lids{.base = Lid{static_cast<std::uint16_t>(2 * i + 4)}, .lmc = 1};
    nodes.push_back(std::make_unique<Node>(*this, i, lids, kMtus[random.below(5)], i < bridges));
  }
  for (const auto& node : nodes)
    node->start();
}

std::vector<std::byte> World::make_frame(const MacAddress& to, const MacAddress& from,
                                         std::size_t size) {
  std::vector<std::byte> frame(std::max(size, kShortest));
  write_macs(frame.data(), to, from);
  wire::store_be16(frame.data() + 12, kTestType);
  wire::store_be64(frame.data() + kEthernetHeader, ++last_frame);
  Random content(last_frame);
  for (std::size_t at = kShortest; at < frame.size(); ++at)
    frame[at] = static_cast<std::byte>(content.next());
  return frame;
}

std::optional<std::uint64_t> World::number_of(Bytes frame) {
  if (frame.size() < kShortest || wire::load_be16(frame.data() + 12) != kTestType) return {};
  return wire::load_be64(frame.data() + kEthernetHeader);
}

void World::sent(Bytes frame, std::size_t to, bool by_group) {
  const auto number = number_of(frame);
  if (!number) return;
  Copy& copy = copies_[{*number, to}];
  copy.by_group = copy.by_group || by_group;
  if (!by_group) ++copy.sent;
  Sent& record = frames_[*number];
  if (record.bytes.empty()) record.bytes.assign(frame.begin(), frame.end());
}

void World::lost(Bytes frame, std::size_t to) {
  if (const auto number = number_of(frame)) copies_[{*number, to}].lost = true;
}

void World::arrived(Node& node, Bytes frame) {
  const auto number = number_of(frame);
  if (!number) return;
  const auto record = frames_.find(*number);
  ASSERT_NE(record, frames_.end()) << "a frame that nobody has sent";
  EXPECT_TRUE(std::ranges::equal(frame, record->second.bytes)) << "frame " << *number;
  Copy& copy = copies_[{*number, node.index}];
  ++copy.arrived;
  EXPECT_EQ(copy.sent, copy.by_group ? std::min(copy.sent, 1u) : 1u)
      << "frame " << *number << " was not for node " << node.index;
  EXPECT_EQ(copy.arrived, 1u) << "frame " << *number << " came twice";
  const MacAddress to = EthernetFrame::read(frame)->destination;
  EXPECT_TRUE(kind_of(to) != MacKind::kPort || to == node.port->mac());
  EXPECT_TRUE(kind_of(to) != MacKind::kForeign || node.bridge);
  if (kind_of(to) == MacKind::kGroup && groups_settled) {
    EXPECT_TRUE(node.joined.contains(to[5])) << "node " << node.index << " does not want it";
  }
}

std::size_t World::delivered(std::uint64_t frame) const {
  std::size_t count = 0;
  for (const auto& node : nodes) {
    const auto copy = copies_.find({frame, node->index});
    if (copy != copies_.end()) count += copy->second.arrived;
  }
  return count;
}

bool World::delivered(std::uint64_t frame, const Node& to) const {
  const auto copy = copies_.find({frame, to.index});
  return copy != copies_.end() && copy->second.arrived != 0;
}

void World::account() const {
  using C = LanCounter;
  for (const auto& node : nodes) {
    std::uint64_t missing = 0;
    for (const auto& [key, copy] : copies_)
      if (key.second == node->index && copy.arrived == 0 && !copy.lost) ++missing;
    std::uint64_t counted = 0;
    for (const C reason : {C::kRxLate, C::kRxIncomplete, C::kRxCrowded, C::kRxSenderGone,
                           C::kRxStranger, C::kRxForgedQueuePair, C::kRxForgedSource,
                           C::kRxForeignSource, C::kRxNotOurs, C::kRxStorm}) {
      counted += node->port->counters().get(reason);
    }
    EXPECT_LE(missing, counted) << "node " << node->index;
    for (const C never : {C::kRxMalformed, C::kRxConflict, C::kRxNotLan, C::kRxVersion,
                          C::kRxTooLong, C::kRxTooShort, C::kRxNotWhole, C::kTxMalformed}) {
      EXPECT_EQ(node->port->counters().get(never), 0u)
          << kLanCounters[static_cast<std::size_t>(never)].name;
    }
  }
}

Node* World::node_at(Lid lid) {
  for (const auto& node : nodes)
    if (node->alive && node->lids.contains(lid)) return node.get();
  return nullptr;
}

Node* World::node_with(Guid guid) {
  for (const auto& node : nodes)
    if (node->alive && node->guid == guid) return node.get();
  return nullptr;
}

void World::set_alive(Node& node, bool alive) {
  node.alive = alive;
  scheduler.after(1ms, [this, &node, alive] {
    for (const auto& other : nodes) {
      if (other.get() == &node) continue;
      if (alive) {
        other->port->directory().in_service(node.guid, scheduler.now());
      } else {
        other->port->directory().out_of_service(node.guid, scheduler.now());
      }
      other->wake();
    }
  });
}

void World::traffic(std::size_t frames) {
  for (std::size_t i = 0; i < frames; ++i) {
    run_for(Duration(random.below(40'000)));
    Node& from = *nodes[random.below(nodes.size())];
    Node& to = *nodes[random.below(nodes.size())];
    const std::size_t size = random.chance(0.05)  ? random.between(1515, 65'549)
                             : random.chance(0.5) ? random.between(60, 200)
                                                  : random.between(60, 1514);
    if (random.chance(0.02)) {
      const auto group = static_cast<std::uint8_t>(random.below(3));
      from.joined.contains(group) ? from.leave(group) : from.join(group);
    }
    if (random.chance(0.01)) {
      from.in_fabric_group ? from.leave_fabric_group() : from.join_fabric_group();
    }
    const double kind = static_cast<double>(random.below(100)) / 100;
    if (kind < 0.6 && &from != &to) from.send(to.port->mac(), size);
    if (kind >= 0.6 && kind < 0.75) from.send(kBroadcast, size);
    if (kind >= 0.75) from.send(group(static_cast<std::uint8_t>(random.below(3))), size);
  }
}

Node::Node(World& its_world, std::size_t number, const PortLids& its_lids, std::uint16_t its_mtu,
           bool is_bridge)
    : world(its_world),
      index(number),
      guid(0x100 + number),
      lids(its_lids),
      mtu(its_mtu),
      bridge(is_bridge) {
}

void Node::start() {
  const Time now = world.scheduler.now();
  qpn = Qpn{static_cast<std::uint32_t>(2 + world.random.below(1000))};
  LanOptions options{.lids = lids,
                     .bridge = bridge,
                     .first_number = static_cast<std::uint32_t>(world.random.next())};
  options.directory.own = guid;
  options.channels.most = world.nodes.size() / 2;
  port = std::make_unique<LanPort>(options, *this, now);
  wake();
}

void Node::wake() {
  const Time due = std::max(port->deadline(), world.scheduler.now());
  if (alarm_ && *alarm_ <= due) return;
  alarm_ = due;
  world.scheduler.at(due, [this, due] {
    if (alarm_ != due) return;
    alarm_.reset();
    if (port->deadline() <= due) port->run(due);
    wake();
  });
}

std::optional<PeerId> Node::peer_of(const Node& other) const {
  for (const PeerId peer : port->peers().all())
    if (port->peers().get(peer).port == other.guid) return peer;
  return std::nullopt;
}

void Node::send_from(const MacAddress& station, const MacAddress& to, std::size_t size) {
  if (!alive) return;
  const std::vector<std::byte> frame = world.make_frame(to, station, size);
  Offload offload;
  if (frame.size() > 1514) {
    offload = {.gso = Offload::Gso::kTcpv4, .needs_checksum = true, .gso_size = 1448};
  }
  port->from_host(offload, frame, world.scheduler.now());
  wake();
}

void Node::join(std::uint8_t group) {
  joined.insert(group);
  report(group, false);
}

void Node::leave(std::uint8_t group) {
  joined.erase(group);
  report(group, true);
}

// As Linux does of IGMP's version 2, to which it is told twice.
void Node::report(std::uint8_t group, bool leaves) {
  std::vector<std::byte> frame = bytes_of(leaves ? kIgmp2Leave : kIgmp2Join);
  if (!leaves) write_macs(frame.data(), World::group(group), port->mac());
  write_macs(frame.data(), EthernetFrame::read(frame)->destination, port->mac());
  wire::store_be16(frame.data() + 44, static_cast<std::uint16_t>(0x0700 | group));
  wire::store_be16(frame.data() + 40, 0);
  wire::store_be16(frame.data() + 40, wire::internet_checksum(Bytes(frame).subspan(38, 8)));
  port->from_host({}, frame, world.scheduler.now());
  wake();
}

void Node::to_host(const Offload&, Bytes frame) {
  world.arrived(*this, frame);
  const auto read = EthernetFrame::read(frame);
  const bool query = read->destination == MacAddress{0x01, 0x00, 0x5E, 0, 0, 1};
  if (!query) return;
  world.scheduler.after(Duration(world.random.below(1'000'000'000)), [this] {
    for (const std::uint8_t group : joined)
      report(group, false);
  });
}

std::size_t Node::send_datagrams(std::span<const PeerId> peers, const LanHeader& header,
                                 Bytes frame) {
  for (const PeerId id : peers) {
    const Peer& peer = port->peers().get(id);
    Node* const to = world.node_with(peer.port);
    if (to == nullptr) continue;
    world.sent(frame, to->index);
    const PeerPath path = peer.path();
    const Qpn to_qpn = peer.end.qpn;
    for (Segments segments(header, frame, path.mtu); !segments.done(); segments.next())
      send_part(frame, segments, *to, path, to_qpn);
  }
  return 0;
}

// One datagram, with whatever the fabric does to it.
void Node::send_part(Bytes frame, const Segments& segments, Node& to, const PeerPath& path,
                     Qpn to_qpn) {
  const Faults& faults = world.faults;
  const std::size_t target = to.index;
  if (world.broken.contains(path.dlid) || world.random.chance(faults.loss)) {
    return world.lost(frame, target);
  }
  const int times = world.random.chance(faults.duplicate) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    Duration delay = faults.delay;
    if (world.random.chance(faults.reorder)) {
      delay += Duration(world.random.below(10 * static_cast<std::uint64_t>(delay.count())));
    }
    world.scheduler.after(
        delay,
        [this, path, to_qpn, from_qpn = qpn, target,
         bytes = datagram_of(segments.head(), segments.part()),
         whole = std::vector<std::byte>(
             frame.begin(), frame.begin() + std::min<std::ptrdiff_t>(std::ssize(frame), 22))] {
          Node* const at = world.node_at(path.dlid);
          if (at == nullptr || at->qpn != to_qpn || at->index != target) {
            return world.lost(whole, target);
          }
          at->port->from_datagram({.lid = path.slid}, from_qpn, bytes, world.scheduler.now());
          at->wake();
        });
  }
}

bool Node::send_to_group(const LanHeader& header, Bytes frame) {
  EXPECT_TRUE(in_fabric_group);
  constexpr std::uint16_t kGroupMtu = 256;  // what every node has
  for (const auto& to : world.nodes) {
    if (!to->in_fabric_group || !to->alive) continue;
    const PeerPath path{.slid = lids.base, .dlid = to->lids.base, .mtu = kGroupMtu};
    if (to.get() != this) world.sent(frame, to->index, true);
    for (Segments segments(header, frame, path.mtu); !segments.done(); segments.next())
      send_part(frame, segments, *to, path, to->qpn);
  }
  return true;
}

void Node::join_fabric_group() {
  in_fabric_group = true;
  port->group_joined(world.scheduler.now());
  wake();
}

void Node::leave_fabric_group() {
  in_fabric_group = false;
  port->group_left(world.scheduler.now());
  wake();
}

bool Node::send_message(PeerId id, Bytes head, Bytes frame) {
  const auto connection = connections.find(id);
  EXPECT_NE(connection, connections.end()) << "a message without a channel";
  if (connection == connections.end()) return false;
  const std::uint64_t number = connection->second;
  const Peer& peer = port->peers().get(id);
  Node* const to = world.node_with(peer.port);
  if (to == nullptr) return true;
  world.sent(frame, to->index);
  const Lid dlid = peer.path().dlid;
  world.scheduler.after(world.faults.delay,
                        [this, id, number, to, dlid, bytes = datagram_of(head, frame)] {
                          const Bytes whole = Bytes(bytes).subspan(LanHeader::kSize);
                          const auto theirs = to->peer_of(*this);
                          const bool broken = world.broken.contains(dlid);
                          const bool up = theirs && to->connections.contains(*theirs) &&
                                          to->connections[*theirs] == number && to->alive;
                          if (up && !broken) {
                            to->port->from_channel(*theirs, bytes, world.scheduler.now());
                            return to->wake();
                          }
                          world.lost(whole, to->index);
                          // What is lost on the way, nobody says: they are unreliable connections.
                          if (broken) return;
                          world.scheduler.after(10ms, [this, id, number] {
                            if (!connections.contains(id) || connections[id] != number) return;
                            connections.erase(id);
                            port->channel_down(id, world.scheduler.now());
                            wake();
                          });
                        });
  return true;
}

void Node::connect(PeerId id) {
  const Guid of = port->peers().get(id).port;
  const Lid dlid = port->peers().get(id).path().dlid;
  world.scheduler.after(3 * world.faults.delay, [this, id, of, dlid] {
    const Time now = world.scheduler.now();
    Node* const to = world.node_with(of);
    const auto ours = to == nullptr ? std::nullopt : peer_of(*to);
    if (!ours || *ours != id) return;  // it has gone meanwhile, and was told so
    const auto theirs = to->peer_of(*this);
    if (!theirs || world.broken.contains(dlid) || !to->port->accept_channel(*theirs, now)) {
      port->channel_refused(id, now);
      return wake();
    }
    const std::uint64_t number = ++world.last_connection;
    if (to->port->channel_up(*theirs, now)) to->connections[*theirs] = number;
    if (port->channel_up(id, now)) connections[id] = number;
    wake();
    to->wake();
  });
}

void Node::disconnect(PeerId id) {
  const auto connection = connections.find(id);
  if (connection == connections.end()) return;
  const std::uint64_t number = connection->second;
  connections.erase(connection);
  Node* const to = world.node_with(port->peers().get(id).port);
  if (to == nullptr) return;
  world.scheduler.after(world.faults.delay, [this, to, number] {
    const auto theirs = to->peer_of(*this);
    if (!theirs || !to->connections.contains(*theirs) || to->connections[*theirs] != number) return;
    to->connections.erase(*theirs);
    to->port->channel_down(*theirs, world.scheduler.now());
    to->wake();
  });
}

void Node::peer_came(PeerId) {
}
// Its connection leads where it was.
void Node::peer_moved(PeerId peer) {
  ++moves;
  world.scheduler.after(0ns, [this, peer] {
    if (!connections.contains(peer)) return;
    disconnect(peer);
    port->channel_down(peer, world.scheduler.now());
    wake();
  });
}
void Node::peer_went(PeerId peer) {
  EXPECT_FALSE(connections.contains(peer));
}

bool Node::ask(std::uint64_t number, const Question& question, Time) {
  world.scheduler.after(50us, [this, number, question] {
    const Time now = world.scheduler.now();
    Directory& directory = port->directory();
    Node* const of = world.node_with(question.of);
    std::vector<Guid> guids;
    for (const auto& node : world.nodes)
      if (node->alive) guids.push_back(node->guid);
    if (world.random.chance(world.faults.unanswered)) {
      directory.answer(number, Unanswered{}, now);
    } else if (question.kind == Question::Kind::kPortAt) {
      const Node* const at = world.node_at(question.path.dlid);
      guids.assign(at == nullptr ? 0 : 1, at == nullptr ? Guid{} : at->guid);
      directory.answer(number, std::span<const Guid>(guids), now);
    } else if (question.kind != Question::Kind::kPaths && question.kind != Question::Kind::kEnd) {
      if (question.of != Guid{}) guids.assign(of == nullptr ? 0 : 1, question.of);
      directory.answer(number, std::span<const Guid>(guids), now);
    } else if (of == nullptr) {
      directory.answer(number, Absent{}, now);
    } else if (question.kind == Question::Kind::kEnd &&
               (world.broken.contains(question.path.dlid) ||
                world.broken.contains(question.path.slid))) {
      directory.answer(number, Unanswered{}, now);
    } else if (question.kind == Question::Kind::kEnd) {
      directory.answer(number, DatagramEnd{.qpn = of->qpn}, now);
    } else {
      const auto second = [](const Node& node) {
        return Lid{static_cast<std::uint16_t>(node.lids.base.value() + 1)};
      };
      const std::uint16_t least = std::min(mtu, of->mtu);
      const std::array<PeerPath, 2> paths{
          PeerPath{.slid = lids.base, .dlid = of->lids.base, .mtu = least},
          PeerPath{.slid = second(*this), .dlid = second(*of), .mtu = least}};
      directory.answer(number, PortPaths{.lids = of->lids, .paths = paths}, now);
    }
    wake();
  });
  return true;
}

}  // namespace weft::lan::test
