// SPDX-License-Identifier: Apache-2.0
// Says what goes by: who says how much to whom, at what rate, and how long reliable connections
// take from here to their responder and back. It lets everything pass, sees every packet, and its
// memory is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/lru_map.h"
#include "service/monitor/space_saving.h"
#include "service/service.h"

namespace weft::service {

// Packets from one end to a queue pair of another. Ends are GIDs, or LIDs (end_of() of qp_map.h).
struct FlowName {
  Gid from{};
  Gid to{};
  Qpn dest_qp{};
  friend bool operator==(const FlowName&, const FlowName&) = default;
};

}  // namespace weft::service

template <>
struct std::hash<weft::service::FlowName> {
  std::size_t operator()(const weft::service::FlowName& flow) const noexcept {
    const std::uint64_t sum = std::hash<weft::Gid>{}(flow.from) * 0x9E37'79B9'7F4A'7C15;
    return (sum ^ std::hash<weft::Gid>{}(flow.to)) * 0x94D0'49BB'1331'11EB + flow.dest_qp.value();
  }
};

namespace weft::service {

enum class MonitorCounter : std::uint8_t {
  kConnections,
  kSamples,
  kUnpaired,
  kRepeated,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(MonitorCounter::kCount)>
    kMonitorCounters{{
        {"connections", "connections whose REQ and REP were seen"},
        {"latency_samples", "request packets whose acknowledgement was seen"},
        {"unpaired_acknowledgements", "acknowledgements of connections that were not seen made"},
        {"repeated_requests", "request packets that were seen again: no sample is taken of them"},
    }};

class Monitor final : public Service {
 public:
  struct Options {
    std::size_t flows = 1024;  // of which it counts
    std::size_t talkers = 256;
    std::size_t connections = 4096;  // of which it knows latencies; the one idle longest goes
    std::size_t outstanding = 64;    // request packets of a connection that await their answer
    Duration interval = 1s;          // over which rates are taken
  };
  explicit Monitor(const Options& options);

  struct Rate {
    std::uint64_t packets_per_s = 0;
    std::uint64_t bytes_per_s = 0;
  };
  // From a request packet here to its acknowledgement here: the way to the responder, its own time,
  // and the way back. Of packets that were sent once and acknowledged by their own PSN, so that
  // nothing is taken for something else. It is by the caller's `now`: a sample is too short by the
  // time for which the request had waited before it was shown here, and too long by that of its
  // acknowledgement.
  struct Latency {
    std::uint64_t samples = 0;
    Duration least{};
    Duration most{};
    Duration sum{};
    Duration last{};
    [[nodiscard]] Duration mean() const {
      return samples == 0 ? Duration{} : sum / static_cast<std::int64_t>(samples);
    }
  };

  [[nodiscard]] std::string_view name() const override { return "monitor"; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return next_; }
  [[nodiscard]] std::vector<CounterValue> counters() const override { return counters_.snapshot(); }

  [[nodiscard]] std::vector<SpaceSaving<FlowName>::Counter> top_flows(std::size_t most) const {
    return flows_.top(most);
  }
  [[nodiscard]] std::vector<SpaceSaving<Gid>::Counter> top_talkers(std::size_t most) const {
    return talkers_.top(most);
  }
  // Of the last whole interval.
  [[nodiscard]] Rate rate() const { return rate_; }
  // Of requests of one direction of a connection; nothing: it is not known, or has no samples.
  [[nodiscard]] std::optional<Latency> latency(const FlowName& requests) const;

 private:
  struct Outstanding {
    Psn psn{};
    Time at{};
    bool repeated = false;
  };
  struct Direction {
    FlowName answers{};  // the flow by which its acknowledgements come
    std::vector<Outstanding> outstanding;
    std::optional<Psn> newest;
    Latency latency{};
  };
  // A REQ that awaits its REP.
  struct Request {
    Gid from{};
    Gid to{};
    wire::CommId id{};
    friend bool operator==(const Request&, const Request&) = default;
  };
  struct RequestHash {
    std::size_t operator()(const Request& request) const noexcept {
      const std::uint64_t sum = std::hash<Gid>{}(request.from) * 0x9E37'79B9'7F4A'7C15;
      return (sum ^ std::hash<Gid>{}(request.to)) * 0x94D0'49BB'1331'11EB + request.id.value();
    }
  };
  void note_message(const Fields& fields, const FlowName& flow);
  void note_request(const Fields& fields, const FlowName& flow, Time now);
  void note_answer(const Fields& fields, const FlowName& flow, Time now);
  void pair(const FlowName& requests, const FlowName& answers);

  const Options options_;
  SpaceSaving<FlowName> flows_;
  SpaceSaving<Gid> talkers_;
  LruMap<Request, Qpn, RequestHash> requests_;
  LruMap<FlowName, Direction> directions_;  // by requests
  LruMap<FlowName, FlowName> by_answers_;   // requests, by the flow of their answers
  CounterSet<MonitorCounter, kMonitorCounters> counters_;
  std::uint64_t packets_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<Time> next_;
  Time began_{};
  Rate rate_{};
};

}  // namespace weft::service
