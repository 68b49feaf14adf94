// SPDX-License-Identifier: Apache-2.0
// The two ports of a cable while they train its lanes: what one sends, the other hears a while
// later, on those lanes that carry symbols. Lanes are straight here; wires of labs are not crossed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "phy/link_speed.h"
#include "phy/link_width.h"
#include "phy/training/link_training.h"

namespace weft::phy {

// Whose cable it is.
class CableOwner {
 public:
  virtual ~CableOwner() = default;
  // Whether symbols get across to port `to` on this lane, with what both ports are set to.
  [[nodiscard]] virtual bool carries(unsigned to, std::size_t lane) = 0;
  // A port has taken a step, of its own accord or because the other one has. It is not to be
  // commanded from inside of this.
  virtual void trained(unsigned side, const TrainingStep& step, Time now) = 0;
};

class CableTraining {
 public:
  // Of so many lanes: 1, 4, 8 or 12. `delay` is that of a signal, one way. Both ports are disabled.
  // `owner` outlives this.
  CableTraining(std::size_t lanes, Duration delay, CableOwner& owner);
  CableTraining(const CableTraining&) = delete;
  CableTraining& operator=(const CableTraining&) = delete;

  // LinkWidthEnabled, from the next poll() on; false, and nothing changes, if the cable has none of
  // them.
  bool set_widths(unsigned side, std::uint8_t widths);
  // The port begins to train anew, at this speed. What follows from a command at once is no step
  // that the owner is told of.
  void poll(unsigned side, LinkSpeed speed, Time now);
  // Idle data at this speed on all lanes, without training.
  void send_idle(unsigned side, LinkSpeed speed, Time now);
  void disable(unsigned side, Time now);
  // It trains again what is up.
  void retrain(unsigned side, Time now);
  // What carries() says may be otherwise.
  void carries_changed(Time now);

  [[nodiscard]] const LinkTraining& port(unsigned side) const { return ends_[side].training; }
  // Both ports look for each other at one speed, and can never find each other, for every width has
  // lane 0.
  [[nodiscard]] bool hopeless() const { return hopeless_; }

  // Does what is due.
  void run(Time now);
  // Nothing, too, as long as it is hopeless: a cable over which nothing comes is let alone.
  [[nodiscard]] std::optional<Time> deadline() const {
    return hopeless_ ? std::nullopt : deadline_;
  }

 private:
  // What a port sends on its lanes.
  struct Sent {
    LinkSpeed speed = LinkSpeed::kSdr;
    std::array<LaneTransmit, kMaxLanes> lanes{};
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  struct Coming {
    Time at;
    Sent sent;
  };
  struct End final : TrainingOwner {
    End(CableTraining& cable, unsigned side, const TrainingOptions& options)
        : cable(cable), side(side), training(options, *this) {}
    void trained(const TrainingStep& step, Time now) override;

    CableTraining& cable;
    const unsigned side;
    LinkTraining training;
    std::optional<LinkSpeed> idle;  // is sent, at this speed
    Sent sent;
    std::deque<Coming> coming;  // what it has sent, on its way
    Sent arrived;               // at the other end
    LinkSpeed told_at{};        // what its training was told, at which speed
    std::array<LaneInput, kMaxLanes> told{};
  };

  template <class What>
  void command(unsigned side, What&& what, Time now);
  void refresh(Time now);
  void send(End& end, Time now);
  bool hear(End& end, Time now);
  [[nodiscard]] LaneInput heard(const End& end, std::size_t lane);
  void note_deadline();

  const std::size_t lanes_;
  const Duration delay_;
  CableOwner& owner_;
  std::array<End, 2> ends_;
  std::uint64_t steps_ = 0;
  bool commanding_ = false;
  bool hopeless_ = false;
  std::optional<Time> deadline_;
};

}  // namespace weft::phy
