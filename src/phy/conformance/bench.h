// SPDX-License-Identifier: Apache-2.0
// Two ports and the cable between them, in virtual time, and a record of all that goes between
// them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "phy/conformance/exchange.h"
#include "phy/conformance/port.h"

namespace weft::phy::conformance {

struct BenchOptions {
  std::uint32_t lanes = 4;
  // What a node receives in the sweep with these configurations. Null: all of them work, later ones
  // better.
  std::function<LaneMeasurement(unsigned receiver, std::uint32_t transmit, std::uint32_t receive)>
      quality{};
  // What is lost of what a node sends. Null: nothing.
  std::function<bool(unsigned from, const SeenMad& mad)> lost{};
  bool trains_at_ddr = true;
  Duration delay = 10us;    // of a MAD
  Duration train = 2ms;     // from when both ports train until the link is up
  Duration notice = 100us;  // until a port notices that the other one has left
};

class Bench {
 public:
  using Make = std::function<std::unique_ptr<Port>(SerdesControl& serdes, PortOutput& output)>;

  // A port at each end, from time 0 on.
  Bench(BenchOptions options, const std::array<Make, 2>& ports);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Until `end`, or until a port has done more than one that keeps to the protocol ever does.
  void run_until(Time end);
  // What was seen until then: silence belongs to an exchange too.
  [[nodiscard]] Exchange exchange() const;

 private:
  class End;
  struct Flight {
    Time at;
    unsigned to = 0;
    wire::MadBuffer mad;
    std::size_t index = 0;  // of the observation
  };
  struct Notice {
    Time at;
    unsigned to = 0;
    std::optional<LinkSpeed> up;  // nothing: down
  };
  struct Line {
    LinkSpeed speed = LinkSpeed::kSdr;
    LineUse use = LineUse::kTrain;
    std::uint32_t transmit = 0;
    std::vector<std::uint32_t> receive;
  };

  [[nodiscard]] std::optional<Time> next() const;
  void step();
  void line_set(unsigned by);
  [[nodiscard]] LaneMeasurement measure(unsigned node, unsigned lane) const;
  Observation& note(Observation::Kind kind, unsigned node);
  void ask();  // what the ports answer a subnet manager

  BenchOptions options_;
  Time now_{};
  std::uint64_t steps_ = 0;
  bool up_ = false;
  std::optional<Time> comes_up_;
  std::vector<Flight> flights_;
  std::vector<Notice> notices_;
  std::array<Line, 2> lines_;
  std::array<std::unique_ptr<End>, 2> ends_;
  Exchange exchange_;
};

}  // namespace weft::phy::conformance
