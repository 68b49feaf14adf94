// SPDX-License-Identifier: Apache-2.0
// What `weft doctor` reads under /proc, taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // included

  [[nodiscard]] bool contains(std::uint32_t port) const { return port >= first && port <= last; }
  [[nodiscard]] std::size_t size() const { return std::size_t{last} - first + 1; }
};

// At most 16 MiB of a file; nothing when it cannot be read.
std::optional<std::string> read_text(const std::string& path);

std::optional<std::uint64_t> parse_number(std::string_view text);            // "212992\n"
std::optional<PortRange> parse_port_pair(std::string_view text);             // "32768\t60999\n"
std::vector<PortRange> parse_port_list(std::string_view text);               // "80,4791-4800\n"
std::vector<std::uint16_t> parse_used_ports(std::string_view proc_net_udp);  // local ports

// Ports of `range` that are also in `local` and not `reserved`.
std::size_t count_shared(const PortRange& range, const PortRange& local,
                         const std::vector<PortRange>& reserved);

}  // namespace weft::cli
