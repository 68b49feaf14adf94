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
#include "phy/ddr_link/cable_training.h"
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
  Duration delay = 10us;       // of a MAD, and of a signal, one way
  double loss = 0;             // of MADs, from 0 to 1
  std::uint64_t seed = 1;
};

// Sees the MADs as they are sent, also those that are lost.
class DdrLinkTap {
 public:
  virtual ~DdrLinkTap() = default;
  virtual void sent(unsigned from, wire::MadBytes mad, Time now) = 0;
};

class DdrLink final : private CableOwner {
 public:
  // An error names the option.
  static Expected<std::unique_ptr<DdrLink>> make(DdrLinkOptions options);
  DdrLink(const DdrLink&) = delete;
  DdrLink& operator=(const DdrLink&) = delete;
  ~DdrLink() override;

  // From the next start() on: what a port may be, and LinkWidthEnabled, of which those that the
  // cable has not are left out; if none is left, what was enabled stays so.
  void set_mode(unsigned side, SpeedMode mode);
  void set_widths(unsigned side, std::uint8_t widths);
  // The cable is in and both ports poll: the negotiation begins anew.
  void start(Time now);
  void stop(Time now);
  [[nodiscard]] bool started() const { return started_; }
  // Does what is due.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // The speed at which the link is up, when both ports have ended their negotiation there.
  [[nodiscard]] std::optional<LinkSpeed> up() const;
  // LinkWidthActive of what is up.
  [[nodiscard]] std::optional<LinkWidth> width() const { return training_.port(0).width(); }
  // A port finds that what is up is to be trained again (Recovery). Nothing happens to what is not.
  void retrain(unsigned side, Time now);
  // Neither port has lost it for good.
  [[nodiscard]] bool recovering() const;
  // PortPhysicalState as a subnet manager is told: Polling while the port negotiates (clause 2.2).
  [[nodiscard]] wire::PortPhysicalState physical_state(unsigned side) const;
  [[nodiscard]] const LinkTraining& training(unsigned side) const { return training_.port(side); }

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

  static constexpr std::uint8_t kEveryWidth = 0xF;

  DdrLink(DdrLinkOptions options, ModelledCable cable);
  void step();
  void do_step();
  void note_up();
  void line_set(unsigned by);
  [[nodiscard]] bool ended() const;
  [[nodiscard]] bool carries(unsigned to, std::size_t lane) override {
    return cable_.carries(to, static_cast<std::uint32_t>(lane), lines_);
  }
  void trained(unsigned side, const TrainingStep& step, Time now) override;
  void record(const FlowStep& step);

  DdrLinkOptions options_;
  ModelledCable cable_;
  Random random_;
  std::array<std::unique_ptr<End>, 2> ends_;
  std::array<SerdesLine, 2> lines_;
  Time now_{};
  Time started_at_{};
  bool started_ = false;
  CableTraining training_;
  std::array<std::uint8_t, 2> widths_enabled_{kEveryWidth, kEveryWidth};
  std::array<std::optional<LinkWidth>, 2> sdr_width_;  // as which ports have come up at SDR
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
