// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_service_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/gid_text.h"
#include "base/quantity.h"
#include "fabric/lab_external_text.h"
#include "fabric/lab_service.h"
#include "fabric/lab_service_text.h"
#include "fabric/lab_value.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

using std::string_view;

constexpr std::array<string_view, 2> kWithRules{"firewall", "router"};
constexpr std::array<string_view, 1> kFirewall{"firewall"};
constexpr std::array<string_view, 1> kMonitor{"monitor"};
constexpr std::array<string_view, 1> kCapture{"capture"};
constexpr std::array<string_view, 1> kLimiter{"limiter"};
constexpr std::array<string_view, 1> kBalancer{"balancer"};
constexpr std::array<string_view, 1> kExternal{"external"};
constexpr std::array<string_view, 2> kDroppers{"firewall", "limiter"};
// All that packets go through in the daemon.
constexpr std::array<string_view, 6> kInDaemon{"firewall", "monitor", "capture",
                                               "balancer", "limiter", "router"};

// --- values --------------------------------------------------------------------------------------

// `wanted`: for who wrote something else.
Done read_amount(std::uint64_t& field, const Value& value, std::span<const Unit> units,
                 std::uint64_t least, string_view wanted) {
  const auto words = value.words();
  const auto amount = words ? parse_quantity(*words, units) : std::nullopt;
  if (!amount || *amount < least) return value.wrong(fmt::format("must be {}", wanted));
  field = *amount;
  return {};
}

constexpr string_view kRateWanted = "a rate, as in \"1Gb/s\"";

std::optional<PKey> pkey_in(string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number > 0xFFFF || (*number & 0x7FFF) == 0) return std::nullopt;
  return PKey{static_cast<std::uint16_t>(*number)};
}

std::string text_of(PKey pkey) {
  return fmt::format("{:#06x}", pkey.value());
}

// --- what all have that work in the daemon -------------------------------------------------------

Done read_pkeys(LabService& service, const Value& value) {
  const auto rules = value.array();
  if (!rules) return value.wrong("must be pairs of P_Keys, as in [[\"0x0001\", \"0x8001\"]]");
  for (const Value& rule : *rules) {
    const auto words = rule.array();
    std::vector<PKey> pair;
    for (const Value& word : words.value_or(std::vector<Value>{})) {
      const auto text = word.words();
      const auto pkey = text ? pkey_in(*text) : std::nullopt;
      if (pkey) pair.push_back(*pkey);
    }
    if (pair.size() != 2 || words->size() != 2) {
      return rule.wrong(
          "must be two P_Keys, the one that packets come with and the one that they go on with, as "
          "in [\"0x0001\", \"0x8001\"]");
    }
    if (std::ranges::find(service.pkeys, pair[0], &std::pair<PKey, PKey>::first) !=
        service.pkeys.end()) {
      return rule.wrong(fmt::format("{} is replaced already", text_of(pair[0])));
    }
    service.pkeys.emplace_back(pair[0], pair[1]);
  }
  return {};
}

std::string write_pkeys(const LabService& service) {
  std::vector<std::string> rules;
  for (const auto& [from, to] : service.pkeys)
    rules.push_back(fmt::format("[\"{}\", \"{}\"]", text_of(from), text_of(to)));
  return rules.empty() ? "" : fmt::format("[{}]", fmt::join(rules, ", "));
}

// What is not so where nothing is said.
template <bool LabService::*kField>
Done read_flag(LabService& service, const Value& value) {
  return store(service.*kField, value.boolean());
}
template <bool LabService::*kField>
std::string write_flag(const LabService& service) {
  return service.*kField ? "true" : "";
}

// A string that is empty where nothing is said.
template <std::string LabService::*kField>
Done read_text(LabService& service, const Value& value) {
  return store(service.*kField, value.string());
}
template <std::string LabService::*kField>
std::string write_text(const LabService& service) {
  return (service.*kField).empty() ? "" : quoted(service.*kField);
}

Done read_threads(LabService& service, const Value& value) {
  constexpr std::int64_t kMostThreads = 64;
  return store(service.threads, value.integer(1, kMostThreads).map([](std::int64_t threads) {
    return static_cast<unsigned>(threads);
  }));
}

std::string write_threads(const LabService& service) {
  return service.has_threads() ? fmt::to_string(service.threads) : "";
}

