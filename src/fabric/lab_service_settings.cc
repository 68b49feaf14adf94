// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_service_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/gid_text.h"
#include "fabric/lab.h"
#include "fabric/lab_addresses.h"
#include "fabric/lab_builder.h"
#include "fabric/lab_value.h"
#include "fabric/toml.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

constexpr const char* kKeyLetters = "abcdefghijklmnopqrstuvwxyz_";
// Another service of the lab; ports of it; what `weft service run` has an option for.
constexpr std::array<std::string_view, 3> kOfLabs{"mirror_to", "servers", "threads"};
constexpr const char* kText = "text";

// --- what only those have that know no lab -------------------------------------------------------

constexpr std::string_view kAt = " at ";

// "fe80::1 at 192.0.2.1", or the GID alone.
std::optional<LabBalancer::End> gid_end_in(const std::string& text) {
  const std::size_t between = text.find(kAt);
  const auto gid = parse_gid(text.substr(0, between));
  if (!gid || gid->is_multicast()) return std::nullopt;
  if (between == std::string::npos) return LabBalancer::End{.gid = *gid};
  const std::string address = text.substr(between + kAt.size());
  const auto ipv4 = parse_ipv4(address);
  const auto ip = ipv4 ? std::optional(Gid::from_ipv4(ipv4->value())) : parse_gid(address);
  return ip ? std::optional(LabBalancer::End{.gid = *gid, .address = *ip}) : std::nullopt;
}

Expected<LabBalancer::End> read_gid_end(const Value& value) {
  const auto text = value.string();
  const auto end = text ? gid_end_in(*text) : std::nullopt;
  if (end) return *end;
  return value.wrong(
      "must be a GID, and where rdma_cm connects by IP addresses its address too, as in \"fe80::1 "
      "at 192.0.2.1\"");
}

Done read_service(LabService& service, const Value& value) {
  return store(service.balancer.service, read_gid_end(value));
}

Done read_ends(LabService& service, const Value& value) {
  auto entries = value.array();
  if (!entries) entries = std::vector{value};
  for (const Value& each : *entries) {
    const auto end = read_gid_end(each);
    if (!end) return tl::unexpected(end.error());
    if (std::ranges::find(service.balancer.ends, end->gid, &LabBalancer::End::gid) !=
        service.balancer.ends.end()) {
      return each.wrong(fmt::format("{} is named twice", end->gid.to_string()));
    }
    service.balancer.ends.push_back(*end);
  }
  return {};
}

struct OutsideKey {
  std::string_view name;
  std::string_view type;
  Done (*read)(LabService&, const Value&);
};
constexpr std::array kOutsideKeys{OutsideKey{"service", "balancer", read_service},
                                  OutsideKey{"servers", "balancer", read_ends}};

std::string outside_trouble(const LabService& service) {
  if (service.type != "balancer") return "";
  if (service.balancer.service.gid == Gid{}) {
    return "needs service = \"fe80::1\", the GID that clients connect to";
  }
  return service.balancer.ends.empty() ? "needs servers = [\"fe80::1\", \"fe80::2\"]" : "";
}

// --- settings ------------------------------------------------------------------------------------

tl::unexpected<Error> no_setting(const std::string& setting, std::string_view why) {
  return fail(std::errc::invalid_argument, fmt::format("--set {}: {}", setting, why));
}

// A line of a lab file, where strings have their quotes.
std::string line_of(const std::string& key, const std::string& value) {
  std::string plain = fmt::format("{} = {}\n", key, value);
  const bool one_line = value.find('\n') == std::string::npos;
  if (one_line && toml::parse(plain)) return plain;
  return fmt::format("{} = {}\n", key, quoted(value));
}

Done read_setting(LabService& service, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (equals == std::string::npos || key.empty() ||
      key.find_first_not_of(kKeyLetters) != std::string::npos) {
    return no_setting(setting, "want KEY=VALUE, as in rate=1Gb/s");
  }
  std::vector<std::string_view> names;
  Done (*read)(LabService&, const Value&) = nullptr;
  const auto offer = [&](const auto& row) {
    names.push_back(row.name);
    if (row.name == key) read = row.read;
  };
  for (const ServiceKey& row : service_keys()) {
    if (row.is_of(service.type) && std::ranges::find(kOfLabs, row.name) == kOfLabs.end()) {
      offer(row);
    }
  }
  for (const OutsideKey& row : kOutsideKeys) {
    if (row.type == service.type) offer(row);
  }
  if (read == nullptr) {
    return no_setting(setting,
                      fmt::format("a {} here has {}", service.type, fmt::join(names, ", ")));
  }
  const toml::parse_result parsed = toml::parse(line_of(key, setting.substr(equals + 1)));
  const auto* const node = parsed ? parsed.table().get(key) : nullptr;
  if (node == nullptr) return no_setting(setting, "no value that a lab file could have");
  const Lab none;
  const LabBuilder builder(kText, none);
  // Errors name the line of the text here, which nobody has seen.
  constexpr std::string_view kPlace = "text:1: ";
  return read(service, Value(builder, *node, key)).map_error([&](const Error& error) {
    const bool placed = error.message.starts_with(kPlace);
    return Error{error.code, "--set " + error.message.substr(placed ? kPlace.size() : 0)};
  });
}

}  // namespace

Expected<LabService> service_of_settings(const std::string& type,
                                         std::span<const std::string> settings) {
  LabService service;
  service.name = type;
  service.type = type;
  std::vector<std::string> keys;
  for (const std::string& setting : settings) {
    std::string key = setting.substr(0, setting.find('='));
    if (std::ranges::find(keys, key) != keys.end()) {
      return no_setting(setting, fmt::format("{} is said twice", key));
    }
    keys.push_back(std::move(key));
    if (Done done = read_setting(service, setting); !done) return tl::unexpected(done.error());
  }
  std::string trouble = outside_trouble(service);
  if (trouble.empty()) trouble = trouble_of(service);
  if (!trouble.empty()) {
    return fail(std::errc::invalid_argument, fmt::format("a {} {}", type, trouble));
  }
  return service;
}

}  // namespace weft::fabric
