// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_queue_pairs.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "daemon/lan/lan_service.h"
#include "io/tap_interface.h"
#include "lan/directory.h"
#include "lan/segments.h"
#include "sm/sa/subnet_view.h"
#include "wire/grh.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kLongestDatagram = 4096;  // IBA 9.8.3: one packet, of the longest MTU
// A receive request of a message has its slot as its number, one of a datagram has one of these
// besides.
constexpr std::uint64_t kOfDatagram = std::uint64_t{1} << 32;
constexpr std::uint64_t kOfGroup = kOfDatagram << 1;
// What an interface can be told and a LAN port takes is the same.
static_assert(io::TapInterface::kLongestFrame == lan::kLongestFrame);
static_assert(LanQueuePairs::kHeadroom >= io::TapInterface::kHeader);
static_assert(LanQueuePairs::kDatagrams * lan::LanHeader::kSize <= lan::kLongestFrame);
static_assert((lan::kLongestFrame + lan::LanHeader::kUnit) / (lan::Segments::most_part(256)) <
              LanQueuePairs::kDatagrams);

// Both are of the same set of counters.
void add_up(std::vector<CounterValue>& into, const std::vector<CounterValue>& more) {
  assert(into.size() == more.size());
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i].value += more[i].value;
}

}  // namespace

Expected<std::unique_ptr<LanQueuePairs>> LanQueuePairs::open(fabric::ChannelAdapter& adapter,
                                                             mgmt::PortNumber port,
                                                             link::PacketPool& pool,
                                                             Entropy& entropy, User& user) {
  std::unique_ptr<LanQueuePairs> made(new LanQueuePairs(entropy, user));
  auto consumer = ResidentConsumer::open(adapter, port, pool, made->memory_, *made);
  if (!consumer) return tl::unexpected(consumer.error());
  made->consumer_ = std::move(*consumer);
  if (auto opened = made->open_datagrams(made->datagrams_, made->qkey_, kDatagrams); !opened) {
    return tl::unexpected(opened.error());
  }
  return made;
}

LanQueuePairs::LanQueuePairs(Entropy& entropy, User& user)
    : user_(user),
      table_(entropy),
      region_(table_
                  .add({.base = memory_.all().data(),
                        .iova = reinterpret_cast<std::uintptr_t>(memory_.all().data()),
                        .length = memory_.all().size(),
                        .access = 0})
                  .value()),
      datagrams_{nullptr, {table_, kDatagramSlots, hca::kGrhArea + kLongestDatagram}, kOfDatagram},
      group_datagrams_{nullptr, {table_, kGroupSlots, hca::kGrhArea + kLongestDatagram}, kOfGroup},
      message_slots_(table_, kMessageSlots, kHeadroom + lan::kLongestFrame),
      // IBA 10.2.5: one that any consumer may use.
      qkey_(static_cast<std::uint32_t>(entropy.draw()) & ~kPrivilegedQKeyBit),
      first_psn_(static_cast<std::uint32_t>(entropy.draw())),
      heads_(memory_.take()),
      channel_of_(lan::Directory::Options{}.peers) {
  arrived_.all.reserve(kDatagramSlots + kGroupSlots + kMessageSlots);
  taken_.all.reserve(kDatagramSlots + kGroupSlots + kMessageSlots);
  for (std::size_t slot = 0; slot < kMessageSlots; ++slot)
    post_message_slot(slot);
}

LanQueuePairs::~LanQueuePairs() {
  for (auto& [number, channel] : channels_)
    consumer_->remove(*channel.queue_pair);
  for (const DatagramPair* pair : {&datagrams_, &group_datagrams_})
    if (pair->queue_pair) consumer_->remove(*pair->queue_pair);
}

