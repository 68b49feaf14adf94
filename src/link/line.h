// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "link/emulation.h"
#include "link/inbox.h"
#include "link/link_counters.h"
#include "link/link_trainer.h"
#include "link/packet_pool.h"

namespace weft::link {

// The symbols of a line to end `to`, some of which arrive wrong.
struct LineSymbols {
  LinkTrainer* trainer = nullptr;  // null: none does, but for the emulation
  std::size_t to = 0;
};

// One direction of a link with an emulation, or with errors: when things arrive, and what happens
// to them.
class Line {
 public:
  Line(const Emulation& emulation, const LineSymbols& symbols, Random random, PacketPool& pool,
       LinkCounters& counters)
      : emulation_(emulation),
        symbols_(symbols),
        random_(random),
        pool_(pool),
        counters_(counters) {}

  void send(PacketPtr packet, Inbox& inbox, Time now);
  void send(const wire::FlowControl& packet, Inbox& inbox, Time now);

  // Rounded up, so that a line never carries more than its rate.
  [[nodiscard]] Duration time_on_line(std::size_t bytes) const;
  // The line has sent everything that it was given, and takes more.
  [[nodiscard]] bool idle(Time now) const { return now >= free_at_; }
  [[nodiscard]] Time free_at() const { return free_at_; }

  // A packet that is to be overtaken does not wait for ever for one to do so.
  void release_held(Inbox& inbox, Time now);
  [[nodiscard]] std::optional<Time> held_until() const;
  // Nothing that it carries arrives before that, so that what is on its way stays ahead.
  void follow(Time last_arrival) { last_arrival_ = last_arrival; }
  [[nodiscard]] Time last_arrival() const { return last_arrival_; }
  // Returns how many packets that were.
  std::size_t clear(Time now);

 private:
  void occupy(std::size_t bytes, Time now);
  [[nodiscard]] Time arrival(Time now);
  [[nodiscard]] std::uint64_t wrong_bits(std::size_t bytes, Time now);
  [[nodiscard]] PacketPtr damaged(PacketPtr packet, std::uint64_t wrong_bits);

  const Emulation emulation_;
  const LineSymbols symbols_;
  Random random_;
  PacketPool& pool_;
  LinkCounters& counters_;
  Time free_at_{};
  Time last_arrival_{};  // things stay in order
  PacketPtr held_;
  Time held_until_{};
};

}  // namespace weft::link
