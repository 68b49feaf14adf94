// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/counters.h"
#include "base/time.h"
#include "carrier/ring_end.h"
#include "link/channel.h"

namespace weft::carrier {

enum class RingCounter : std::uint8_t {
  kConnections,
  kSent,
  kArrived,
  kNoRoom,
  kUnconnected,
  kLies,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RingCounter::kCount)>
    kRingCounters{{
        {"ring_connections", "times the two ends had found each other"},
        {"ring_sent", "packets of both kinds put into the ring"},
        {"ring_arrived", "packets of both kinds taken out of the other end's ring"},
        {"ring_no_room", "packets of both kinds lost because the ring was full"},
        {"ring_unconnected", "packets of both kinds lost for want of a connection"},
        {"ring_lies", "connections ended because what the other end wrote makes no sense"},
    }};

using RingCounters = CounterSet<RingCounter, kRingCounters>;

class RingChannel;

// Who brings two ends together, and wakes the other one.
class RingHost {
 public:
  virtual ~RingHost() = default;
  // From now on the other end is to be looked for, or not. When it is not, the rings are gone.
  virtual void seek_changed(RingChannel& channel, bool seek, Time now) = 0;
  // There is something to flush().
  virtual void touched(RingChannel& channel) = 0;
};

// A link through two rings. Rings last for one connection: each begins with new ones, so that
// nothing of an earlier one can arrive.
class RingChannel final : public link::Channel {
 public:
  explicit RingChannel(RingHost& host) : host_(host) {}
  RingChannel(const RingChannel&) = delete;
  RingChannel& operator=(const RingChannel&) = delete;

  [[nodiscard]] bool seeks() const { return seeks_; }
  [[nodiscard]] bool is_open() const { return end_ != nullptr; }
  // What the other end is to be told of this one's port.
  [[nodiscard]] link::Training training() const {
    return user_ != nullptr ? user_->training() : link::Training{};
  }
  // The other end has been found, and has said `far` of its port. While seeks(), and not open.
  void open(std::unique_ptr<RingEnd> end, const link::Training& far, Time now);
  // It is gone. The memory may go when this returns.
  void close(Time now);

  // Takes in what has arrived, a share of it. True: there was something. After it, is_open() may be
  // false: see lie().
  bool poll(Time now);
  // Why the connection before this one was ended, if it was.
  [[nodiscard]] std::optional<std::string_view> lie() const { return lie_; }
  // Shows the other end what has changed. True: it is to be woken.
  [[nodiscard]] bool flush() { return end_ != nullptr && end_->publish(); }
  // The other end wakes this one when there is something; false when there is something now.
  [[nodiscard]] bool sleep() { return end_ == nullptr || end_->sleep(); }
  void look();

  [[nodiscard]] const RingCounters& counters() const { return counters_; }

  // link::Channel
  void set_user(link::ChannelUser* user) override { user_ = user; }
  void seek(bool seek, Time now) override;
  [[nodiscard]] bool ready() const override { return !full_; }
  void send(const link::Packet& packet, Time now) override;
  void send_flow_control(link::SignalBytes packet, Time now) override;
  [[nodiscard]] Duration round_trip() const override { return 0ns; }

 private:
  template <class P>
  void put(const P& packet);
  bool take_all(Time now);

  RingHost& host_;
  link::ChannelUser* user_ = nullptr;
  std::unique_ptr<RingEnd> end_;
  std::optional<std::string_view> lie_;
  bool seeks_ = false;
  bool full_ = false;  // the ring has no room for a packet
  RingCounters counters_;
};

}  // namespace weft::carrier