// A number of a type's own.
template <auto kType, auto kField, std::int64_t kLeast, std::int64_t kMost>
Done read_number(LabService& service, const Value& value) {
  return store(service.*kType.*kField, value.integer(kLeast, kMost));
}
template <auto kType, auto kField>
std::string write_number(const LabService& service) {
  return service.*kType.*kField == LabService{}.*kType.*kField
             ? ""
             : fmt::to_string(service.*kType.*kField);
}

// --- capture -------------------------------------------------------------------------------------

Done read_file(LabService& service, const Value& value) {
  return store(service.capture.file, value.string());
}

std::string write_file(const LabService& service) {
  return service.capture.file.empty() ? "" : quoted(service.capture.file);
}

Done read_size(LabService& service, const Value& value) {
  return read_amount(service.capture.size, value, kSizeUnits, 1, "a size, as in \"64MiB\", not 0");
}

std::string write_size(const LabService& service) {
  return service.capture.size == LabCapture{}.size ? "" : quoted(size_text(service.capture.size));
}

Done read_time(LabService& service, const Value& value) {
  std::uint64_t time = 0;
  constexpr std::uint64_t kLeast = 1'000'000'000;
  if (Done done =
          read_amount(time, value, kTimeUnits, kLeast, "a time of at least 1s, as in \"60s\"");
      !done) {
    return done;
  }
  service.capture.time = Duration(static_cast<Duration::rep>(time));
  return {};
}

std::string write_time(const LabService& service) {
  return service.capture.time == Duration{} ? "" : quoted(time_text(service.capture.time));
}

// --- limiter -------------------------------------------------------------------------------------

// As LabLimiter::By has them.
constexpr std::array<string_view, 3> kTenants{"partition", "source", "pair"};

Done read_by(LabService& service, const Value& value) {
  const auto text = value.string();
  const auto found = text ? std::ranges::find(kTenants, *text) : kTenants.end();
  if (found == kTenants.end()) {
    return value.wrong("must be \"partition\", \"source\" or \"pair\"");
  }
  service.limiter.by = static_cast<LabLimiter::By>(found - kTenants.begin());
  return {};
}

std::string write_by(const LabService& service) {
  const LabLimiter::By by = service.limiter.by;
  return by == LabLimiter::By::kPartition ? "" : quoted(kTenants[static_cast<std::size_t>(by)]);
}

Done read_rate(LabService& service, const Value& value) {
  return read_amount(service.limiter.rate.emplace(), value, kRateUnits, 0, kRateWanted);
}

std::string write_rate(const LabService& service) {
  const auto& rate = service.limiter.rate;
  return rate ? quoted(quantity_text(*rate, kRateUnits)) : "";
}

Done read_burst(LabService& service, const Value& value) {
  // What the largest packet has: one that is smaller would never let it pass.
  constexpr std::uint64_t kLargestPacket = 4096 + 128;
  return read_amount(service.limiter.burst, value, kSizeUnits, kLargestPacket,
                     "a size of at least 4224B, the largest packet, as in \"64KiB\"");
}

std::string write_burst(const LabService& service) {
  const std::uint64_t burst = service.limiter.burst;
  return burst == LabLimiter{}.burst ? "" : quoted(size_text(burst));
}

constexpr string_view kBetween = " to ";

std::optional<LabLimiter::End> end_in(const std::string& text) {
  if (const auto gid = parse_gid(text)) return *gid;
  return good_name(text) ? std::optional<LabLimiter::End>(text) : std::nullopt;
}

std::optional<LabLimiter::Pair> pair_in(const std::string& text) {
  const std::size_t between = text.find(kBetween);
  if (between == std::string::npos) return std::nullopt;
  const auto from = end_in(text.substr(0, between));
  const auto to = end_in(text.substr(between + kBetween.size()));
  return from && to ? std::optional(LabLimiter::Pair{.from = *from, .to = *to}) : std::nullopt;
}

Done read_rates(LabService& service, const Value& value) {
  const auto entries = value.table();
  if (!entries) return value.wrong("must be a table, as in { 0x8001 = \"1Gb/s\" }");
  for (const auto& [name, entry] : *entries) {
    LabLimiter::Tenant& tenant = service.limiter.rates.emplace_back();
    if (const auto pkey = pkey_in(name)) {
      tenant.who = *pkey;
    } else if (const auto pair = pair_in(name)) {
      tenant.who = *pair;
    } else if (const auto end = end_in(name)) {
      tenant.who = *end;
    } else {
      return entry.wrong("a tenant is a P_Key, a GID, a node, or a pair as in \"a to b\"");
    }
    if (Done done = read_amount(tenant.bytes_per_s, entry, kRateUnits, 0, kRateWanted); !done) {
      return done;
    }
  }
  return {};
}

