// SPDX-License-Identifier: Apache-2.0
#include "cli/proc_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

namespace weft::cli {
namespace {

// 128 bytes for each of 65,535 sockets in /proc/net/udp fit in it.
constexpr std::size_t kProcFilesMostRead = 16u << 20;
constexpr std::string_view kBlank = " \t\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::uint16_t> parse_port(std::string_view text, int base = 10) {
  text = trimmed(text);
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<PortRange> parse_range(std::string_view text, std::string_view separators) {
  text = trimmed(text);
  const std::size_t split = text.find_first_of(separators);
  const auto first = parse_port(text.substr(0, split));
  const auto last = split == std::string_view::npos ? first : parse_port(text.substr(split + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return PortRange{*first, *last};
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  for (std::array<char, 8192> block{}; file && text.size() < kProcFilesMostRead;) {
    file.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<PortRange> parse_port_pair(std::string_view text) {
  return parse_range(text, kBlank);
}

std::vector<PortRange> parse_port_list(std::string_view text) {
  std::vector<PortRange> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const auto range = parse_range(text.substr(0, comma), "-")) out.push_back(*range);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

std::vector<std::uint16_t> parse_used_ports(std::string_view proc_net_udp) {
  std::vector<std::uint16_t> out;
  while (!proc_net_udp.empty()) {
    const std::size_t end = proc_net_udp.find('\n');
    std::string_view line = trimmed(proc_net_udp.substr(0, end));
    proc_net_udp =
        end == std::string_view::npos ? std::string_view{} : proc_net_udp.substr(end + 1);
    // "  12: 0100007F:C000 00000000:0000 07 ...": the slot, then the local address and port.
    const std::size_t slot = line.find(": ");
    if (slot == std::string_view::npos) continue;
    line = line.substr(slot + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (const auto port = parse_port(line.substr(colon + 1, 4), 16)) out.push_back(*port);
  }
  return out;
}

std::size_t count_shared(const PortRange& range, const PortRange& local,
                         const std::vector<PortRange>& reserved) {
  const std::uint32_t first = std::max(range.first, local.first);
  const std::uint32_t last = std::min(range.last, local.last);
  std::size_t shared = 0;
  for (std::uint32_t port = first; port <= last; ++port) {
    const bool kept = std::any_of(reserved.begin(), reserved.end(),
                                  [&](const PortRange& each) { return each.contains(port); });
    shared += kept ? 0 : 1;
  }
  return shared;
}

}  // namespace weft::cli
