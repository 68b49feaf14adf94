// SPDX-License-Identifier: Apache-2.0
// Which subnets are at which site, as the kernel's IPv6 routing has them, so that a routing daemon
// may say so: a route by the address of a site is a prefix that is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/gid_prefix.h"
#include "fabric/lab_extender.h"
#include "io/kernel_routes.h"
#include "io/reactor.h"

namespace weft::daemon {

// A prefix, and the remote that it is at, as LabExtender::remotes counts.
using LearnedRoute = std::pair<GidPrefix, std::uint32_t>;

// Of what a table has, in the order of the prefixes' bits and each prefix once: the route of the
// least metric. Left out are those by the address of nobody, and of link-local and multicast
// addresses, which are not routed (IBA 4.1.1).
[[nodiscard]] std::vector<LearnedRoute> learn_routes(const std::vector<io::KernelRoute>& routes,
                                                     const fabric::LabExtender& extender);

class LearnedRoutes {
 public:
  // All that there are now.
  using Changed = std::function<void(const std::vector<LearnedRoute>&)>;

  // Of an extender that has a route_table. Both outlive it.
  static Expected<std::unique_ptr<LearnedRoutes>> open(const fabric::LabExtender& extender,
                                                       io::Reactor& reactor, Changed changed);
  LearnedRoutes(const LearnedRoutes&) = delete;
  LearnedRoutes& operator=(const LearnedRoutes&) = delete;

  // Reads the table, and from now on whenever something has changed.
  void start();
  // Why it could not be read last; empty: it could.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // So many more routes the table had then than are read: the prefixes of these are unknown, and
  // they hide none of the others.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  LearnedRoutes(const fabric::LabExtender& extender, io::Reactor& reactor, io::RouteMonitor monitor,
                Changed changed);
  void read();
  void tell_left_out(std::size_t count);

  const fabric::LabExtender& extender_;
  Changed changed_;
  io::RouteMonitor monitor_;
  io::Reactor::Registration watch_;
  io::Timer timer_;  // routes come and go in bursts
  std::vector<LearnedRoute> routes_;
  std::string trouble_;
  std::size_t left_out_ = 0;
};

}  // namespace weft::daemon
