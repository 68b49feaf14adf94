// SPDX-License-Identifier: Apache-2.0
#include "carrier/datagram_peer.h"

#include "base/random.h"

namespace weft::carrier {

void DatagramPeer::add(DatagramChannel& channel) {
  by_link_[channel.link()] = &channel;
}

void DatagramPeer::receive(Bytes bytes, Time now) {
  const auto datagram = Datagram::parse(bytes);
  if (!datagram) return counters_.add_in_turn(PeerCounter::kMalformed);
  const bool is_hello = datagram->head.kind == DatagramKind::kHello;
  const auto& table = is_hello ? by_link_ : by_key_;
  const auto found = table.find(is_hello ? datagram->hello.link : datagram->head.key);
  if (found != table.end()) return found->second->receive(*datagram, now);
  counters_.add_in_turn(is_hello ? PeerCounter::kUnknownLink : PeerCounter::kUnknownKey);
}

void DatagramPeer::may_send(Time now) {
  for (const auto& [number, channel] : by_link_)
    channel->may_send(now);
}

void DatagramPeer::run(Time now) {
  deadline_.reset();
  for (const auto& [number, channel] : by_link_) {
    channel->run(now);
    if (const auto next = channel->deadline()) hurry(*next);
  }
}

void DatagramPeer::hurry(Time when) {
  if (!deadline_ || when < *deadline_) deadline_ = when;
}

std::uint64_t link_number(std::string_view description) {
  // FNV-1a, of which the generator's step then spreads every bit.
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : description)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
  return Random(hash).next();
}

}  // namespace weft::carrier
