// SPDX-License-Identifier: Apache-2.0
// Keeps what goes by, in files that are used in turn, so that the newest packets are there however
// long it runs. It lets everything pass and sees every packet, as it came.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "service/service.h"

namespace weft::service {

// Where packets are kept: pcapng files, say (io/pcapng_writer.h).
class CaptureRing {
 public:
  virtual ~CaptureRing() = default;
  // The file of this number, from 0, begins anew: what was in it before is gone. False: it cannot
  // be written; nothing is kept until the next one.
  virtual bool begin(std::size_t file) = 0;
  // Of the file that was begun last; true: the packet is in it.
  virtual bool write(Bytes packet, const Arrival& arrival, Time at) = 0;
  // Whoever reads the file finds there what was written; false: some of it may be missing.
  virtual bool flush() { return true; }
};

enum class CaptureCounter : std::uint8_t { kKept, kKeptBytes, kFiles, kLost, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CaptureCounter::kCount)>
    kCaptureCounters{{
        {"kept", "packets handed to the file"},
        {"kept_bytes", "their bytes"},
        {"files", "files begun"},
        {"lost", "packets that could not be written, and those before that may not have been"},
    }};

class Capture final : public Service {
 public:
  struct Options {
    std::size_t files = 4;                               // at least 1
    std::uint64_t bytes_each = std::uint64_t{64} << 20;  // of packets; one more than that may be in
    Duration time_each{};                                // zero: as long as it takes to fill one
    Duration flush_after = 200ms;                        // the first packet that is not, at most
    // Which packets; empty: all.
    std::function<bool(const Fields&)> wanted{};
  };
  Capture(Options options, CaptureRing& ring) : options_(std::move(options)), ring_(ring) {}

  [[nodiscard]] std::string_view name() const override { return "capture"; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override {
    if (options_.wanted && !options_.wanted(packet.fields())) return Verdict::forward();
    const Bytes bytes = packet.bytes();
    if (!begun_ || full(now)) begin(now);
    // Also of those that are lost: the next file is tried when this one would have been full.
    in_file_ += bytes.size();
    if (!open_ || !ring_.write(bytes, packet.arrival(), now)) {
      counters_.add_in_turn(CaptureCounter::kLost, 1 + std::exchange(unflushed_, 0));
      return Verdict::forward();
    }
    if (unflushed_++ == 0 || !flush_at_) flush_at_ = now + options_.flush_after;
    counters_.add_in_turn(CaptureCounter::kKept);
    counters_.add_in_turn(CaptureCounter::kKeptBytes, bytes.size());
    return Verdict::forward();
  }
  void run(Time now) override {
    if (!flush_at_ || now < *flush_at_) return;
    flush_at_.reset();
    flush();
  }
  [[nodiscard]] std::optional<Time> deadline() const override { return flush_at_; }
  [[nodiscard]] std::vector<CounterValue> counters() const override { return counters_.snapshot(); }

 private:
  void flush() {
    const std::uint64_t unflushed = std::exchange(unflushed_, 0);
    if (!ring_.flush()) counters_.add_in_turn(CaptureCounter::kLost, unflushed);
  }
  [[nodiscard]] bool full(Time now) const {
    const bool late = options_.time_each != Duration{} && now - *begun_ >= options_.time_each;
    return late || in_file_ >= options_.bytes_each;
  }
  void begin(Time now) {
    if (begun_ && open_) flush();
    file_ = begun_ ? (file_ + 1) % options_.files : 0;
    begun_ = now;
    in_file_ = 0;
    open_ = ring_.begin(file_);
    if (open_) counters_.add_in_turn(CaptureCounter::kFiles);
  }

  const Options options_;
  CaptureRing& ring_;
  CounterSet<CaptureCounter, kCaptureCounters> counters_;
  std::optional<Time> begun_;
  std::size_t file_ = 0;
  std::uint64_t in_file_ = 0;
  bool open_ = false;
  std::uint64_t unflushed_ = 0;  // packets
  std::optional<Time> flush_at_;
};

}  // namespace weft::service
