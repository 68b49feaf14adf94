// SPDX-License-Identifier: Apache-2.0
// An exchange as one of its nodes lived it: negotiation after negotiation, copies of a message put
// together to transmissions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "phy/conformance/exchange.h"

namespace weft::phy::conformance {

// The parameters of the specification's clause 2.2, by default as it has them.
struct Rules {
  std::uint32_t burst_len = 4;
  std::uint32_t max_retry = 4;
  Duration xmit_time_out = 1ms;
  Duration ddr_time_out = 400ms;
  // By how much times may be off; the clock of a capture is not that of the port.
  Duration slack{};

  // Until all requests and as many answers were sent: by then a node goes on.
  [[nodiscard]] Duration exchange_time() const {
    return (2 * std::int64_t{max_retry} + 2) * xmit_time_out;
  }
};

struct Transmission {
  SeenMad mad{};
  Time first{};  // copy
  Time last{};
  std::uint32_t copies = 0;
  std::optional<Time> arrived{};  // the first copy that did
};

// The larger of what both said (clause 2.1.3, table 2).
struct AgreedSweep {
  std::uint32_t iterations = 0;
  Duration iteration{};
  [[nodiscard]] Duration whole() const { return iterations * iteration; }
};

// One negotiation of `node`, from when its link came up.
struct Episode {
  const Exchange* exchange = nullptr;
  Rules rules{};
  unsigned node = 0;
  Time begin{};
  Time end{};
  bool first = false;                 // of the exchange
  std::vector<Transmission> own{};    // that the node sent
  std::vector<Transmission> peer{};   // and the other one, whether they arrived or not
  std::vector<Observation> events{};  // of the node, no messages

  [[nodiscard]] bool sees_lines() const { return exchange->lines; }
  [[nodiscard]] std::vector<const Transmission*> said(Speech speech) const;
  // Those that arrived, and that can be used.
  [[nodiscard]] std::vector<const Transmission*> heard(Speech speech) const;
  // The first of these or those, or null.
  [[nodiscard]] const Transmission* said_first(Speech speech) const;
  [[nodiscard]] const Transmission* heard_first(Speech speech) const;
  // Capabilities or results, whether advertised or in an acknowledgement; null: none.
  [[nodiscard]] const Transmission* told(bool results) const;
  [[nodiscard]] const Transmission* learnt(bool results) const;

  // Both have said that they are capable of DDR.
  [[nodiscard]] bool both_capable() const;
  [[nodiscard]] bool skips_sweep() const;
  // Nothing: they do not sweep, or not both have said what for.
  [[nodiscard]] std::optional<AgreedSweep> agreed_sweep() const;

  // The first such event from `from` on, or null. Of a line also later than `from`.
  [[nodiscard]] const Observation* event(Observation::Kind kind, Time from) const;
  [[nodiscard]] const Observation* line(LinkSpeed speed, LineUse use, Time from) const;
  [[nodiscard]] const Observation* link_up(LinkSpeed speed, Time from) const;
  [[nodiscard]] const Observation* sweep() const;                         // its begin
  [[nodiscard]] const Observation* after(const Observation& line) const;  // the next kLine
  // Neither did the node change its lines after `from`, nor did it hear that the link went down,
  // until `until`; and the exchange was seen so long.
  [[nodiscard]] bool undisturbed(Time from, Time until) const;
  // The node's part is over at `time`: it has left for DDR, or ended.
  [[nodiscard]] bool has_left(Time time) const;
  // "at 2.010 ms", since the exchange began.
  [[nodiscard]] std::string at(Time time) const;
};

[[nodiscard]] std::vector<Episode> episodes_of(const Exchange& exchange, unsigned node,
                                               const Rules& rules);

}  // namespace weft::phy::conformance
