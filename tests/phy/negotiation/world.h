// SPDX-License-Identifier: Apache-2.0
// Two ports and the cable between them, in virtual time. The cable loses, delays, repeats and
// reorders what it is told to; the state of all can be kept and gone back to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "phy/negotiation/ddr_negotiation.h"
#include "phy/negotiation/flow_text.h"

namespace weft::phy::test {

// How good a pair of settings is, to the node that receives: eye <= 0 does not work at all.
using Channel = std::function<LaneMeasurement(unsigned receiver, unsigned transmit,
                                              unsigned receive, unsigned lane)>;

// Every pair works, later ones better.
LaneMeasurement clean_channel(unsigned receiver, unsigned transmit, unsigned receive,
                              unsigned lane);
// None does.
LaneMeasurement broken_channel(unsigned receiver, unsigned transmit, unsigned receive,
                               unsigned lane);

struct WorldOptions {
  std::array<NegotiationOptions, 2> nodes;
  Channel channel = clean_channel;
  bool trains_at_ddr = true;       // with settings that work
  Duration delay = 10us;           // of a MAD
  Duration train = 2ms;            // from when both ends are ready until the link is up
  Duration notice = 100us;         // until the other end notices that the link is down
  std::array<Duration, 2> late{};  // until each notices that it is up

  // By `random`, if there is one.
  double loss = 0;
  double repetition = 0;
  Duration jitter{};
};

class World {
 public:
  struct Flight {
    Time at;
    unsigned to = 0;
    wire::MadBuffer mad;
    std::size_t step = 0;  // of flow()
  };
  struct Notice {
    Time at;
    unsigned to = 0;
    std::optional<LinkSpeed> up;  // nothing: down
  };
  struct Line {
    LinkSpeed speed = LinkSpeed::kSdr;
    LineUse use = LineUse::kTrain;
    bool on = false;
    unsigned transmit = 0;
    std::vector<unsigned> receive;
  };
  // All that changes, but for counters and the flow.
  struct State {
    Time now;
    std::array<NegotiationVariables, 2> variables;
    std::array<Sweep, 2> sweeps;
    std::array<Line, 2> lines;
    std::vector<Flight> flights;
    std::vector<Notice> notices;
    std::optional<Time> comes_up;
    bool up = false;
    bool plugged = true;
    // How long what shall not last has lasted by now.
    std::optional<Time> apart_since;
    std::optional<Time> alone_since;
  };

  explicit World(WorldOptions options, Random random = Random(1));

  void start(unsigned node);
  void start_both() {
    start(0);
    start(1);
  }
  // As one that has lost all memory.
  void restart(unsigned node);
  void pull();
  void plug();
  // Until nothing is left to happen, or the next thing is after `end`. True: nothing is left.
  bool run_until(Time end);
  bool run_for(Duration time) { return run_until(state_.now + time); }
  // The next thing that happens. Nothing: there is none.
  [[nodiscard]] std::optional<Time> next() const;
  void step();

  // Whether the next thing is the arrival of a MAD, which then arrives, or is lost.
  [[nodiscard]] bool arrival_is_next() const;
  void lose_next();

  void inject(unsigned to, const wire::MadBuffer& mad);
  void drop_from(unsigned from, std::function<bool(const Advertisement&)> which) {
    dropped_[from] = std::move(which);
  }

  DdrNegotiation& node(unsigned node) { return *nodes_[node]->negotiation; }
  [[nodiscard]] Time now() const { return state_.now; }
  [[nodiscard]] bool is_up() const { return state_.up; }
  [[nodiscard]] LinkSpeed speed(unsigned node) const { return state_.lines[node].speed; }
  [[nodiscard]] const Line& line(unsigned node) const { return state_.lines[node]; }
  [[nodiscard]] const std::vector<FlowStep>& flow() const { return flow_; }
  [[nodiscard]] const std::vector<wire::MadBuffer>& sent(unsigned node) const {
    return nodes_[node]->sent;
  }
  [[nodiscard]] bool settled() const;
  // The longest that one end was going to DDR or there, and the other was not.
  [[nodiscard]] Duration longest_apart() const { return longest_apart_; }
  // The longest that one end swept and the other did not.
  [[nodiscard]] Duration longest_alone() const { return longest_alone_; }

  void keep_sent(bool keep) { keeps_sent_ = keep; }
  void keep_flow(bool keep) { keeps_flow_ = keep; }
  [[nodiscard]] State save() const;
  void load(const State& state);
  // Of the state as it is to the two ends: times are since now.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> digest() const;

 private:
  struct Node final : SerdesControl, NegotiationOutput {
    Node(World& w, unsigned n) : world(w), number(n) {}
    void set_line(LinkSpeed speed, LineUse use) override;
    void set_transmit(unsigned configuration) override;
    void set_receive(unsigned lane, unsigned configuration) override;
    LaneMeasurement measure(unsigned lane) override;
    void send(wire::MadBytes mad, Time now) override;
    void record(const TimelineEvent& event) override;

    World& world;
    unsigned number;
    std::unique_ptr<DdrNegotiation> negotiation;
    std::vector<wire::MadBuffer> sent;
  };

  [[nodiscard]] bool settings_work() const;
  [[nodiscard]] bool can_be_up() const;
  void retrain(unsigned by);
  void go_down(std::optional<unsigned> by);
  void come_up();
  void fly(unsigned to, const wire::MadBuffer& mad, std::size_t step);
  void watch();

  WorldOptions options_;
  Random random_;
  std::array<std::unique_ptr<Node>, 2> nodes_;
  std::array<std::function<bool(const Advertisement&)>, 2> dropped_;
  std::array<std::uint32_t, 2> next_first_id_{};
  std::vector<FlowStep> flow_;
  bool keeps_flow_ = true;
  bool keeps_sent_ = false;
  Duration longest_apart_{};
  Duration longest_alone_{};
  State state_;
};

}  // namespace weft::phy::test
