// SPDX-License-Identifier: Apache-2.0
// A link of which one end is here, and the other where a channel leads to. Each side emulates what
// it sends: with the same emulation at both it is the same link that DirectLink would be.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <variant>

#include "link/carrier.h"
#include "link/channel.h"
#include "link/flapping.h"
#include "link/inbox.h"
#include "link/line.h"
#include "link/link.h"
#include "link/packet_pool.h"
#include "link/port.h"

namespace weft::link {

class HalfLink final : public Link, private Carrier, private ChannelUser {
 public:
  // `pool` is that of the worker; `side`, 0 or 1, says which end is here. Without a channel the
  // link stays down.
  HalfLink(PacketPool& pool, std::size_t side) : pool_(pool), side_(side) {}
  ~HalfLink() override;

  // Connects the port, which must be without a cable, and stays or is disconnected before this
  // goes. `training`, the same port, is told what the other end's lets the link train to; null: it
  // does not want to know, and says nothing.
  void join(Port& port, Time now, TrainingPort* training = nullptr);
  // Null: none any more. It outlives the link or the next call.
  void set_channel(Channel* channel, Time now);
  [[nodiscard]] std::size_t side() const { return side_; }

  void set_plugged(bool plugged, Time now) override;
  [[nodiscard]] bool plugged() const override { return plugged_; }
  void set_emulation(const Emulation& emulation, Time now) override;
  [[nodiscard]] const Emulation& emulation() const override { return emulation_; }
  void set_tap(LinkTap* tap) override { tap_ = tap; }
  [[nodiscard]] bool up(Time) const override { return connected_; }
  [[nodiscard]] const LinkCounters& counters() const override { return counters_; }

 private:
  using Signal = std::array<std::byte, wire::FlowControl::kSize>;

  // Carrier
  [[nodiscard]] bool ready() const override;
  void send(PacketPtr packet, Time now) override;
  void send(const wire::FlowControl& packet, Time now) override;
  void set_polling(bool polling, Time now) override;
  [[nodiscard]] std::optional<CreditFormat> far_format() const override;
  [[nodiscard]] Duration time_on_line(std::size_t bytes) const override;
  [[nodiscard]] Duration round_trip() const override;
  void deliver(Port& port, Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

  // ChannelUser
  [[nodiscard]] Training training() const override;
  void heard_training(const Training& far) override { far_ = far; }
  void connected(Time now) override;
  void disconnected(Time now) override;
  void arrived(Bytes packet, Time now) override;
  void arrived_flow_control(SignalBytes packet, Time now) override;
  void may_send(Time now) override;

  void settle(Time now);
  void tell_physical(Port& port, Time now);
  // What the line has carried to its end goes into the channel.
  void pump(Time now);
  void wake();

  PacketPool& pool_;
  const std::size_t side_;
  Channel* channel_ = nullptr;
  Port* port_ = nullptr;
  TrainingPort* training_ = nullptr;
  LinkTap* tap_ = nullptr;
  Emulation emulation_;
  std::unique_ptr<Line> line_;  // what goes from here; null: at once and unharmed
  Inbox outbox_;                // what the line has to carry
  // What has come; it is the channel's business to bring no more than there is room for.
  std::deque<std::variant<PacketPtr, Signal>> arrivals_;
  Time came_at_{};  // the last of it
  Flapping flapping_;
  bool plugged_ = true;
  bool polling_ = false;
  bool seeking_ = false;
  bool busy_ = false;  // the line takes no packet
  bool connected_ = false;
  Training far_{};        // of the connection
  bool lost_ = false;     // since the port was told
  bool told_up_ = false;  // what the port knows
  LinkCounters counters_;
};

}  // namespace weft::link