std::string name_of(const LabLimiter::End& end) {
  const auto* const gid = std::get_if<Gid>(&end);
  return gid != nullptr ? gid->to_string() : std::get<std::string>(end);
}

std::string name_of(const LabLimiter::Tenant& tenant) {
  if (const auto* pkey = std::get_if<PKey>(&tenant.who)) return text_of(*pkey);
  if (const auto* end = std::get_if<LabLimiter::End>(&tenant.who)) return name_of(*end);
  const auto& pair = std::get<LabLimiter::Pair>(tenant.who);
  return fmt::format("{}{}{}", name_of(pair.from), kBetween, name_of(pair.to));
}

std::string write_rates(const LabService& service) {
  std::vector<std::string> rates;
  for (const LabLimiter::Tenant& tenant : service.limiter.rates) {
    rates.push_back(fmt::format("{} = {}", quoted(name_of(tenant)),
                                quoted(quantity_text(tenant.bytes_per_s, kRateUnits))));
  }
  return rates.empty() ? "" : fmt::format("{{ {} }}", fmt::join(rates, ", "));
}

std::string limiter_trouble(const LabLimiter& limiter) {
  if (!limiter.rate && limiter.rates.empty()) {
    return "needs rate = \"1Gb/s\", of each tenant, or rates = { 0x8001 = \"1Gb/s\" }";
  }
  // The alternatives of `who` are in the order of By.
  constexpr std::array<string_view, 3> kAre{"a partition", "one end", "a pair"};
  constexpr std::array<string_view, 3> kWanted{"a P_Key, as in 0x8001", "a GID or a node",
                                               "one end and the other, as in \"a to b\""};
  const auto by = static_cast<std::size_t>(limiter.by);
  for (const LabLimiter::Tenant& tenant : limiter.rates) {
    if (tenant.who.index() == by) continue;
    return fmt::format("{} is {}; with by = \"{}\" a tenant is {}", name_of(tenant),
                       kAre[tenant.who.index()], kTenants[by], kWanted[by]);
  }
  return "";
}

// --- balancer ------------------------------------------------------------------------------------

Done read_servers(LabService& service, const Value& value) {
  auto entries = value.array();
  if (!entries) entries = std::vector{value};
  for (const Value& each : *entries) {
    const auto text = each.string();
    const auto port = text ? parse_lab_port(*text) : std::nullopt;
    if (!port) return each.wrong("must be a port, as in \"s1\" or \"s1:2\", or a list of them");
    if (std::ranges::find(service.balancer.servers, *port) != service.balancer.servers.end()) {
      return each.wrong(fmt::format("{} is named twice", *text));
    }
    service.balancer.servers.push_back(*port);
  }
  return {};
}

std::string write_servers(const LabService& service) {
  std::vector<std::string> ports;
  for (const LabPort& port : service.balancer.servers)
    ports.push_back(quoted(to_string(port)));
  return ports.empty() ? "" : fmt::format("[{}]", fmt::join(ports, ", "));
}

Done read_spread(LabService& service, const Value& value) {
  const auto text = value.string();
  if (!text || (*text != "hash" && *text != "least")) {
    return value.wrong("must be \"hash\" or \"least\"");
  }
  service.balancer.least = *text == "least";
  return {};
}

std::string write_spread(const LabService& service) {
  return service.balancer.least ? quoted("least") : "";
}

std::string balancer_trouble(const LabService& service) {
  constexpr std::size_t kMostServers = 256;
  const std::size_t servers = service.balancer.servers.size() + service.balancer.ends.size();
  if (servers == 0) return "needs servers = [\"s1\", \"s2\"]";
  if (servers > kMostServers) {
    return fmt::format("{} servers: there may be {}", servers, kMostServers);
  }
  return service.hide_queue_pairs ? "a balancer hides queue pairs in any case" : "";
}

// --- the table -----------------------------------------------------------------------------------

constexpr std::int64_t kMostRemembered = 1'000'000;
constexpr std::int64_t kMostFiles = 10'000;

