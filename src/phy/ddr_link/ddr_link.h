// SPDX-License-Identifier: Apache-2.0
// A link whose two ports raise it from SDR to DDR, over a modelled cable. It is told when both look
// for each other and when they no longer do; it says when the link is up, and at which speed.
//
// All that happens has its time, and happens at that time however late run() is: the same seed
// gives the same negotiation on a busy machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "phy/ddr_link/line_errors.h"
#include "phy/ddr_link/modelled_cable.h"
#include "phy/negotiation/ddr_negotiation.h"
#include "phy/negotiation/flow_text.h"
#include "wire/mad.h"

namespace weft::phy {

// How many steps of a negotiation are kept to be looked at; those that come later are not.
inline constexpr std::size_t kMostFlowSteps = 4096;

struct DdrLinkOptions {
  // The numbers of configurations are those of `settings`, and the lanes those of `channel`.
  std::array<NegotiationOptions, 2> ends;
  std::array<SerdesSettings, 2> settings;
  ChannelDescription channel;  // from end 0 to end 1
  Duration delay = 10us;       // of a MAD, one way
  Duration train = 2ms;        // from when both ports train until the link is up
  Duration recover = 1ms;      // to train again what was up
  Duration notice = 100us;     // until a port notices that the other one has left
  double loss = 0;             // of MADs, from 0 to 1
  std::uint64_t seed = 1;
};

// Sees the MADs as they are sent, also those that are lost.
class DdrLinkTap {
 public:
  virtual ~DdrLinkTap() = default;
  virtual void sent(unsigned from, wire::MadBytes mad, Time now) = 0;
};

class DdrLink {
 public:
  // An error names the option.
  static Expected<std::unique_ptr<DdrLink>> make(DdrLinkOptions options);
  DdrLink(const DdrLink&) = delete;
  DdrLink& operator=(const DdrLink&) = delete;
  ~DdrLink();

  // From the next start() on.
  void set_mode(unsigned side, SpeedMode mode);
  // The cable is in and both ports poll: the negotiation begins anew.
  void start(Time now);
  void stop(Time now);
  [[nodiscard]] bool started() const { return started_; }
  // Does what is due.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // The speed at which the link is up, when both ports have ended their negotiation there.
  [[nodiscard]] std::optional<LinkSpeed> up() const;
  // Trains again what is up, with what is set; nothing happens to what is not.
  void retrain(Time now);
  [[nodiscard]] bool recovering() const { return recovered_at_.has_value(); }

  // What arrives wrong at port `to` while up() says that the link is.
  [[nodiscard]] bool has_errors(unsigned to) const { return errors_[to].any(); }
  // A packet of so many symbols is sent to it; see LineErrors.
  std::uint64_t wrong_symbols(unsigned to, std::size_t symbols, Time now) {
    return errors_[to].packet(symbols, now);
  }
  [[nodiscard]] std::uint64_t symbol_errors(unsigned to, Time now) const {
    return errors_[to].count(now);
  }
  // Of the worst lane to port `to`, with what both are set to.
  [[nodiscard]] double bit_error_rate(unsigned to) { return cable_.bit_error_rate(to, lines_); }

  [[nodiscard]] const DdrNegotiation& end(unsigned side) const;
  [[nodiscard]] const SerdesLine& line(unsigned side) const { return lines_[side]; }
  [[nodiscard]] ModelledCable& cable() { return cable_; }
  // Since start(), which was at started_at().
  [[nodiscard]] std::span<const FlowStep> flow() const { return flow_; }
  [[nodiscard]] Time started_at() const { return started_at_; }
  // Steps that came when there was no room.
  [[nodiscard]] std::uint64_t flow_lost() const { return flow_lost_; }
  // One at a time, null for none; it outlives the link.
  void set_tap(DdrLinkTap* tap) { tap_ = tap; }

 private:
  class End;
  struct Flight {
    Time at;
    unsigned to = 0;
    wire::MadBuffer mad;
    std::size_t step = 0;  // of flow_
  };
  struct Notice {
    Time at;
    unsigned to = 0;
    std::optional<LinkSpeed> up;  // nothing: down
  };

  DdrLink(DdrLinkOptions options, ModelledCable cable);
  void step();
  void do_step();
  void note_up();
  void line_set(unsigned by);
  [[nodiscard]] bool can_come_up();
  void come_up();
  void go_down(unsigned by);
  void end_recovery();
  void record(const FlowStep& step);

  DdrLinkOptions options_;
  ModelledCable cable_;
  Random random_;
  std::array<std::unique_ptr<End>, 2> ends_;
  std::array<SerdesLine, 2> lines_;
  Time now_{};
  Time started_at_{};
  bool started_ = false;
  bool up_ = false;
  std::optional<Time> comes_up_;
  std::optional<Time> recovered_at_;  // in recovery until then
  bool errors_run_ = false;
  Random error_seeds_;
  std::array<LineErrors, 2> errors_;  // by the port at which they arrive
  std::vector<Flight> flights_;
  std::vector<Notice> notices_;
  std::vector<FlowStep> flow_;
  std::uint64_t flow_lost_ = 0;
  DdrLinkTap* tap_ = nullptr;
};

}  // namespace weft::phy
