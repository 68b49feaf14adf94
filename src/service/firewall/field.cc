// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/field.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/gid_prefix.h"
#include "base/gid_text.h"
#include "base/quantity.h"
#include "service/firewall/names.h"
#include "wire/cm_ip.h"

namespace weft::service::firewall {
namespace {

constexpr Range kMappedIpv4{{0, 0xFFFF'0000'0000}, {0, 0xFFFF'FFFF'FFFF}};
constexpr Range kTcp{Wide(6), Wide(6)};
constexpr Range kUdp{Wide(17), Wide(17)};
constexpr Range kIpv6Type{Wide(0x86DD), Wide(0x86DD)};
constexpr std::uint64_t k64 = ~std::uint64_t{0};

using enum Notation;

// Where a keyword implies nothing, its third and fourth column from the right are left out.
constexpr Keyword plain(std::string_view words, Field field, Notation notation, std::uint64_t most,
                        std::string_view meaning) {
  return {words, field, notation, most, Field::kCount, {}, meaning};
}

constexpr Keyword kKeywords[] = {
    plain("slid", Field::slid, number, 0xFFFF, "a LID"),
    plain("dlid", Field::dlid, number, 0xFFFF, "a LID"),
    plain("sl", Field::sl, number, 15, "a service level"),
    plain("vl", Field::vl, number, 15, "a virtual lane"),
    plain("sgid", Field::sgid, gid, 0, "a GID as fe80::2:c903:0:1dd0, or a prefix as fd00::/64"),
    plain("dgid", Field::dgid, gid, 0, "a GID as fe80::2:c903:0:1dd0, or a prefix as fd00::/64"),
    plain("pkey", Field::pkey, number, 0xFFFF, "a P_Key with its bit of membership"),
    plain("partition", Field::partition, number, 0x7FFF, "a P_Key without its bit of membership"),
    plain("opcode", Field::opcode, name, 0xFF, "an opcode"),
    plain("dqp", Field::dest_qp, number, 0xFFFFFF, "a queue pair number"),
    plain("sqp", Field::src_qp, number, 0xFFFFFF, "a queue pair number"),
    plain("qkey", Field::qkey, number, 0xFFFFFFFF, "a Q_Key"),
    plain("size", Field::size, size, 0xFFFF, "a number of bytes"),
    plain("message", Field::message, size, 0xFFFFFFFF, "a number of bytes"),
    plain("service", Field::service, service, k64, "a service ID, tcp:PORT or udp:PORT"),
    plain("cm message", Field::cm_message, name, 0xFFFF, "a message of the connection manager"),
    plain("mad class", Field::mad_class, name, 0xFF, "a management class"),
    plain("mad method", Field::mad_method, name, 0xFF, "a method"),
    plain("mad attribute", Field::mad_attribute, number, 0xFFFF, "an attribute ID"),
    plain("mad modifier", Field::mad_modifier, number, 0xFFFFFFFF, "an attribute modifier"),
    plain("traffic", Field::traffic, name, 0, "a sort of traffic"),
    plain("ct state", Field::state, name, 0, "a state"),
    plain("ct direction", Field::direction, name, 0, "a direction"),
    plain("ether type", Field::ether_type, name, 0xFFFF, "an EtherType"),
    plain("ether saddr", Field::ether_source, mac, 0, "an address as 02:57:4c:00:00:05"),
    plain("ether daddr", Field::ether_destination, mac, 0, "an address as 02:57:4c:00:00:05"),
    plain("vlan id", Field::vlan, number, 0xFFF, "a VLAN"),
    plain("ip saddr", Field::ip_source, ipv4, 0, "an address as 192.0.2.1 or 192.0.2.0/24"),
    plain("ip daddr", Field::ip_destination, ipv4, 0, "an address as 192.0.2.1 or 192.0.2.0/24"),
    plain("ip6 saddr", Field::ip_source, ipv6, 0, "an address as 2001:db8::1 or 2001:db8::/32"),
    plain("ip6 daddr", Field::ip_destination, ipv6, 0,
          "an address as 2001:db8::1 or 2001:db8::/32"),
    {"ip protocol", Field::protocol, name, 0xFF, Field::ip_source, kMappedIpv4, "a protocol"},
    {"ip6 nexthdr", Field::protocol, name, 0xFF, Field::ether_type, kIpv6Type, "a protocol"},
    plain("meta l4proto", Field::protocol, name, 0xFF, "a protocol"),
    {"tcp sport", Field::source_port, number, 0xFFFF, Field::protocol, kTcp, "a port"},
    {"tcp dport", Field::destination_port, number, 0xFFFF, Field::protocol, kTcp, "a port"},
    {"udp sport", Field::source_port, number, 0xFFFF, Field::protocol, kUdp, "a port"},
    {"udp dport", Field::destination_port, number, 0xFFFF, Field::protocol, kUdp, "a port"},
    plain("th sport", Field::source_port, number, 0xFFFF, "a port"),
    plain("th dport", Field::destination_port, number, 0xFFFF, "a port"),
    plain("fragment", Field::fragment, name, 0, "yes or no"),
};

Wide mask_low(Wide value, unsigned bits, bool set) {
  // Of the 128 bits, those after the first `bits` all 0 or all 1.
  const std::uint64_t high = bits >= 64 ? 0 : k64 >> bits;
  const std::uint64_t low = bits >= 128 ? 0 : (bits <= 64 ? k64 : k64 >> (bits - 64));
  return set ? Wide{value.high | high, value.low | low}
             : Wide{value.high & ~high, value.low & ~low};
}

std::optional<Range> prefix(std::string_view text, std::string_view before, unsigned most) {
  const std::size_t slash = text.find('/');
  const auto address = parse_gid(std::string(before) + std::string(text.substr(0, slash)));
  if (!address) return std::nullopt;
  unsigned bits = most;
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || end != digits.data() + digits.size() || bits > most)
      return std::nullopt;
  }
  bits += 128 - most;
  const Wide value(*address);
  if (mask_low(value, bits, false) != value) return std::nullopt;  // bits beyond the prefix
  return Range{value, mask_low(value, bits, true)};
}