Expected<void> LanQueuePairs::open_datagrams(DatagramPair& pair, QKey qkey, std::uint32_t sends) {
  using namespace hca;
  const auto number = consumer_->allocate();
  if (!number) return tl::unexpected(number.error());
  UdConfig config;
  config.qpn = *number;
  config.max_sends = sends;
  config.max_receives = static_cast<std::uint32_t>(pair.slots.count());
  config.max_send_pieces = 2;  // a header, and a part of a frame
  config.credits = false;
  config.port = facts().port;
  config.pkeys = &consumer_->pkeys();
  pair.queue_pair = std::make_unique<UdQueuePair>(config, table_, sent_, arrived_);
  UdQueuePair& made = *pair.queue_pair;
  consumer_->add(made);
  QpAttributes attributes{
      .state = QpState::kInit, .port = facts().port, .qkey = qkey, .sq_psn = first_psn_};
  if (auto done = made.modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey);
      !done) {
    return done;
  }
  for (std::size_t slot = 0; slot < pair.slots.count(); ++slot)
    post_datagram_slot(pair, slot);
  attributes.state = QpState::kRtr;
  if (auto done = made.modify(attributes, kAttrState); !done) return done;
  attributes.state = QpState::kRts;
  return made.modify(attributes, kAttrState | kAttrSqPsn);
}

// Each slot is posted when it is free, so there is room for it.
void LanQueuePairs::post_datagram_slot(DatagramPair& pair, std::size_t slot) {
  const hca::Sge piece = pair.slots.piece(slot);
  [[maybe_unused]] const std::errc posted =
      pair.queue_pair->post_receive({.wr_id = pair.mark | slot, .pieces = {&piece, 1}});
  assert(posted == std::errc{});
}

void LanQueuePairs::post_message_slot(std::size_t slot) {
  const hca::Sge piece = message_slots_.piece(slot);
  [[maybe_unused]] const std::errc posted = messages_.post({.wr_id = slot, .pieces = {&piece, 1}});
  assert(posted == std::errc{});
}

bool LanQueuePairs::receive() {
  if (arrived_.all.empty()) return false;
  taken_.all.swap(arrived_.all);
  for (const hca::Completion& completion : taken_.all)
    take(completion);
  taken_.all.clear();
  return true;
}

void LanQueuePairs::take_datagram(DatagramPair& pair, const hca::Completion& completion) {
  const std::size_t slot = completion.wr_id & ~pair.mark;
  if (completion.status == hca::CompletionStatus::kSuccess) {
    const std::size_t length = completion.byte_length;
    const Bytes bytes = pair.slots.bytes(slot).first(length);
    user_.datagram_came(sender_of(completion, bytes.first(hca::kGrhArea)), completion.source_qpn,
                        bytes.subspan(hca::kGrhArea));
  }
  post_datagram_slot(pair, slot);
}

void LanQueuePairs::take(const hca::Completion& completion) {
  for (DatagramPair* const pair : {&datagrams_, &group_datagrams_})
    if ((completion.wr_id & pair->mark) != 0) return take_datagram(*pair, completion);
  const std::size_t slot = completion.wr_id;
  const bool good = completion.status == hca::CompletionStatus::kSuccess;
  // Of a channel that has been removed meanwhile nobody wants to know.
  const Channel* const channel = channels_.find(completion.qpn);
  if (good && channel != nullptr) {
    const lan::PeerId peer = channel->peer;
    if (channel_of_[peer] != channel) user_.channel_heard(peer, completion.qpn);
    user_.message_came(peer, message_slots_.bytes(slot).first(completion.byte_length));
  }
  post_message_slot(slot);
}

bool LanQueuePairs::run(Time now) {
  const auto deadline = consumer_->deadline();
  if (!touched_ && (!deadline || *deadline > now)) return false;
  touched_ = false;
  consumer_->run(now);
  release_places();
  return true;
}

void LanQueuePairs::release_places() {
  if (!datagram_holds_.empty()) {
    datagram_holds_.release(kDatagrams - datagrams_.queue_pair->send_room());
  }
  std::erase_if(holding_, [](Channel* channel) {
    channel->holds.release(kMessages - channel->queue_pair->send_room());
    channel->holding = !channel->holds.empty();
    return !channel->holding;
  });
}

