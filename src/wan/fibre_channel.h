// SPDX-License-Identifier: Apache-2.0
// A fibre that is a stream of bytes, as a link: trains the two ends, and says the stream's packets
// to a link::HalfLink.
//
//   opened ──training sets, until each end has heard its own number──▶ connected
//   the stream closes, is out of step or silent, or the other end trains anew: disconnected
//
// A line code that finds its way back (fibre_code.h) trains anew where it was lost, on the same
// stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "link/channel.h"
#include "wan/fibre_code.h"
#include "wan/stream_channel.h"

namespace weft::wan {

enum class FibreCounter : std::uint8_t {
  kConnections,
  kSent,
  kArrived,
  kUnconnected,
  kBadPackets,
  kOutOfStep,
  kSilences,
  kUnread,
  kLost,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(FibreCounter::kCount)>
    kFibreCounters{{
        {"fibre_connections", "times the two ends had found each other"},
        {"fibre_sent", "packets of both kinds sent into the fibre"},
        {"fibre_arrived", "packets of both kinds that the fibre brought"},
        {"fibre_unconnected", "packets of both kinds lost for want of a connection"},
        {"fibre_bad_packets", "packets of both kinds dropped: marked as bad, or of a false length"},
        {"fibre_out_of_step", "streams given up because what they bring makes no sense"},
        {"fibre_silences", "streams given up because nothing was heard"},
        {"fibre_unread", "streams given up because the other end talks and does not read"},
        {"fibre_lost", "connections lost because one end did not understand the line any more"},
    }};

using FibreCounters = CounterSet<FibreCounter, kFibreCounters>;

class FibreChannel final : public link::Channel, public StreamChannel {
 public:
  struct Options {
    FibreCodeKind code = FibreCodeKind::kSymbols;  // the same at both ends
    // What the port at this end offers (PortOptions::credit_format).
    std::optional<link::CreditFormat> format{};
    Duration training = 100ms;   // between two sets that nobody answers
    Duration heartbeat = 500ms;  // nothing was said for so long: a skip ordered set
    Duration silence = 3s;       // nothing was heard for so long: the other end is gone
    // Bytes that may wait for the stream, with which no packets are taken. What is said by itself,
    // training and flow control, may add as much again: whoever makes us say so much and takes
    // nothing is given up.
    std::size_t backlog = std::size_t{256} << 10;
  };
  explicit FibreChannel(const Options& options);

  // --- StreamChannel ---------------------------------------------------------------------------
  void opened(Time now) override;
  void closed(Time now) override;
  [[nodiscard]] bool is_open() const override { return open_; }
  [[nodiscard]] MutableBytes room() override;
  [[nodiscard]] bool arrived(std::size_t bytes, Time now) override;
  void out_of_step() override { counters_.add_in_turn(FibreCounter::kOutOfStep); }
  [[nodiscard]] Bytes pending() const override { return Bytes(out_).subspan(gone_); }
  void sent(std::size_t bytes, Time now) override;
  [[nodiscard]] bool run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

  [[nodiscard]] bool is_connected() const { return connected_; }
  [[nodiscard]] const FibreCounters& counters() const { return counters_; }
  // FibreCode::counters().
  [[nodiscard]] std::vector<CounterValue> line_counters() const { return code_->counters(); }

  // --- link::Channel ---------------------------------------------------------------------------
  void set_user(link::ChannelUser* user) override { user_ = user; }
  void seek(bool seek, Time now) override;
  [[nodiscard]] std::optional<link::CreditFormat> far_format() const override {
    return far_format_;
  }
  [[nodiscard]] bool ready() const override { return !connected_ || !full(); }
  void send(const link::Packet& packet, Time now) override;
  void send_flow_control(link::SignalBytes packet, Time now) override;
  [[nodiscard]] Duration round_trip() const override { return round_trip_; }

 private:
  // What the code reads, as of now.
  class Reader;

  [[nodiscard]] bool full() const { return out_.size() - gone_ >= options_.backlog; }
  [[nodiscard]] bool is_unread() const { return out_.size() - gone_ >= 2 * options_.backlog; }
  void next_training();
  void train(Time now);
  void say(std::uint16_t own, Time now);
  void hear(const TrainingSet& set, Time now);
  void disconnect(Time now);
  void lose(Time now);
  void take(const FibreRecord& record, Time now);

  const Options options_;
  const std::unique_ptr<FibreCode> code_;
  link::ChannelUser* user_ = nullptr;
  bool open_ = false;
  bool seeks_ = false;
  bool connected_ = false;
  std::uint16_t own_ = 0;   // of this training
  std::uint16_t peer_ = 0;  // the other end's; 0: not heard, or it does not look for anybody
  std::optional<link::CreditFormat> far_format_;
  Duration round_trip_{0};
  Time trained_at_{};  // the last set was said
  Time said_at_{};
  Time heard_at_{};
  bool was_full_ = false;
  std::vector<std::byte> out_;
  std::size_t gone_ = 0;  // of those
  std::vector<std::byte> in_;
  std::size_t filled_ = 0;
  FibreCounters counters_;
};

}  // namespace weft::wan