std::optional<Range> one(std::optional<std::uint64_t> value, std::uint64_t most) {
  if (!value || *value > most) return std::nullopt;
  return Range{Wide(*value), Wide(*value)};
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (const auto plain_number = parse_integer(text)) return plain_number;
  return parse_quantity(text, kSizeUnits);
}

std::optional<std::uint64_t> parse_mac(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  std::uint64_t out = 0;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    unsigned octet = 0;
    const char* const digits = text.data() + at;
    const auto [end, error] = std::from_chars(digits, digits + 2, octet, 16);
    if (error != std::errc{} || end != digits + 2) return std::nullopt;
    if (at + 2 < text.size() && text[at + 2] != ':') return std::nullopt;
    out = out << 8 | octet;
  }
  return out;
}

// A number, or a port of TCP or UDP as rdma_cm makes a service ID of it.
std::optional<std::uint64_t> parse_service(std::string_view text) {
  const bool tcp = text.starts_with("tcp:");
  if (!tcp && !text.starts_with("udp:")) return parse_integer(text);
  const auto port = parse_integer(text.substr(4));
  if (!port || *port > 0xFFFF) return std::nullopt;
  const auto space = tcp ? wire::PortSpace::kTcp : wire::PortSpace::kUdp;
  return wire::ip_service_id(space, static_cast<std::uint16_t>(*port)).value();
}

std::optional<Range> parse_one(const Keyword& keyword, std::string_view text) {
  switch (keyword.notation) {
    case number:
      return one(parse_integer(text), keyword.most);
    case size:
      return one(parse_size(text), keyword.most);
    case name:
      return keyword.most == 0 ? std::nullopt : one(parse_integer(text), keyword.most);
    case gid:
      return prefix(text, "", 128);
    case ipv4:
      return prefix(text, "::ffff:", 32);
    case ipv6: {
      const auto range = prefix(text, "", 128);
      // An IPv4 address in IPv6's clothes would match what "ip" is for.
      return range && intersection({*range}, {kMappedIpv4}).empty() ? range : std::nullopt;
    }
    case mac:
      return one(parse_mac(text), k64);
    case service:
      return one(parse_service(text), keyword.most);
  }
  return std::nullopt;
}

std::string expectation(const Keyword& keyword) {
  std::string out = fmt::format("want {}", keyword.meaning);
  if (keyword.notation == name) {
    out += ": " + list_names(keyword.field);
    if (keyword.most != 0) out += fmt::format(", or a number up to {:#x}", keyword.most);
  } else if (keyword.most != 0 && keyword.most != k64) {
    out += fmt::format(", from 0 to {}", keyword.most > 0xFF ? fmt::format("{:#x}", keyword.most)
                                                             : std::to_string(keyword.most));
  }
  return out + "; or a range of them, as LOW-HIGH";
}

}  // namespace

std::span<const Keyword> keywords() {
  return kKeywords;
}

const Keyword* keyword_of(std::string_view words) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.words == words) return &keyword;
  }
  return nullptr;
}

Ranges universe(const Keyword& keyword) {
  switch (keyword.notation) {
    case gid:
      return {{{0, 0}, {k64, k64}}};
    case ipv6:
      return complement({kMappedIpv4}, {{0, 0}, {k64, k64}});
    case ipv4:
      return {kMappedIpv4};
    case mac:
      return {{Wide(0), Wide(0xFFFF'FFFF'FFFF)}};
    case name:
      return {{Wide(0), Wide(keyword.most == 0 ? 0xFF : keyword.most)}};
    default:
      return {{Wide(0), Wide(keyword.most)}};
  }
}

Expected<Ranges> parse_values(const Keyword& keyword, std::string_view text) {
  if (keyword.notation == name) {
    if (auto named = named_values(keyword.field, text)) return *named;
  }
  if (const auto whole = parse_one(keyword, text)) return Ranges{*whole};
  // No notation has a '-' of its own but names, which were tried as a whole.
  const std::size_t dash = text.find('-');
  if (dash != text.npos) {
    const auto low = parse_one(keyword, text.substr(0, dash));
    const auto high = parse_one(keyword, text.substr(dash + 1));
    if (low && high && low->low == low->high && high->low == high->high) {
      if (low->low <= high->low) return Ranges{{low->low, high->low}};
      return fail(std::errc::invalid_argument, "the range ends before it begins");
    }
  }
  return fail(std::errc::invalid_argument, expectation(keyword));
}

}  // namespace weft::service::firewall