lan::Sender LanQueuePairs::sender_of(const hca::Completion& completion, Bytes grh_area) const {
  lan::Sender out{.lid = completion.slid};
  if (!completion.with_grh) return out;
  const auto grh = wire::Grh::parse(grh_area);
  if (grh) out.port = view().port_of(grh->sgid);
  return out;
}

// How others know the port. The prefix is the same for all its GIDs.
LanView LanQueuePairs::view() const {
  const auto& gids = facts().attributes.gids;
  return {.gid_prefix = gids.empty() ? 0 : sm::prefix_of(gids.front().gid), .lids = {}};
}

hca::Path LanQueuePairs::path_to(const lan::Peer& peer) const {
  const lan::PeerPath& path = peer.path();
  hca::Path out;
  out.dlid = path.dlid;
  out.sl = path.sl;
  out.source_path_bits = static_cast<std::uint8_t>(path.slid.value() & facts().path_mask());
  out.port = facts().port;
  out.global = path.global;
  if (path.global) {
    out.dgid = view().gid_of(peer.port);
    out.hop_limit = kLanHops;
  }
  return out;
}

hca::Sge LanQueuePairs::piece_of(Bytes bytes) const {
  return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
          LKey{region_.key}};
}

BufferRef LanQueuePairs::place_of(Bytes& frame) {
  BufferRef place = memory_.share(frame);
  if (place) return place;
  place = memory_.take();
  if (!place) return place;
  const MutableBytes copy = place.bytes().subspan(kHeadroom, frame.size());
  std::copy(frame.begin(), frame.end(), copy.begin());
  frame = copy;
  return place;
}

std::size_t LanQueuePairs::send_datagrams(const lan::Peers& peers, std::span<const lan::PeerId> to,
                                          const lan::LanHeader& header, Bytes frame) {
  BufferRef place = place_of(frame);
  if (!place) return to.size();
  hca::UdQueuePair& sender = *datagrams_.queue_pair;
  const std::size_t before = sender.send_room();
  std::size_t sent = 0;
  while (sent < to.size() && post_datagrams(destination_of(peers.get(to[sent])), header, frame))
    ++sent;
  datagram_holds_.hold(std::move(place), before - sender.send_room());
  consumer_->posted(sender);
  return to.size() - sent;
}

bool LanQueuePairs::send_to_group(const lan::LanHeader& header, Bytes frame) {
  if (!group_) return false;
  BufferRef place = place_of(frame);
  if (!place) return false;
  Destination to{{}, kMulticastQpn, group_->qkey, group_->mtu};
  to.path.dgid = group_->mgid;
  to.path.dlid = group_->mlid;
  to.path.sl = group_->sl;
  to.path.port = facts().port;
  hca::UdQueuePair& sender = *datagrams_.queue_pair;
  const std::size_t before = sender.send_room();
  const bool sent = post_datagrams(to, header, frame);
  datagram_holds_.hold(std::move(place), before - sender.send_room());
  consumer_->posted(sender);
  return sent;
}

// What has come by it is taken by its own queue pair, for it has a Q_Key of its own.
Expected<void> LanQueuePairs::join(const LanGroup& group) {
  if (!group_datagrams_.queue_pair) {
    if (auto opened = open_datagrams(group_datagrams_, group.qkey, 1); !opened) return opened;
  }
  hca::UdQueuePair& receiver = *group_datagrams_.queue_pair;
  if (auto attached = receiver.attach(group.mgid); !attached) return attached;
  if (auto joined = consumer_->join(receiver.qpn(), group.mgid); !joined) return joined;
  group_ = group;
  return {};
}

LanQueuePairs::Destination LanQueuePairs::destination_of(const lan::Peer& peer) const {
  return {path_to(peer), peer.end.qpn, peer.end.qkey, peer.path().mtu};
}

