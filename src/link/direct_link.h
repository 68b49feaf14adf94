// SPDX-License-Identifier: Apache-2.0
// A link whose two ports belong to one worker: what one sends is put into the inbox of the other.
// With an emulation, it has a line rate, delay and faults; it needs no clock for that, so it serves
// in virtual time as well.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "link/carrier.h"
#include "link/emulation.h"
#include "link/flapping.h"
#include "link/inbox.h"
#include "link/line.h"
#include "link/link.h"
#include "link/link_trainer.h"
#include "link/packet_pool.h"
#include "link/port.h"

namespace weft::link {

class DirectLink final : public Link {
 public:
  // `pool` is that of the worker. `training`: how long the ends train before the link is up.
  explicit DirectLink(PacketPool& pool, Duration training = 0ns);

  // Connects the ports, which must be without a cable, and stay or be disconnected before this
  // goes.
  void join(Port& first, Port& second, Time now);
  // Before join(): what the link trains by, instead of by time. It outlives the link.
  void set_trainer(LinkTrainer* trainer) { trainer_ = trainer; }
  void set_plugged(bool plugged, Time now) override;
  [[nodiscard]] bool plugged() const override { return plugged_; }
  void set_emulation(const Emulation& emulation, Time now) override;
  [[nodiscard]] const Emulation& emulation() const override { return emulation_; }
  void set_tap(LinkTap* tap) override;
  [[nodiscard]] bool up(Time now) const override {
    return up_at_ && now >= *up_at_ && !recovering_;
  }
  [[nodiscard]] const LinkCounters& counters() const override { return counters_; }

 private:
  class End final : public Carrier {
   public:
    [[nodiscard]] bool ready() const override { return !busy_ && !link_->recovering_; }
    void send(PacketPtr packet, Time now) override { link_->carry(*this, std::move(packet), now); }
    void send(const wire::FlowControl& packet, Time now) override {
      link_->carry(*this, packet, now);
    }
    void set_polling(bool polling, Time now) override;
    void retrain(Time now) override;
    [[nodiscard]] std::uint64_t symbol_errors(Time now) const override;
    [[nodiscard]] std::optional<CreditFormat> far_format() const override {
      return link_->other(*this).port_->options().credit_format;
    }
    [[nodiscard]] Duration time_on_line(std::size_t bytes) const override;
    [[nodiscard]] Duration round_trip() const override;
    void deliver(Port& port, Time now) override;
    [[nodiscard]] std::optional<Time> deadline() const override;

   private:
    friend class DirectLink;
    void tell_physical(Port& port, Time now);
    [[nodiscard]] bool told() const { return told_epoch_ == link_->epoch_; }

    DirectLink* link_ = nullptr;
    std::size_t side_ = 0;
    Port* port_ = nullptr;
    Inbox inbox_;                 // what comes to this end
    std::unique_ptr<Line> line_;  // what goes from it; null: at once and unharmed
    bool polling_ = false;
    bool busy_ = false;     // the line takes no packet
    bool told_up_ = false;  // what its port knows
    bool told_recovering_ = false;
    std::uint32_t told_recoveries_ = 0;
    std::uint32_t told_epoch_ = 0;
  };

  template <class P>
  void carry(End& from, P packet, Time now);
  [[nodiscard]] End& other(const End& end) { return ends_[1 - end.side_]; }
  // One of the three that make the link has changed: both ends poll, the cable is in.
  void settle(Time now);
  void train(Time now);
  void follow_trainer(Time now);
  void go_down(Time now);
  void lose_all(Time now);
  void make_lines(Time now);
  void flap(Time now);

  PacketPool& pool_;
  const Duration training_;
  Emulation emulation_;
  LinkTap* tap_ = nullptr;
  LinkTrainer* trainer_ = nullptr;
  std::array<End, 2> ends_;
  bool plugged_ = true;
  bool joined_ = false;
  Flapping flapping_;
  std::optional<Time> up_at_;  // up, or in training till then
  bool recovering_ = false;    // from errors, having been up
  std::uint32_t recoveries_ = 0;
  std::uint32_t epoch_ = 0;  // how often it has gone down
  LinkCounters counters_;
};

}  // namespace weft::link
