// SPDX-License-Identifier: Apache-2.0
// What takes packets out of a worker to the other end of a link, which is in another thread,
// process or machine: a ring in memory, datagrams.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/time.h"
#include "link/credit.h"
#include "link/iba_values.h"
#include "link/packet.h"
#include "link/training.h"
#include "wire/flow_control.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::link {

// A flow-control packet as it is on the line.
using SignalBytes = std::span<const std::byte, wire::FlowControl::kSize>;

// LRH and VCRC; the largest MTU with all headers that IBA 7.7.8 allows.
inline constexpr std::size_t kShortestPacket = wire::Lrh::kSize + wire::kVcrcSize;
inline constexpr std::size_t kLongestPacket = longest_packet(kLargestMtu);

// Is told by its channel at any time, also from inside of calls to the channel.
class ChannelUser {
 public:
  virtual ~ChannelUser() = default;
  // What the other end is told when they find each other, and what it has said, before connected().
  // Not every channel carries that.
  [[nodiscard]] virtual Training training() const { return {}; }
  virtual void heard_training(const Training& /*far*/) {}
  // Both ends look for each other and have found each other. Nothing of an earlier connection
  // arrives any more.
  virtual void connected(Time now) = 0;
  // They have lost each other. The two calls alternate.
  virtual void disconnected(Time now) = 0;
  // In the order in which the other end sent them, and only while it is connected. Of a packet the
  // channel has looked at nothing but its length, which is from kShortestPacket to kLongestPacket.
  virtual void arrived(Bytes packet, Time now) = 0;
  virtual void arrived_flow_control(SignalBytes packet, Time now) = 0;
  // ready() was false and is true again.
  virtual void may_send(Time now) = 0;
};

class Channel {
 public:
  virtual ~Channel() = default;
  // Null: nobody. It outlives the channel or the next call.
  virtual void set_user(ChannelUser* user) = 0;
  // Whether the other end is looked for, from now on. False disconnects.
  virtual void seek(bool seek, Time now) = 0;
  // While it is connected: how the port at the other end offers to count what it takes in, where
  // the channel tells.
  [[nodiscard]] virtual std::optional<CreditFormat> far_format() const { return std::nullopt; }
  // Whether there is room for a packet of any size; true where there is no connection.
  [[nodiscard]] virtual bool ready() const = 0;
  // Both are lost, and counted by the channel, where there is neither a connection nor room.
  virtual void send(const Packet& packet, Time now) = 0;
  virtual void send_flow_control(SignalBytes packet, Time now) = 0;
  // To the other end and back, or a good part of it.
  [[nodiscard]] virtual Duration round_trip() const = 0;
};

}  // namespace weft::link