bool LanQueuePairs::post_datagrams(const Destination& to, const lan::LanHeader& header,
                                   Bytes frame) {
  hca::UdQueuePair& sender = *datagrams_.queue_pair;
  if (sender.send_room() < lan::Segments::count(frame.size(), to.mtu)) return false;
  hca::SendRequest request;
  request.path = &to.path;
  request.remote_qpn = to.qpn;
  request.remote_qkey = to.qkey;
  for (lan::Segments parts(header, frame, to.mtu); !parts.done(); parts.next()) {
    // As many as may wait have headers of their own.
    const MutableBytes head =
        heads_.bytes().subspan(next_head_ * lan::LanHeader::kSize, lan::LanHeader::kSize);
    next_head_ = (next_head_ + 1) % kDatagrams;
    std::copy(parts.head().begin(), parts.head().end(), head.begin());
    const std::array pieces{piece_of(head), piece_of(parts.part())};
    request.pieces = pieces;
    [[maybe_unused]] const std::errc posted = sender.post_send(request);
    assert(posted == std::errc{});
  }
  return true;
}

bool LanQueuePairs::send_message(lan::PeerId peer, Bytes head, Bytes frame) {
  Channel* const channel = channel_of_[peer];
  BufferRef place = memory_.share(frame);
  assert(head.size() == kHeadroom && place);
  const MutableBytes whole = place.bytes().first(kHeadroom + frame.size());
  assert(whole.data() + kHeadroom == frame.data());
  if (channel == nullptr || channel->queue_pair->send_room() == 0) return false;
  std::copy(head.begin(), head.end(), whole.begin());
  const hca::Sge piece = piece_of(whole);
  hca::SendRequest request;
  request.pieces = {&piece, 1};
  if (channel->queue_pair->post_send(request) != std::errc{}) return false;
  channel->holds.hold(std::move(place), 1);
  if (!std::exchange(channel->holding, true)) holding_.push_back(channel);
  consumer_->posted(*channel->queue_pair);
  return true;
}

Expected<Qpn> LanQueuePairs::add_channel(lan::PeerId peer) {
  const auto number = consumer_->allocate();
  if (!number) return number;
  hca::ConnectedConfig config;
  config.qpn = *number;
  config.type = hca::QpType::kUc;
  config.max_sends = kMessages;
  config.lossless = true;
  config.port = facts().port;
  config.pkeys = &consumer_->pkeys();
  Channel& channel = channels_[*number];
  channel.peer = peer;
  channel.queue_pair =
      std::make_unique<hca::ConnectedQueuePair>(config, table_, sent_, arrived_, &messages_);
  consumer_->add(*channel.queue_pair);
  return number;
}

Expected<void> LanQueuePairs::modify_channel(Qpn queue_pair, const hca::QpAttributes& attributes,
                                             std::uint32_t mask) {
  Channel* const channel = channels_.find(queue_pair);
  assert(channel != nullptr);
  hca::QueuePair& changed = *channel->queue_pair;
  auto done = changed.modify(attributes, mask);
  if (done) consumer_->posted(changed);
  return done;
}

void LanQueuePairs::use_channel(Qpn queue_pair) {
  Channel& channel = channels_[queue_pair];
  channel_of_[channel.peer] = &channel;
}

void LanQueuePairs::remove_channel(Qpn queue_pair) {
  Channel* const found = channels_.find(queue_pair);
  if (found == nullptr) return;
  Channel& channel = *found;
  if (channel_of_[channel.peer] == &channel) channel_of_[channel.peer] = nullptr;
  std::erase(holding_, &channel);
  // What it has begun to receive comes back with an error, and so does its slot.
  static_cast<void>(channel.queue_pair->modify({.state = hca::QpState::kErr}, hca::kAttrState));
  consumer_->remove(*channel.queue_pair);
  add_up(removed_, channel.queue_pair->counter_values());
  channels_.erase(queue_pair);
}

std::vector<CounterValue> LanQueuePairs::datagram_counters() const {
  std::vector<CounterValue> out = datagrams_.queue_pair->counter_values();
  if (group_datagrams_.queue_pair) add_up(out, group_datagrams_.queue_pair->counter_values());
  return out;
}

std::vector<CounterValue> LanQueuePairs::channel_counters() const {
  std::vector<CounterValue> out = removed_;
  for (const auto& [number, channel] : channels_)
    add_up(out, channel.queue_pair->counter_values());
  return out;
}

}  // namespace weft::daemon
