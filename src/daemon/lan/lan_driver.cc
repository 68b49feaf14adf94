// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/lab/lab_node.h"
#include "io/clock.h"
#include "lan/virtio_header.h"

namespace weft::daemon {
namespace {

// What is read of the host in one turn, so that it does not keep the fabric waiting.
constexpr std::size_t kFramesATurn = 64;
constexpr std::size_t kBytesATurn = 256 * 1024;
// After so many reads of one frame each, none of which was in vain, more are tried at a time.
constexpr unsigned kOneByOne = 8;
// Places come back while the fabric runs, and it is looked whether they have then. This is for
// packets that leave the fabric's thread.
constexpr Duration kLookForRoom = 1ms;
// A host that has just had a frame is likely to have another one soon: as long as a lab waits
// before it sleeps.
constexpr Duration kLively = 50us;

// When peers have asked for the new LIDs of a port: they may have asked for those of another one
// lately, and do so every five seconds at most.
constexpr Duration kAnnounce = 1s;
constexpr Duration kAnnounceAgain = 7s;

std::size_t index_of(const fabric::Lab& lab, const std::string& node) {
  return static_cast<std::size_t>(lab.find_node(node) - lab.nodes.data());
}

Guid guid_of(fabric::Fabric& fabric, const LanDriverOptions& options) {
  return fabric.find_adapter(options.node)->port(options.port).guid();
}

}  // namespace

Expected<std::unique_ptr<LanDriver>> LanDriver::open(const LanDriverOptions& options,
                                                     const Surroundings& surroundings) {
  fabric::ChannelAdapter* const adapter = surroundings.fabric.find_adapter(options.node);
  if (adapter == nullptr) return no_such_node(surroundings.fabric, options.node);
  if (options.port < 1 || options.port > adapter->port_count()) {
    return fail(std::errc::no_such_device,
                fmt::format("{} has no port {}", options.node, options.port));
  }
  if (options.mtu < kLeastMtu || options.mtu > lan::kMostMtu) {
    return fail(std::errc::invalid_argument,
                fmt::format("an MTU of {} bytes: {} to {} are possible", options.mtu, kLeastMtu,
                            lan::kMostMtu));
  }
  std::unique_ptr<LanDriver> made(new LanDriver(options, surroundings));
  auto pairs = LanQueuePairs::open(*adapter, options.port, surroundings.fabric.pool(),
                                   surroundings.entropy, *made);
  if (!pairs) return tl::unexpected(pairs.error());
  made->queue_pairs_ = std::move(*pairs);
  auto connections =
      surroundings.connections.open(index_of(surroundings.fabric.lab(), options.node));
  if (!connections) return tl::unexpected(connections.error());
  auto subnet = LanSubnet::open(**connections, options.port, surroundings.reactor, *made);
  if (!subnet) return tl::unexpected(subnet.error());
  made->subnet_ = std::move(*subnet);
  if (auto done = made->follow_port(); !done) return tl::unexpected(done.error());
  return made;
}

LanDriver::LanDriver(const LanDriverOptions& options, const Surroundings& surroundings)
    : options_(options),
      surroundings_(surroundings),
      port_guid_(guid_of(surroundings.fabric, options)),
      mtu_(options.mtu),
      now_(io::now()) {
  surroundings_.turns.add(*this);
}

LanDriver::~LanDriver() {
  working_ = true;  // nothing that goes now wakes it
  surroundings_.turns.remove(*this);
}

Expected<void> LanDriver::follow_port() {
  static_cast<void>(queue_pairs_->take_port_change());
  const port::PortFacts& facts = queue_pairs_->facts();
  const lan::PortLids lids{facts.attributes.lid, facts.attributes.lmc};
  if (facts.is_active() && lids.valid()) return port_active(lids);
  active_ = false;
  if (!interface_) return {};
  return interface_->tap().set_carrier(false);
}

Expected<void> LanDriver::port_active(const lan::PortLids& lids) {
  const bool again = !std::exchange(active_, true);
  if (again) failed_.clear();
  if (!lan_) {
    if (auto begun = begin(lids); !begun) return begun;
  }
  const bool anew = queue_pairs_->take_reregister();
  const bool follows = host_mac_ == lan_->mac();
  if (again || anew || lids != lids_) lan_->port_changed(lids, now_);
  if (again || anew) leave_all();
  lids_ = lids;
  if (!interface_) return failed_.empty() ? make_interface() : Expected<void>();
  if (follows && host_mac_ != lan_->mac()) {
    if (auto set = interface_->tap().set_mac(lan_->mac()); !set) return set;
    host_mac_ = lan_->mac();
    announce_at_ = {now_ + kAnnounceAgain, now_ + kAnnounce};
  }
  return interface_->tap().set_carrier(true);
}

Expected<void> LanDriver::begin(const lan::PortLids& lids) {
  lan::LanOptions options;
  options.lids = lids_ = lids;
  options.mtu = options_.mtu;
  options.bridge = bridges();
  options.first_number = static_cast<std::uint32_t>(surroundings_.entropy.draw());
  options.directory.own = port_guid_;
  options.channels.most = options_.channels;
  lan_.emplace(options, static_cast<lan::LanUser&>(*this), now_);
  if (auto offered = subnet_->offer(queue_pairs_->end()); !offered) return offered;
  return subnet_->join_group();
}

Expected<void> LanDriver::make_interface() {
  auto made = HostInterface::make({.name = options_.interface,
                                   .network_namespace = options_.network_namespace,
                                   .mac = lan_->mac(),
                                   .mtu = mtu_,
                                   .queues = options_.queues,
                                   .offloads = options_.offloads},
                                  surroundings_.reactor, [this] { wake(); });
  if (!made) return tl::unexpected(made.error());
  interface_ = std::move(*made);
  host_mac_ = lan_->mac();
  return interface_->tap().set_carrier(true);
}

// Neighbours hear of it by broadcasts, which peers drop until they know the new LIDs.
void LanDriver::announce() {
  announce_at_.pop_back();
  // One that the host has given another address keeps that.
  if (!interface_ || !active_ || host_mac_ != lan_->mac()) return;
  if (auto set = interface_->tap().set_mac(lan_->mac()); !set) lose_interface(set.error().message);
}

void LanDriver::lose_interface(std::string why) {
  interface_.reset();
  lan_->address_changed(std::nullopt, now_);
  failed_ = std::move(why);
  in_bridge_ = false;
  lan_->set_bridge(bridges(), now_);
}

void LanDriver::set_bridge(std::optional<bool> bridge, Time now) {
  options_.bridge = bridge;
  if (lan_) lan_->set_bridge(bridges(), now);
  wake();  // peers are to hear of it
}

// Whoever may administer the host's interfaces decides on it, as with any adapter.
void LanDriver::follow_host() {
  const auto facts = interface_->take_news();
  if (!facts) return;
  mtu_ = std::min<std::uint32_t>(facts->mtu, lan::kMostMtu);
  in_bridge_ = facts->in_bridge;
  host_mac_ = facts->mac;
  lan_->set_mtu(mtu_);
  lan_->set_bridge(bridges(), now_);
  // What is for a bond is not to come where it takes nothing.
  lan_->address_changed(facts->backup ? std::nullopt : std::optional(host_mac_), now_);
}

bool LanDriver::work(Time now, bool look) {
  now_ = now;
  working_ = true;
  if (queue_pairs_->take_port_change()) {
    if (const auto done = follow_port(); !done) lose_interface(done.error().message);
  }
  if (interface_ && interface_->gone()) {
    lose_interface(fmt::format("somebody has deleted {}", interface_->name()));
  }
  if (interface_) follow_host();
  if (!announce_at_.empty() && now >= announce_at_.back()) announce();
  bool worked = queue_pairs_->receive();
  if (interface_) {
    const bool read = read_host(look && lively(now));
    // What a host answers at once is found without looking for it.
    if (read && !worked) lively_until_ = now + kLively;
    worked = read || worked;
  }
  if (lan_ && lan_->deadline() <= now) {
    lan_->run(now);
    worked = true;
  }
  if (lan_) notes_.look(lan_->counters(), now);
  worked = catch_up() || worked;
  worked = queue_pairs_->run(now) || worked;
  // What was counted is to be noted though nothing follows it.
  notes_due_ = worked ? notes_.next() : Time::max();
  working_ = false;
  return worked;
}

Time LanDriver::deadline() const {
  if (queue_pairs_->pending() || !not_made_.empty() || !moved_.empty()) return now_;
  Time next = lan_ ? std::min(lan_->deadline(), notes_due_) : Time::max();
  if (const auto due = queue_pairs_->deadline()) next = std::min(next, *due);
  if (!announce_at_.empty()) next = std::min(next, announce_at_.back());
  if (interface_ && interface_->readable()) {
    next = std::min(next, queue_pairs_->has_room() ? now_ : now_ + kLookForRoom);
  }
  return next;
}

// What there is no room for stays with the host, whose queue holds back who sends.
bool LanDriver::read_host(bool look) {
  std::size_t frames = 0;
  std::size_t bytes = 0;
  bool room = true;
  if (look) interface_->look();
  const bool tried = interface_->readable();
  while (interface_->readable() && frames < burst_ && bytes < kBytesATurn) {
    room = queue_pairs_->has_room();
    if (!room) break;
    const BufferRef place = queue_pairs_->place();
    const MutableBytes read = interface_->next(
        place.bytes().subspan(LanQueuePairs::kHeadroom - io::TapInterface::kHeader));
    if (read.empty()) break;
    ++frames;
    bytes += read.size();
    take_from_host(read);
  }
  if (!room && !held_) counters_.add_in_turn(LanDriverCounter::kTxHeld);
  held_ = !room;
  interface_->hold(held_);
  if (tried && room) adapt_burst(frames);
  return frames != 0;
}

// A frame that comes alone is not to wait for the read that finds no other behind it, and so that
// is found out in the next turn. Where many come, fewer turns are to be taken: whether there are
// more is tried when several have come one by one, for few might be answers to each other.
void LanDriver::adapt_burst(std::size_t frames) {
  const bool more = frames != 0 && interface_->readable();
  one_by_one_ = more && burst_ == 1 ? one_by_one_ + 1 : 0;
  if (!more) {
    burst_ = 1;
  } else if (burst_ > 1 || one_by_one_ == kOneByOne) {
    burst_ = std::min(burst_ * 2, kFramesATurn);
  }
  interface_->forget_readable();
}

void LanDriver::take_from_host(MutableBytes read) {
  const auto offload = lan::VirtioHeader::read(read.first<lan::VirtioHeader::kSize>());
  if (!offload) return counters_.add_in_turn(LanDriverCounter::kTxUnknownOffload);
  lan_->from_host(*offload, read.subspan(lan::VirtioHeader::kSize), now_);
}

void LanDriver::to_host(const lan::Offload& offload, Bytes frame) {
  if (interface_ && interface_->send(offload, frame) == std::errc{}) return;
  counters_.add_in_turn(LanDriverCounter::kRxHostRefused);
}

bool LanDriver::send_message(lan::PeerId peer, Bytes head, Bytes frame) {
  return queue_pairs_->send_message(peer, head, frame);
}

std::size_t LanDriver::send_datagrams(std::span<const lan::PeerId> peers,
                                      const lan::LanHeader& header, Bytes frame) {
  return queue_pairs_->send_datagrams(lan_->peers(), peers, header, frame);
}

bool LanDriver::send_to_group(const lan::LanHeader& header, Bytes frame) {
  return queue_pairs_->send_to_group(header, frame);
}

void LanDriver::datagram_came(const lan::Sender& sender, Qpn queue_pair, Bytes message) {
  if (lan_) lan_->from_datagram(sender, queue_pair, message, now_);
}

void LanDriver::message_came(lan::PeerId peer, Bytes message) {
  lan_->from_channel(peer, message, now_);
}

}  // namespace weft::daemon
