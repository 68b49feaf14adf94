// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/learned_routes.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "io/clock.h"
#include "io/log.h"

namespace weft::daemon {
namespace {

// After the first news, for the rest of it; and of a table that could not be read.
constexpr Duration kLearnedRoutesGather = 50ms;
constexpr Duration kLearnedRoutesTryAgain = 5s;

constexpr std::size_t kMostRoutes = 65'536;

// Of those by which a remote's routes lead. Nothing: it has no IPv6 address.
std::optional<Gid> gateway_of(const fabric::LabRemote& remote) {
  if (remote.next_hop) return remote.next_hop;
  if (!remote.address || remote.address->host.is_ipv4_mapped()) return std::nullopt;
  return remote.address->host;
}

bool is_routed(const GidPrefix& prefix) {
  const Gid link_local{{0xFE, 0x80}};
  return !GidPrefix(link_local, 10).covers(prefix) && prefix.subnet() >> 56 != 0xFF;
}

}  // namespace

std::vector<LearnedRoute> learn_routes(const std::vector<io::KernelRoute>& routes,
                                       const fabric::LabExtender& extender) {
  // What counts of several is decided before it is known whose they are: a better route that leads
  // elsewhere hides the others, as it does for the kernel.
  std::vector<const io::KernelRoute*> sorted;
  for (const io::KernelRoute& route : routes)
    sorted.push_back(&route);
  const auto key = [](const io::KernelRoute* route) {
    return std::tuple(route->prefix.subnet(), route->prefix.rest(), route->prefix.bits());
  };
  std::ranges::stable_sort(sorted, [&](const auto* a, const auto* b) {
    return std::tuple(key(a), a->metric) < std::tuple(key(b), b->metric);
  });
  const auto alike = [&](const auto* a, const auto* b) { return key(a) == key(b); };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), alike), sorted.end());
  std::vector<LearnedRoute> out;
  for (const io::KernelRoute* const route : sorted) {
    const auto remote = std::ranges::find(extender.remotes, std::optional(route->gateway),
                                          [](const auto& each) { return gateway_of(each); });
    if (remote == extender.remotes.end() || !is_routed(route->prefix)) continue;
    out.emplace_back(route->prefix, static_cast<std::uint32_t>(remote - extender.remotes.begin()));
  }
  return out;
}

LearnedRoutes::LearnedRoutes(const fabric::LabExtender& extender, io::Reactor& reactor,
                             io::RouteMonitor monitor, Changed changed)
    : extender_(extender),
      changed_(std::move(changed)),
      monitor_(std::move(monitor)),
      timer_(reactor.timers(), [this](Time) { read(); }) {
}

Expected<std::unique_ptr<LearnedRoutes>> LearnedRoutes::open(const fabric::LabExtender& extender,
                                                             io::Reactor& reactor,
                                                             Changed changed) {
  auto monitor = io::RouteMonitor::open();
  if (!monitor) return tl::unexpected(monitor.error());
  std::unique_ptr<LearnedRoutes> out(
      new LearnedRoutes(extender, reactor, std::move(*monitor), std::move(changed)));
  auto watch = reactor.watch(out->monitor_.fd(), EPOLLIN, [routes = out.get()](std::uint32_t) {
    routes->monitor_.drain();
    if (!routes->timer_.armed()) routes->timer_.set(io::now() + kLearnedRoutesGather);
  });
  if (!watch) return tl::unexpected(watch.error());
  out->watch_ = std::move(*watch);
  return out;
}

void LearnedRoutes::start() {
  read();
}

// Once, until all can be read again: a table that is too long changes often.
void LearnedRoutes::tell_left_out(std::size_t count) {
  if (count != 0 && left_out_ == 0) {
    io::log(io::LogLevel::kError,
            fmt::format("route_table {}: of its IPv6 routes {} are read and {} left out; what is "
                        "behind those is not reached: give the extender a table of its own that "
                        "has the routes to its sites only",
                        *extender_.route_table, kMostRoutes, count));
  }
  left_out_ = count;
}

void LearnedRoutes::read() {
  const auto listed = io::list_kernel_routes(*extender_.route_table, kMostRoutes);
  trouble_ = listed ? "" : listed.error().message;
  if (!listed) return timer_.set(io::now() + kLearnedRoutesTryAgain);
  tell_left_out(listed->left_out);
  auto routes = learn_routes(listed->routes, extender_);
  if (routes == routes_) return;
  routes_ = std::move(routes);
  changed_(routes_);
}

}  // namespace weft::daemon
