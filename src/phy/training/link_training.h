// SPDX-License-Identifier: Apache-2.0
// The physical layer of one port: trains its lanes with those of the port at the other end until
// packets can pass, and again when they no longer can (IBA vol 2, 5.6). A core: what receivers hear
// and what managers want comes in, what transmitters are to send can be asked for.
// docs/link-states.md tells how it works; training_table.h is the machine itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "phy/link_speed.h"
#include "phy/link_width.h"
#include "phy/training/lane_map.h"
#include "phy/training/training_counters.h"
#include "phy/training/training_options.h"
#include "phy/training/training_table.h"
#include "wire/sm/port_info.h"

namespace weft::phy {

struct TrainingStep {
  TrainingState from{};
  TrainingEvent event{};
  TrainingState to{};
};

// The link is up, or in error recovery.
[[nodiscard]] bool has_link(TrainingState state);
// Packets can pass from here on, which they could not before.
[[nodiscard]] bool brings_up(const TrainingStep& step);
// The link was up, or in error recovery, and is down.
[[nodiscard]] bool takes_down(const TrainingStep& step);

// Whoever has the lanes.
class TrainingOwner {
 public:
  virtual ~TrainingOwner() = default;
  // A step of the machine is done: what is sent, and how is received, may have changed. It may
  // command at once.
  virtual void trained(const TrainingStep& step, Time now) = 0;
};

struct LaneTransmit {
  LaneSend send = LaneSend::kSilence;
  std::uint8_t lane = 0;  // of a training sequence: its lane identifier
  friend bool operator==(const LaneTransmit&, const LaneTransmit&) = default;
};

struct LaneReceive {
  bool listens = false;
  bool inverts = false;
  friend bool operator==(const LaneReceive&, const LaneReceive&) = default;
};

class LinkTraining {
 public:
  // `options` as check() takes them. Disabled until a command says otherwise. `owner` outlives it.
  LinkTraining(const TrainingOptions& options, TrainingOwner& owner);

  // --- commands ------------------------------------------------------------------------------
  // LinkPhyState of the subnet manager: Polling, Sleep or Disabled; false for any other.
  bool command(wire::PortPhysicalState state, Time now);
  // LinkDownDefaultState: Polling or Sleep; false for any other.
  bool set_link_down_default(wire::PortPhysicalState state);
  // LinkWidthEnabled, LinkSpeedEnabled; what is not supported is left out. They count from the next
  // training on. False, and nothing changes, when nothing is left.
  bool set_widths(std::uint8_t widths);
  bool set_speeds(std::uint8_t speeds);
  // Of the DDR negotiation: be at `speed`, and only there, until release_speed(). A port that is
  // training or up begins again with polling when that is another speed. False when it is not
  // enabled.
  bool set_speed(LinkSpeed speed, Time now);
  // The speed is again one of those enabled, from the next training on.
  void release_speed() { commanded_.reset(); }
  // Of the link layer (IBA 7.12.2): train again what is up. Nothing happens in other states.
  void retrain(Time now);

  // --- receivers -----------------------------------------------------------------------------
  // What lane `lane` carries from now on. Lanes that the port does not have are of no account.
  // When what receiver() or speed() says changes, the lane is taken as silent until this says
  // otherwise.
  void receive(std::size_t lane, const LaneInput& input, Time now);
  // So many symbols of a lane were in error. Counted while the link is up and has that lane.
  void symbol_errors(std::size_t lane, std::uint32_t count, Time now);

  // --- what to do with the lanes ---------------------------------------------------------------
  [[nodiscard]] LaneTransmit transmit(std::size_t lane) const;
  [[nodiscard]] LaneReceive receiver(std::size_t lane) const;
  // Of transmitters and receivers.
  [[nodiscard]] LinkSpeed speed() const { return speed_; }
  // Which physical lanes are the link's, once receivers are configured.
  [[nodiscard]] const std::optional<LaneMap>& receive_map() const { return map_; }
  [[nodiscard]] std::optional<LaneMap> transmit_map() const;
  [[nodiscard]] bool may_send_packets() const { return state_ == TrainingState::kLinkUp; }

  // --- management ------------------------------------------------------------------------------
  [[nodiscard]] TrainingState state() const { return state_; }
  [[nodiscard]] wire::PortPhysicalState physical_state() const { return info(state_).physical; }
  // LinkWidthActive; none before receivers are configured.
  [[nodiscard]] std::optional<LinkWidth> width() const;
  [[nodiscard]] const TrainingCounters& counters() const { return counters_; }
  [[nodiscard]] const TrainingOptions& options() const { return options_; }

  // --- time ------------------------------------------------------------------------------------
  void run(Time now);
  // When run() has something to do if nothing else happens before.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  // A row of the table, and when its sign makes it due.
  struct Due {
    const TrainingRow* row = nullptr;
    Time when{};
  };

  [[nodiscard]] std::span<const LaneInput> inputs() const {
    return std::span(inputs_).first(options_.lanes);
  }

  // training_signs.cc: since when, or from when on if nothing changes, a sign holds.
  [[nodiscard]] std::optional<Time> since(TrainingEvent sign) const;
  [[nodiscard]] std::optional<Time> timed_out() const;
  [[nodiscard]] std::optional<Time> ts1_heard() const;
  [[nodiscard]] std::optional<Time> inverted_heard() const;
  [[nodiscard]] std::optional<Time> receivers_configured() const;
  [[nodiscard]] std::optional<Time> all_past(bool with_ts2) const;
  [[nodiscard]] std::optional<Time> remote_narrower() const;
  [[nodiscard]] std::optional<Time> lane_order_wrong() const;
  [[nodiscard]] std::optional<Time> lanes_lost() const;
  [[nodiscard]] bool is_lost(const LaneInput& input, std::size_t lane) const;

  // link_training.cc
  [[nodiscard]] bool holds(TrainingGuard guard) const;
  [[nodiscard]] std::optional<Due> next_due() const;
  void happen(TrainingEvent command, Time now);
  void take(const TrainingRow& row, Time now);
  void act(std::uint16_t actions, Time now);
  void forget_order();
  void forget_lanes(Time now);
  void try_other_speed(Time now);
  void turn_polarity(Time now);
  void tune(LinkSpeed speed, Time now);
  void set_input(std::size_t lane, const LaneInput& input, Time now);
  [[nodiscard]] LinkSpeed first_speed() const;

  const TrainingOptions options_;
  TrainingOwner& owner_;
  bool sleeps_when_down_ = false;
  std::uint8_t widths_enabled_;
  std::uint8_t speeds_enabled_;
  std::optional<LinkSpeed> commanded_;

  TrainingState state_ = TrainingState::kDisabled;
  Time entered_{};
  Time configuring_since_{};
  LinkSpeed speed_;
  std::uint8_t widths_;  // that this training may come to
  std::optional<LaneMap> map_;
  bool reversed_ = false;  // transmit lanes
  std::array<bool, kMaxLanes> inverts_{};

  std::array<LaneInput, kMaxLanes> inputs_{};
  std::array<Time, kMaxLanes> heard_at_{};  // since when each lane carries that
  Time changed_at_{};                       // any of them
  Time settled_at_{};                       // the same, TS1 and TS2 being one
  bool noise_heard_ = false;                // while polling
  std::uint8_t polls_at_first_speed_ = 0;   // that are to be made before another one is tried

  Time window_from_{};
  std::uint64_t window_errors_ = 0;
  TrainingCounters counters_;
};

}  // namespace weft::phy
