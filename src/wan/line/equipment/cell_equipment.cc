// SPDX-License-Identifier: Apache-2.0
// What stands between lines of cells.
#include <array>
#include <charconv>
#include <cstddef>
#include <deque>

#include "wan/line/atm/cell_switch.h"
#include "wan/line/atm/switch_calls.h"
#include "wan/line/equipment/cell_line.h"
#include "wan/line/equipment/equipment_parts.h"
#include "wan/line/equipment/foreign_cells.h"

namespace weft::wan {
namespace {

using atm::CellRun;
using atm::Channel;
using atm::kCellSize;

// The ends of two lines of cells, with something between them.
class BetweenCells : public LineEquipment {
 public:
  // False: there is no such line.
  [[nodiscard]] bool open(std::string_view line) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      ports_[i].of = this;
      ports_[i].number = i;
      lines_[i] = make_cell_line(line, ports_[i], ports_[i]);
    }
    return lines_[0] != nullptr;
  }

  void pass(From from, MutableBytes octets, Time now) final {
    const auto first = static_cast<std::size_t>(from);
    for (const auto& line : lines_)
      line->session().advance(now);
    advance(now);
    pass_in_pieces(octets, lines_[first]->in(), lines_[1 - first]->out(), [] {});
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out;
    for (const auto& line : lines_)
      accumulate(out, line->counters());
    return out;
  }

 protected:
  // What CellSink and CellFeed have of a port: 0, towards the first end, or 1.
  virtual void take_cells(std::size_t port, const CellRun& run) = 0;
  [[nodiscard]] virtual std::size_t put_cells(std::size_t port, MutableBytes cells) = 0;
  virtual void advance(Time now) = 0;
  [[nodiscard]] bool is_up(std::size_t port) const { return lines_[port]->session().up(); }

 private:
  struct Port final : atm::CellFeed, atm::CellSink {
    [[nodiscard]] std::size_t put_cells(MutableBytes cells) override {
      return of->put_cells(number, cells);
    }
    void take_cells(const CellRun& run) override { of->take_cells(number, run); }
    BetweenCells* of = nullptr;
    std::size_t number = 0;
  };

  std::array<Port, 2> ports_;
  std::array<std::unique_ptr<Line>, 2> lines_;
};

// --- a switch ----------------------------------------------------------------------------------

class CellSwitchPair final : public BetweenCells {
 public:
  CellSwitchPair() : calls_(cells_, {}) { calls_.set_unknown_elsewhere(true); }

  [[nodiscard]] bool connect(const Channel& first, const Channel& second) {
    return cells_.connect({0, first}, {1, second});
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = BetweenCells::counters();
    accumulate(out, cells_.counters().snapshot());
    for (std::size_t port = 0; port < cells_.ports(); ++port) {
      accumulate(out, calls_.end(port).counters().snapshot());
      accumulate(out, calls_.end(port).link_counters().snapshot());
    }
    return out;
  }

 private:
  void take_cells(std::size_t port, const CellRun& run) override {
    if (run.header.channel == atm::kSignalling) {
      calls_.take(port, run, now_);
    } else {
      cells_.take(port, run);
    }
  }
  std::size_t put_cells(std::size_t port, MutableBytes cells) override {
    const std::size_t count = calls_.put_cells(port, cells);
    return count + cells_.put_cells(port, cells.subspan(count * kCellSize));
  }
  void advance(Time now) override {
    now_ = now;
    for (std::size_t port = 0; port < cells_.ports(); ++port)
      cells_.set_cut(port, !is_up(port));
    cells_.advance(now);
    calls_.advance(now);
  }

  Time now_{};
  atm::CellSwitch cells_{{.ports = 2}};
  atm::SwitchCalls calls_;
};

// --- a multiplexer -----------------------------------------------------------------------------

enum class MuxCounter : std::uint8_t { kPassed, kDroppedFull, kStrayForeign, kCount };

constexpr std::array<CounterInfo, static_cast<std::size_t>(MuxCounter::kCount)> kMuxCounters{{
    {"mux_passed", "cells put into the queue of the other side"},
    {"mux_dropped_full", "cells dropped: that queue was full"},
    {"mux_stray_foreign", "cells of the host's channel that came from the side where it is"},
}};

