// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_addresses.h"

#include <fmt/format.h>

#include <charconv>

namespace weft::fabric {
namespace {

// The whole of `text` as a number without a sign or leading zeros.
std::optional<unsigned> decimal_number(std::string_view text, unsigned most) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (error != std::errc{} || stop != end || padded || value > most) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Ipv4> parse_ipv4(std::string_view text) {
  std::uint32_t out = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    if ((part < 3) == (dot == std::string_view::npos)) return std::nullopt;
    const auto byte = decimal_number(text.substr(0, dot), 255);
    if (!byte) return std::nullopt;
    out = out << 8 | *byte;
    text.remove_prefix(part < 3 ? dot + 1 : text.size());
  }
  return Ipv4{out};
}

std::optional<Ipv4Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto base = parse_ipv4(text.substr(0, slash));
  const auto bits = decimal_number(text.substr(slash + 1), Ipv4Network::kLongest);
  if (!base || !bits || *bits < Ipv4Network::kShortest) return std::nullopt;
  // 0 is "this network", and from 224 on come groups and what is reserved.
  const unsigned class_byte = base->value() >> 24;
  if ((base->value() & ~0U >> *bits) != 0 || class_byte == 0 || class_byte >= 224) {
    return std::nullopt;
  }
  return Ipv4Network{.base = *base, .bits = static_cast<std::uint8_t>(*bits)};
}

std::string to_string(Ipv4 address) {
  const std::uint32_t value = address.value();
  return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255);
}

std::string to_string(const Ipv4Network& network) {
  return fmt::format("{}/{}", to_string(network.base), network.bits);
}

}  // namespace weft::fabric
