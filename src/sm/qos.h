// SPDX-License-Identifier: Apache-2.0
// Quality of service: which lanes service levels travel on, and how lanes share a link.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "wire/sm/tables.h"

namespace weft::sm {

// Of one kind of port. The defaults are OpenSM's.
struct QosProfile {
  std::uint8_t max_vls = 15;    // data lanes that it uses at most: 1 to 15
  std::uint8_t high_limit = 0;  // VLHighLimit, IBA 7.6.9
  std::vector<wire::VlArbitrationBlock::Entry> high = usual_high();
  std::vector<wire::VlArbitrationBlock::Entry> low = usual_low();
  wire::SlToVl sl_to_vl = usual_lanes();  // VL 15 drops the service level

  [[nodiscard]] static std::vector<wire::VlArbitrationBlock::Entry> usual_high();
  [[nodiscard]] static std::vector<wire::VlArbitrationBlock::Entry> usual_low();
  [[nodiscard]] static wire::SlToVl usual_lanes();
  friend bool operator==(const QosProfile&, const QosProfile&) = default;
};

struct Qos {
  // Of the options of OpenSM that begin with "qos_", one in a line. Other options of such a file
  // are not read, which `notes` says. Errors: the first line that cannot be understood, and what
  // would be right; `name` is what they call the file.
  [[nodiscard]] static Expected<Qos> parse(std::string_view text, const std::string& name);

  bool on = true;  // "qos FALSE": nothing of it is put into effect
  QosProfile adapters{};
  QosProfile routers{};
  QosProfile switch_port0{};
  QosProfile switch_ports{};
  std::vector<std::string> notes{};
};

}  // namespace weft::sm