// The cells of its host go before those that pass.
class CellMux final : public BetweenCells {
 public:
  // The host talks to whoever is behind `towards`.
  CellMux(From towards, const Channel& channel, std::uint64_t bytes_per_s)
      : trunk_(towards == From::kSecond ? 1 : 0), host_(channel, bytes_per_s) {}

  [[nodiscard]] std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> out = BetweenCells::counters();
    accumulate(out, counters_.snapshot());
    accumulate(out, host_.counters().snapshot());
    return out;
  }

 private:
  static constexpr std::size_t kMostQueued = 1024;
  using Cell = std::array<std::byte, kCellSize>;

  void take_cells(std::size_t port, const CellRun& run) override {
    if (run.header.channel == host_.channel()) {
      if (port == trunk_) {
        host_.take(run);
      } else {
        counters_.add_in_turn(MuxCounter::kStrayForeign, run.count);
      }
      return;
    }
    std::deque<Cell>& queue = queues_[1 - port];
    for (std::size_t i = 0; i < run.count; ++i) {
      if (queue.size() == kMostQueued) {
        counters_.add_in_turn(MuxCounter::kDroppedFull, run.count - i);
        return;
      }
      Cell& cell = queue.emplace_back();
      atm::write_header(run.header, cell);
      std::ranges::copy(run.payload(i), cell.begin() + atm::kHeaderSize);
      counters_.add_in_turn(MuxCounter::kPassed);
    }
  }
  std::size_t put_cells(std::size_t port, MutableBytes cells) override {
    std::size_t count = port == trunk_ ? host_.put_cells(cells) : 0;
    std::deque<Cell>& queue = queues_[port];
    for (; !queue.empty() && cells.size() >= (count + 1) * kCellSize; ++count) {
      std::ranges::copy(queue.front(), cells.subspan(count * kCellSize).begin());
      queue.pop_front();
    }
    return count;
  }
  // There is nobody to talk to before the line is there.
  void advance(Time now) override {
    if (is_up(trunk_)) host_.advance(now);
  }

  const std::size_t trunk_;
  ForeignCells host_;
  std::array<std::deque<Cell>, 2> queues_;
  CounterSet<MuxCounter, kMuxCounters> counters_;
};

// --- words -------------------------------------------------------------------------------------

// "1/100".
std::optional<Channel> read_channel(std::string_view text) {
  Channel channel;
  const char* const end = text.data() + text.size();
  const auto vpi = std::from_chars(text.data(), end, channel.vpi);
  if (vpi.ec != std::errc{} || vpi.ptr == end || *vpi.ptr != '/') return std::nullopt;
  const auto vci = std::from_chars(vpi.ptr + 1, end, channel.vci);
  if (vci.ec != std::errc{} || vci.ptr != end || channel.vci < atm::kFirstUserVci) {
    return std::nullopt;
  }
  return channel;
}

constexpr std::string_view kLines = "says what the line is: cells, stm1, stm4, stm16 or stm64";

}  // namespace

MadeEquipment make_cell_switch(const EquipmentWord& word) {
  auto made = std::make_unique<CellSwitchPair>();
  if (!made->open(word.line)) return word.wrong(kLines);
  if (!word.unknown_setting({"connect"}).empty()) {
    return word.wrong("a switch has no other setting than connect=1/100-2/200");
  }
  for (const auto& [name, value] : word.settings) {
    const std::size_t dash = value.find('-');
    const auto first = read_channel(value.substr(0, dash));
    const auto second = read_channel(dash == std::string_view::npos ? "" : value.substr(dash + 1));
    if (!first || !second || !made->connect(*first, *second)) {
      return word.wrong(
          "connect is a channel of the first end and one of the second, VPI/VCI from VCI 32 on, "
          "each once, as in connect=1/100-2/200");
    }
  }
  return made;
}

MadeEquipment make_cell_mux(const EquipmentWord& word) {
  const auto channel = word.settings.size() == 1 && word.settings.front().first == "channel"
                           ? read_channel(word.settings.front().second)
                           : std::nullopt;
  if (!channel || word.foreign_bytes_per_s == 0) {
    return word.wrong(
        "a multiplexer has a host, and that a channel from VCI 32 on, as in "
        "cell-mux:stm1:channel=1/100:foreign=10Mb/s");
  }
  auto made = std::make_unique<CellMux>(word.foreign_towards, *channel, word.foreign_bytes_per_s);
  if (!made->open(word.line)) return word.wrong(kLines);
  return made;
}

}  // namespace weft::wan
