// SPDX-License-Identifier: Apache-2.0
// Which of several subnet managers is the master: the states of IBA 14.4.1, and what leads from one
// to another. Whoever has the higher priority is, among equals whoever has the lower GUID; but a
// master that is found is not pushed aside: it hands over, when it sees that it is lower.
//
//   DISCOVERING --a master, or somebody higher--> STANDBY --no answer, no activity--> DISCOVERING
//   DISCOVERING --nobody--> MASTER --hands over to somebody higher--> STANDBY
//   STANDBY --HANDOVER--> MASTER          STANDBY --DISABLE--> NOT-ACTIVE --STANDBY--> STANDBY
//
// This decides only. Who asks, answers and sweeps is the SubnetManager.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sm/smp_queue.h"
#include "wire/sm/sm_info.h"

namespace weft::sm {

// AttributeModifier of a Set of SMInfo, IBA 14.4.1.
enum class SmControl : std::uint32_t {
  kHandover = 1,
  kAcknowledge = 2,
  kDisable = 3,
  kStandby = 4,
  kDiscover = 5,
};

struct MastershipOptions {
  std::uint8_t priority = 0;  // 0 to 15, the highest
  // Managers that say another one are left out of account. 0: any will do.
  std::uint64_t sm_key = 0;
  // How often a standby asks the master whether it is alive, and how many times in a row it may
  // fail to be before the standby looks for itself. OpenSM waits 10 s, five times.
  Duration poll_every = 2s;
  unsigned poll_misses = 3;
};

// Another manager, as it was found.
struct OtherManager {
  wire::SmInfo info;
  DirectedRoute route;  // to its port
  Lid lid{};            // of its port

  friend bool operator==(const OtherManager&, const OtherManager&) = default;
};

class Mastership {
 public:
  using State = wire::SmState;

  explicit Mastership(const MastershipOptions& options) : options_(options) {}

  // Of the port where the manager is. Before it is known there is nothing to compare.
  void identify(Guid port) { guid_ = port; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool may_sweep() const {
    return state_ == State::kDiscovering || state_ == State::kMaster;
  }
  // Its own SMInfo. `activity`: a number that grows with what the manager does.
  [[nodiscard]] wire::SmInfo info(std::uint32_t activity) const;
  [[nodiscard]] bool is_above(const wire::SmInfo& other) const;
  // Whether it says the key that is asked for.
  [[nodiscard]] bool has_key(const wire::SmInfo& other) const {
    return options_.sm_key == 0 || other.sm_key == options_.sm_key;
  }

  enum class Verdict : std::uint8_t {
    kManage,    // it is the master, and goes on
    kStandBy,   // another one is; nothing is to be written
    kHandOver,  // it is the master, and peer() is higher: hand over, then handed_over()
    kWait,      // peer() is a lower master, which is to hand over, or a higher one that still
                // discovers, and is to stand by before it is handed over to; nothing is written
                // until then
  };
  // What a discovery comes to that has found these others.
  Verdict judge(std::span<const OtherManager> others);
  void handed_over();
  // The port has no link: there is no subnet to be the master of.
  void isolated();

  // Whom to poll, every poll_every: the master, or the one that is waited for. Null: nobody.
  [[nodiscard]] const OtherManager* peer() const { return peer_ ? &*peer_ : nullptr; }
  // What peer() said; nothing: no answer. True: find out anew, by a sweep.
  bool polled(const std::optional<wire::SmInfo>& answer);
  // peer() is a master and lower than this one, and should be told to look.
  [[nodiscard]] bool should_call_peer() const;

  // What another manager commands. Nothing: not legal in this state, or not for that one to say.
  // Otherwise whether to sweep.
  std::optional<bool> command(SmControl control, const wire::SmInfo& from);

 private:
  void enter(State state);
  void follow(const OtherManager& other);
  [[nodiscard]] bool is_stopped(const wire::SmInfo& other) const;
  [[nodiscard]] bool lives(const wire::SmInfo& other) const;
  [[nodiscard]] bool is_master(const wire::SmInfo& other) const;
  [[nodiscard]] bool is_higher(const wire::SmInfo& other) const;
  Verdict judge_as_master();
  bool polled_by_standby(const wire::SmInfo& answer);
  bool polled_by_master(const wire::SmInfo& answer);
  bool missed();

  MastershipOptions options_;
  Guid guid_{};
  State state_ = State::kDiscovering;
  std::vector<OtherManager> others_;  // of the last discovery
  std::optional<OtherManager> peer_;
  bool handing_over_ = false;
  unsigned misses_ = 0;  // in a row
  unsigned still_ = 0;   // polls without a sign of activity, or of yielding
  // A master that answered, but did nothing any more; it counts again when it does.
  std::optional<wire::SmInfo> stopped_;
  std::vector<Guid> stubborn_;  // those that were waited for in vain, and have not changed since
};

}  // namespace weft::sm
