// SPDX-License-Identifier: Apache-2.0
// `weft serve`: a data service on a host outside of the fabric, for the labs that send it packets.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/reload_view.h"
#include "cli/report_view.h"
#include "cli/service_view.h"
#include "cli/signals.h"
#include "cli/style.h"
#include "daemon/service/service_server.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
using daemon::ServiceServer;

constexpr const char* kServeCommand = "serve";

std::atomic<bool> serve_rules_again{false};
std::atomic<bool> serve_report_now{false};

void on_signal(ServiceServer& server, int signal) {
  if (signal != SIGHUP && signal != SIGUSR1) return server.stop();
  (signal == SIGHUP ? serve_rules_again : serve_report_now) = true;
  server.wake();
}

tl::unexpected<Error> wrong(std::string message) {
  return fail(std::errc::invalid_argument, std::move(message));
}

Expected<std::vector<fabric::PartAddress>> listens_of(const ServeOptions& options) {
  std::vector<fabric::PartAddress> out;
  for (const std::string& text : options.listens) {
    const auto address = fabric::parse_part_address(text);
    if (!address) {
      return wrong(
          fmt::format("--listen {}: must be an IP address of this machine and a port, as "
                      "in 192.0.2.9:7471 or [2001:db8::9]:7471",
                      text));
    }
    out.push_back(*address);
  }
  return out;
}

Expected<daemon::ServiceServerConfig> config_of(const ServeOptions& options) {
  auto service = service_of(options.type, options.settings);
  if (!service) return tl::unexpected(service.error());
  auto listens = listens_of(options);
  if (!listens) return tl::unexpected(listens.error());
  if (options.insecure != (options.key.empty() && options.fingerprints.empty())) {
    return wrong(options.insecure
                     ? "--key and --fingerprint, or --insecure: one of the two"
                     : "what comes from labs is encrypted: say --key FILE, as `weft extend "
                       "keygen` makes one, and of each place of a service its --fingerprint; or "
                       "--insecure");
  }
  if (!options.insecure && (options.key.empty() || options.fingerprints.empty())) {
    return wrong(options.key.empty() ? "needs --key FILE, which `weft extend keygen` makes"
                                     : "needs the --fingerprint of each place that may come");
  }
  daemon::ServiceServerConfig config;
  config.service = std::move(*service);
  config.at = {.listens = std::move(*listens),
               .key = options.key,
               .certificate = options.certificate,
               .fingerprints = options.fingerprints,
               .insecure = options.insecure};
  return config;
}

// Where it is reached: of a router at several addresses, one for each port of its places.
std::string listens_in(const Json& report) {
  const Json& server = object_of(report, "server");
  std::string all = text_of(server, "listen");
  for (const Json& more : list_of(server, "more"))
    all += ", " + text_of(more, "listen");
  return all;
}

void print_way(const Json& way, const Style& style) {
  const std::string why = way.contains("why") ? ": " + text_of(way, "why") : "";
  fmt::print("{} {} session {}{}\n", style.bold(text_of(way, "remote")), text_of(way, "address"),
             text_of(way, "session"), why);
}

void print_server_report(const Json& report, const Style& style) {
  const Json& server = object_of(report, "server");
  print_counters(object_of(server, "counters"));
  for (const Json& more : list_of(server, "more"))
    print_counters(object_of(more, "counters"));
  for (const Json& place : list_of(report, "places")) {
    print_way(place, style);
    for (const char* what : {"counters", "drops", "service", "port_counters", "tunnel"})
      print_counters(object_of(place, what));
    for (const Json& more : list_of(place, "more")) {
      print_way(more, style);
      print_counters(object_of(more, "counters"));
    }
    print_service_details(object_of(place, "details"), style);
  }
}

}  // namespace

void define_serve(CLI::App& serve, ServeOptions& options) {
  serve
      .add_option("TYPE", options.type,
                  "What the service does: firewall, monitor, capture, limiter, balancer or router")
      ->required();
  serve
      .add_option("--listen", options.listens,
                  "Where it is reached, as in 192.0.2.9:7471; of a router by each port")
      ->option_text("ADDRESS")
      ->required();
  define_service_settings(serve, options.settings, "Of the service: ");
  serve.add_option("--key", options.key, "What it proves itself with, as weft extend keygen makes")
      ->option_text("FILE");
  serve.add_option("--certificate", options.certificate, "Of that key, where there is one")
      ->option_text("FILE");
  serve
      .add_option("--fingerprint", options.fingerprints,
                  "Of the key of a place that may come, or a file with it; once for each")
      ->option_text("TEXT");
  serve.add_flag("--insecure", options.insecure, "Nothing is encrypted, and anybody may come");
  serve.add_flag("--json", options.json, "Report in JSON, a line each");
}

int serve(const ServeOptions& options) {
  auto config = config_of(options);
  if (!config) return refuse(kServeCommand, config.error().message);
  const auto server = ServiceServer::open(std::move(*config), [](const std::string& line) {
    fmt::print(stderr, "weft {}: {}\n", kServeCommand, line);
  });
  if (!server) return refuse(kServeCommand, server.error().message);
  const Signals<ServiceServer, on_signal> signals(**server, {SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  fmt::print(stderr, "weft {}: {} at {}\n", kServeCommand, options.type,
             listens_in((*server)->report()));
  ignore_broken_files();
  const auto report = [&] {
    const Json now = (*server)->report();
    print_standing_report(now, options.json,
                          [&](const Style& style) { print_server_report(now, style); });
  };
  const auto ended = (*server)->run([&] {
    if (serve_rules_again.exchange(false)) say_reload(kServeCommand, (*server)->reload());
    if (serve_report_now.exchange(false)) report();
  });
  report();
  if (ended) return kOk;
  fmt::print(stderr, "weft {}: {}\n", kServeCommand, ended.error().message);
  return kProblem;
}

}  // namespace weft::cli