constexpr std::array kKeys{
    ServiceKey{"pkeys", kInDaemon, read_pkeys, write_pkeys},
    ServiceKey{"hide_queue_pairs", kInDaemon, read_flag<&LabService::hide_queue_pairs>,
               write_flag<&LabService::hide_queue_pairs>},
    ServiceKey{"mirror_to", kDroppers, read_text<&LabService::mirror_to>,
               write_text<&LabService::mirror_to>},
    ServiceKey{"threads", kWithRules, read_threads, write_threads},
    ServiceKey{"rules", kWithRules, read_text<&LabService::rules>, write_text<&LabService::rules>},
    ServiceKey{"dry_run", kFirewall, read_flag<&LabService::dry_run>,
               write_flag<&LabService::dry_run>},
    ServiceKey{"flows", kMonitor,
               read_number<&LabService::monitor, &LabMonitor::flows, 1, kMostRemembered>,
               write_number<&LabService::monitor, &LabMonitor::flows>},
    ServiceKey{"senders", kMonitor,
               read_number<&LabService::monitor, &LabMonitor::senders, 1, kMostRemembered>,
               write_number<&LabService::monitor, &LabMonitor::senders>},
    ServiceKey{"file", kCapture, read_file, write_file},
    ServiceKey{"files", kCapture,
               read_number<&LabService::capture, &LabCapture::files, 1, kMostFiles>,
               write_number<&LabService::capture, &LabCapture::files>},
    ServiceKey{"size", kCapture, read_size, write_size},
    ServiceKey{"time", kCapture, read_time, write_time},
    ServiceKey{"by", kLimiter, read_by, write_by},
    ServiceKey{"rate", kLimiter, read_rate, write_rate},
    ServiceKey{"burst", kLimiter, read_burst, write_burst},
    ServiceKey{"rates", kLimiter, read_rates, write_rates},
    ServiceKey{"server", kExternal, read_server, write_server},
    ServiceKey{"listen", kExternal, read_external_listen, write_external_listen},
    ServiceKey{"key", kExternal, read_external_key, write_external_key},
    ServiceKey{"certificate", kExternal, read_external_certificate, write_external_certificate},
    ServiceKey{"fingerprint", kExternal, read_external_fingerprint, write_external_fingerprint},
    ServiceKey{"insecure", kExternal, read_external_insecure, write_external_insecure},
    ServiceKey{"servers", kBalancer, read_servers, write_servers},
    ServiceKey{"spread", kBalancer, read_spread, write_spread},
};

}  // namespace

bool ServiceKey::is_of(string_view type) const {
  return std::ranges::find(types, type) != types.end();
}

std::span<const ServiceKey> service_keys() {
  return kKeys;
}

std::string trouble_of(const LabService& service) {
  if ((service.select == LabService::Select::kGids) == service.gids.empty()) {
    return service.gids.empty() ? "select = \"gids\" needs gids = [...]"
                                : "gids are for select = \"gids\"";
  }
  if (service.is_tap()) {
    const bool changes = service.hide_queue_pairs || !service.pkeys.empty();
    if (changes) return "select = \"copies\": what forwards nothing can hide and replace nothing";
    if (service.both_work || service.by_load || service.bypass) {
      return "select = \"copies\": no path leads there, so pair, balance and if_down mean nothing";
    }
    for (const LabServiceInstance& instance : service.instances) {
      for (const LabServiceMember& member : instance) {
        if (!member.lids.empty()) return "select = \"copies\": there are no service LIDs of it";
      }
    }
  }
  using Select = LabService::Select;
  if (service.type == "process" &&
      (service.select == Select::kGids || service.select == Select::kOthers)) {
    return fmt::format(
        "select = \"{}\": a process says itself which packets are its, by flows of its raw queue "
        "pair (`weft service run` takes those to other LIDs than the port's own)",
        service.select == Select::kGids ? "gids" : "others");
  }
  if (service.has_threads() && service.select != Select::kLids) {
    return "threads: packets that come to service LIDs are spread over them, and select says "
           "others";
  }
  if (service.has_threads() && !service.mirror_to.empty()) {
    return "threads: copies for mirror_to stay in the daemon's own thread";
  }
  if (service.is_external()) {
    return service.is_tap() ? "select = \"copies\": an external server forwards what it gets"
                            : external_trouble(service);
  }
  if (service.type == "balancer") return balancer_trouble(service);
  return service.type == "limiter" ? limiter_trouble(service.limiter) : "";
}

}  // namespace weft::fabric
