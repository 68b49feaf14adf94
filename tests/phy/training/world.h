// SPDX-License-Identifier: Apache-2.0
// Two ports and the medium between them in virtual time: what one's lanes send, the other's hear
// after a while, as far as the medium lets them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "phy/training/link_training.h"

namespace weft::phy {

// One direction of a cable. Its lanes lead from and to the physical lanes of the same number,
// unless they are reversed.
struct Strand {
  std::size_t lanes = 4;
  bool reversed = false;
  std::array<bool, kMaxLanes> dead{};      // by lane of the sender
  std::array<bool, kMaxLanes> inverted{};  // the same
  std::array<bool, kMaxLanes> noisy{};     // so many bit errors that no symbols are found

  // The sender's lane that a receiver's lane is joined to.
  [[nodiscard]] std::optional<std::size_t> source(std::size_t receiver) const;
};

struct Medium {
  std::array<Strand, 2> strands;  // from end 0, from end 1
  Duration delay = 100ns;
};

struct Station final : TrainingOwner {
  explicit Station(const TrainingOptions& options) : training(options, *this) {}
  void trained(const TrainingStep& step, Time now) override;

  LinkTraining training;
  std::vector<TrainingStep> steps;
  std::vector<Time> times;  // of the steps
  std::size_t ups = 0;
  std::size_t downs = 0;
};

class World {
 public:
  // Nothing is commanded yet. Receivers take from 8 to 12 ordered sets to know what they hear, as
  // `seed` has it.
  World(const TrainingOptions& a, const TrainingOptions& b, Medium medium, std::uint64_t seed);

  LinkTraining& a() { return stations_[0]->training; }
  LinkTraining& b() { return stations_[1]->training; }
  Station& station(std::size_t end) { return *stations_[end]; }
  [[nodiscard]] Time now() const { return now_; }
  Random& random() { return random_; }

  // Both ends poll.
  void begin();
  // Whatever is to be done to an end or to the medium: the rest of the world hears of it after.
  template <class What>
  void change(What&& what) {
    what();
    refresh();
  }
  Medium& medium() { return medium_; }
  void run_until(Time end);
  void run_for(Duration time) { run_until(now() + time); }
  // As soon as it is so, or at `end`.
  template <class What>
  bool run_while(What&& what, Time end) {
    while (what() && now() < end)
      step(end);
    return !what();
  }

  // Both are up, with the same width and speed, and each lane's data comes out as that lane.
  [[nodiscard]] bool agree();
  // Both are up and that is not so.
  [[nodiscard]] bool disagree();
  // How long that was at most in one go, up to now.
  [[nodiscard]] Duration longest_disagreement();
  [[nodiscard]] std::string report();

 private:
  // What is on a lane, as of the sender.
  struct Sent {
    LaneTransmit what;
    LinkSpeed speed = LinkSpeed::kSdr;
    friend bool operator==(const Sent&, const Sent&) = default;
  };

  struct Arrival {
    std::size_t from = 0;
    std::size_t lane = 0;  // of the sender
    Sent sent;
  };

  void step(Time end);
  void refresh();
  void send(std::size_t end);
  bool hear(std::size_t end);
  [[nodiscard]] LaneInput heard(std::size_t end, std::size_t lane) const;
  [[nodiscard]] bool in_order(std::size_t from);
  void watch();

  Medium medium_;
  Random random_;
  Time now_{1s};
  std::multimap<Time, Arrival> coming_;
  std::array<std::unique_ptr<Station>, 2> stations_;
  std::array<std::array<Sent, kMaxLanes>, 2> sent_{};  // by sender
  std::array<std::array<Time, kMaxLanes>, 2> last_arrival_{};
  std::array<std::array<Sent, kMaxLanes>, 2> arrived_{};  // by sender, at the other end
  std::optional<Time> disagree_since_;
  Duration longest_disagreement_ = 0ns;
};

}  // namespace weft::phy
