// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/llc_snap.h"
#include "wan/line/atm/station.h"
#include "wan/line/stack/line_parts.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

// The connection of a line that is not switched.
constexpr atm::Channel kPermanent{.vpi = 0, .vci = atm::kFirstUserVci};

atm::StationOptions station_options(const LineUse& use) {
  atm::StationOptions options{.ether_type = use.carried.ether_type.value_or(*kFrame.ether_type),
                              .limits = {.longest_payload = kLongestLinePacket + atm::kLlcSnapSize},
                              .channel = kPermanent};
  if (use.circuit) {
    options.channel.reset();
    options.own = use.circuit->own;
    options.other = use.circuit->other;
    options.calls = options.own < options.other;
    options.peak_rate = use.circuit->cells_per_s;
  }
  if (use.entropy == nullptr) return options;
  // Drawn, so that an end knows its own cells on a line that leads back, and so that whoever is
  // told of a signalling link that begins anew can tell it from the one before.
  options.oam.first_tag = static_cast<std::uint32_t>(use.entropy->draw());
  wire::store_be64(options.oam.source.data(), use.entropy->draw());
  wire::store_be64(options.oam.source.data() + 8, use.entropy->draw());
  options.signalling.sscop.first_connection = static_cast<std::uint8_t>(use.entropy->draw());
  return options;
}

class Aal5Line final : public Line {
 public:
  explicit Aal5Line(const LineUse& use) : station_(station_options(use), use.packets, use.sink) {}

  OctetSource& out() override { return station_; }
  OctetSink& in() override { return station_; }
  LineSession& session() override { return station_; }
  [[nodiscard]] std::size_t longest_packet() const override { return kLongestLinePacket; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return station_.all_counters();
  }

 private:
  atm::Station station_;
};

}  // namespace

std::unique_ptr<Line> make_aal5_line(const LineUse& use) {
  return std::make_unique<Aal5Line>(use);
}

}  // namespace weft::wan
