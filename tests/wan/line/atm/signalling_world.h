// SPDX-License-Identifier: Apache-2.0
// Stations at the ports of a switch, by lines that lose cells.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cell_stage.h"
#include "wan/line/atm/station.h"
#include "wan/line/atm/switch_calls.h"

namespace weft::wan::atm {

inline Aesa station_address(std::size_t port) {
  Aesa aesa{};
  aesa[0] = std::byte{0x39};
  aesa[19] = static_cast<std::byte>(port + 1);
  return aesa;
}

struct KeptPackets final : PacketSink {
  void packet(Bytes bytes) override { packets.emplace_back(bytes.begin(), bytes.end()); }
  std::vector<Octets> packets;
};

// A port of the switch: what comes by its line, and what leaves by it.
struct SwitchLine final : CellSink, CellFeed {
  void take_cells(const CellRun& run) override {
    if (run.header.channel == kSignalling) {
      calls->take(port, run, *now);
    } else {
      cells->take(port, run);
    }
  }
  std::size_t put_cells(MutableBytes to) override {
    const std::size_t count = calls->put_cells(port, to);
    return count + cells->put_cells(port, to.subspan(count * kCellSize));
  }
  CellSwitch* cells = nullptr;
  SwitchCalls* calls = nullptr;
  const Time* now = nullptr;
  std::size_t port = 0;
};

class SignallingWorld {
 public:
  // Port 0 calls port 1, port 2 calls port 3, and so on.
  explicit SignallingWorld(std::size_t pairs = 1, std::uint64_t seed = 1,
                           const SwitchOptions& options = {})
      : cells([&] {
          SwitchOptions all = options;
          all.ports = 2 * pairs;
          return all;
        }()),
        calls(cells, {}),
        random_(seed) {
    for (std::size_t port = 0; port < 2 * pairs; ++port) {
      auto& end = ends.emplace_back(std::make_unique<End>());
      calls.add_station(station_address(port), port);
      end->line.cells = &cells;
      end->line.calls = &calls;
      end->line.now = &now;
      end->line.port = port;
      end->station = station(port);
    }
  }

  [[nodiscard]] std::unique_ptr<Station> station(std::size_t port) {
    StationOptions options;
    options.calls = port % 2 == 0;
    options.own = station_address(port);
    options.other = station_address(port ^ 1);
    options.oam.source = OamLoopback::of(static_cast<std::byte>(port + 1));
    options.signalling.sscop.first_connection = static_cast<std::uint8_t>(random_.next());
    return std::make_unique<Station>(options, ends[port]->out, ends[port]->in);
  }

  void run_for(Duration time, Duration step = 10ms) {
    for (const Time end = now + time; now < end; now += step)
      this->step();
  }

  void step() {
    cells.advance(now);
    calls.advance(now);
    for (const auto& end : ends)
      end->station->advance(now);
    for (const auto& end : ends) {
      Octets up(cells_in_step * kCellSize);
      end->station->fill(up);
      end->from_station.take(lossy(up));
    }
    for (const auto& end : ends) {
      Octets down(cells_in_step * kCellSize);
      end->to_station.fill(down);
      end->station->take(lossy(down));
    }
  }

  struct End {
    QueuedPackets out;
    KeptPackets in;
    SwitchLine line;
    CellDelineation from_station{line, true};
    CellSource to_station{{&line}, true};
    std::unique_ptr<Station> station;
  };

  Time now{};
  double loss = 0;  // of cells, on every line
  std::size_t cells_in_step = 60;
  CellSwitch cells;
  SwitchCalls calls;
  std::vector<std::unique_ptr<End>> ends;

 private:
  // A header with two wrong bits is as good as lost.
  Octets& lossy(Octets& line) {
    for (std::size_t at = 0; loss > 0 && at < line.size(); at += kCellSize) {
      if (random_.chance(loss)) line[at] ^= std::byte{0x81};
    }
    return line;
  }

  Random random_;
};

}  // namespace weft::wan::atm
