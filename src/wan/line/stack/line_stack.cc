// SPDX-License-Identifier: Apache-2.0
#include "wan/line/stack/line_stack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/overhead.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

constexpr std::string_view kBareFrame = "null";  // no layer of packets

// What puts packets into octets, and what of packets may be right inside of it, with blanks around
// the names; "null" is a frame itself.
struct MappingName {
  std::string_view name;
  std::string_view inside;
  std::uint8_t label;  // C2, by which SONET/SDH says that it is there
  bool scrambled;      // by 1 + x^43 in there, as a whole: ATM and GFP do that themselves
  std::unique_ptr<Line> (*make)(const LineUse&);
};
constexpr std::array<MappingName, 3> kMappings{{
    {"aal5", " null ipv6 ipv4 ", sonet::label::kAtm, false, make_aal5_line},
    {"gfp", " null ipv6 ipv4 mpls ethernet ", sonet::label::kGfp, false, make_gfp_line},
    {"ppp", " null ipv6 ipv4 mpls ", sonet::label::kPpp, true, make_ppp_line},
}};

// What carries octets, how fast, and whether it has packets of its own: frames of Ethernet.
struct FramingName {
  std::string_view name;
  std::uint64_t octets_per_s;
  bool ethernet;
  std::optional<sonet::Level> level;  // of SONET/SDH, which it is, or is in
};
constexpr std::uint64_t kStm1 = 19'440'000;
constexpr std::array<FramingName, 6> kFramings{{
    {"stm1", kStm1, false, sonet::Level::kStm1},
    {"stm4", 4 * kStm1, false, sonet::Level::kStm4},
    {"stm16", 16 * kStm1, false, sonet::Level::kStm16},
    {"stm64", 64 * kStm1, false, sonet::Level::kStm64},
    {"10gbase-r", 1'289'062'500, true, std::nullopt},  // 10.3125 Gbit/s
    {"10gbase-w", 64 * kStm1, true, sonet::Level::kStm64},
}};

const MappingName* mapping_of(std::string_view name) {
  const auto* const row = std::ranges::find(kMappings, name, &MappingName::name);
  return row == kMappings.end() ? nullptr : row;
}

const FramingName* framing_of(std::string_view name) {
  const auto* const row = std::ranges::find(kFramings, name, &FramingName::name);
  return row == kFramings.end() ? nullptr : row;
}

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (;;) {
    const std::size_t slash = text.find('/');
    names.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return names;
    text.remove_prefix(slash + 1);
  }
}

std::string names_of_mappings() {
  std::vector<std::string_view> names;
  for (const MappingName& row : kMappings)
    names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

tl::unexpected<Error> cannot_be(std::string_view text, std::string_view why) {
  return fail(std::errc::invalid_argument, fmt::format("{}: {}", text, why));
}

}  // namespace

bool LineStack::is_one(std::string_view text) {
  return std::ranges::any_of(names_in(text), [](std::string_view name) {
    return mapping_of(name) != nullptr || framing_of(name) != nullptr;
  });
}

Expected<LineStack> LineStack::parse(std::string_view text) {
  std::vector<std::string_view> names = names_in(text);
  const FramingName* const framing = framing_of(names.back());
  if (framing != nullptr) names.pop_back();
  const MappingName* const mapping = names.empty() ? nullptr : mapping_of(names.back());
  if (mapping != nullptr) names.pop_back();
  for (const std::string_view name : names) {
    if (mapping_of(name) != nullptr) {
      return cannot_be(text,
                       fmt::format("{} puts packets into octets, and only what a line is made "
                                   "of may be outside of it: stm1 to stm64, or nothing",
                                   name));
    }
    if (framing_of(name) != nullptr) {
      return cannot_be(text,
                       fmt::format("{} is a line itself, and nothing is outside of it", name));
    }
  }
  const std::string_view inside = names.empty() ? kBareFrame : names.back();
  if (framing != nullptr && framing->ethernet) {
    if (mapping != nullptr) {
      return cannot_be(text, fmt::format("{} carries frames of Ethernet, without {} around them",
                                         framing->name, mapping->name));
    }
    if (inside != "ethernet") {
      return cannot_be(text, fmt::format("{} carries frames of Ethernet: say ethernet/{}",
                                         framing->name, framing->name));
    }
  } else if (mapping == nullptr) {
    return cannot_be(text,
                     fmt::format("{} carries octets: one of {} puts packets into them, as in "
                                 "ipv6/ppp/{}",
                                 framing == nullptr ? text : framing->name, names_of_mappings(),
                                 framing == nullptr ? "stm64" : framing->name));
  } else if (mapping->inside.find(fmt::format(" {} ", inside)) == std::string_view::npos) {
    return cannot_be(text, fmt::format("{} has no place in {}, which takes{}", inside,
                                       mapping->name, mapping->inside));
  }
  LineStack stack;
  stack.packets_ =
      names.empty() ? std::string(kBareFrame) : fmt::format("{}", fmt::join(names, "/"));
  if (mapping != nullptr) stack.mapping_ = mapping->name;
  if (framing != nullptr) stack.framing_ = framing->name;
  return stack;
}

std::string LineStack::to_string() const {
  std::vector<std::string_view> names;
  if (packets_ != kBareFrame) names.emplace_back(packets_);
  if (!mapping_.empty()) names.emplace_back(mapping_);
  if (!framing_.empty()) names.emplace_back(framing_);
  return fmt::format("{}", fmt::join(names, "/"));
}

std::uint64_t LineStack::octets_per_s() const {
  const FramingName* const framing = framing_of(framing_);
  return framing == nullptr ? kUnframedRate : framing->octets_per_s;
}

std::optional<sonet::Level> LineStack::level() const {
  const FramingName* const framing = framing_of(framing_);
  return framing == nullptr ? std::nullopt : framing->level;
}

std::uint8_t LineStack::label() const {
  const MappingName* const mapping = mapping_of(mapping_);
  return mapping == nullptr ? sonet::label::kWis : mapping->label;
}

bool LineStack::payload_scrambled() const {
  const MappingName* const mapping = mapping_of(mapping_);
  return mapping != nullptr && mapping->scrambled;
}

std::unique_ptr<Line> LineStack::make(const Carried& carried, Entropy* entropy,
                                      PacketSource& packets, PacketSink& sink,
                                      const std::optional<SwitchedCircuit>& circuit) const {
  const LineUse use{
      .carried = carried, .packets = packets, .sink = sink, .entropy = entropy, .circuit = circuit};
  const auto in = level();
  std::unique_ptr<Line> line =
      mapping_.empty() ? make_ethernet_line(in ? EthernetPhy::kWan : EthernetPhy::kLan, use)
                       : mapping_of(mapping_)->make(use);
  if (!in) return line;
  return make_framed_line({.level = *in, .label = label(), .scrambled = payload_scrambled()},
                          std::move(line));
}

}  // namespace weft::wan
