// SPDX-License-Identifier: Apache-2.0
// What `weft run` tells the drop-in libraries, by environment variables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "port/faults.h"
#include "port/udp/wire_rules.h"

namespace weft::host {

enum class Wire : std::uint8_t { kUdp, kBare, kRoce };
[[nodiscard]] std::string_view to_string(Wire wire);  // as --wire takes it

struct Config {
  Wire wire = Wire::kUdp;            // WEFT_WIRE=udp|bare|roce
  std::string interface;             // WEFT_INTERFACE=NAME; empty: every usable one
  std::string capture;               // WEFT_CAPTURE=FILE; empty: none
  bool stats = false;                // WEFT_STATS=0|1: counters on stderr at exit
  std::uint16_t first_port = 49152;  // WEFT_PORTS=FIRST-LAST
  std::uint16_t last_port = 65534;
  std::uint32_t socket_buffer = 4u << 20;         // WEFT_SOCKET_BUFFER=BYTES, asked for each way
  port::FaultConfig faults;                       // WEFT_FAULT=loss=1%,delay=2ms,...
  Duration keep_alive = 600s;                     // WEFT_KEEP_ALIVE=SECONDS; 0: for ever
  std::string node;                               // WEFT_NODE=NAME, of a lab; empty: none
  std::string lab;                                // WEFT_LAB=DIRECTORY, of the lab of `node`
  std::uint16_t cm_port = port::kManagementPort;  // WEFT_CM_PORT=PORT, of queue pair 1 on udp
};

// One row for each variable: what `weft run --help` and an error message show.
struct ConfigVariable {
  std::string_view name;
  std::string_view values;  // "udp | bare"
  std::string_view help;
};
const std::vector<ConfigVariable>& config_variables();

// Reads the configuration through `get` (std::getenv in programs). EINVAL with one line that names
// the variable, its value and the choices. An unknown WEFT_* variable is an error too when `names`
// lists the environment's names.
Expected<Config> read_config(const std::function<const char*(const char*)>& get,
                             const std::vector<std::string>& names = {});
// The same from this process's environment.
Expected<Config> read_config_from_environment();

}  // namespace weft::host
