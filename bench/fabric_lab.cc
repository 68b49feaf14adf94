// SPDX-License-Identifier: Apache-2.0
// How long a lab takes to start, what memory it takes, and what it does when it is idle: a fat tree
// of 648 nodes and one of 5,832, up to links in state Initialize, in one thread.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>

#include "fabric/fabric.h"
#include "fabric/lab_file.h"
#include "fabric/lab_generate.h"

namespace {

using namespace weft;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Resident memory of this process, bytes.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    double kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

bool goal(const std::string& what, double measured, double most, const char* unit) {
  const bool met = measured <= most;
  fmt::print("  {:<40} {:10.3f} {:<3} goal <= {:g}  {}\n", what, measured, unit, most,
             met ? "met" : "MISSED");
  fmt::print("result: {} = {:.3f}\n", what, measured);
  return met;
}

bool measure(const std::string& size, double most_seconds, double most_gib) {
  const auto down = fabric::parse_size(size);
  const auto made = fabric::generate_fat_tree(*down, "bench");
  const std::string text = fabric::write_lab(*made);
  const double before = resident();
  const auto start = std::chrono::steady_clock::now();
  auto lab = fabric::parse_lab(text, "lab.toml");
  if (!lab) return false;
  fabric::Fabric fabric(std::move(*lab));
  Time now{1s};
  fabric.start(now);
  while (fabric.deadline() && *fabric.deadline() <= now)
    fabric.run(now);
  const double took = seconds_since(start);
  const double bytes = resident() - before;
  std::size_t end_ports = 0, idle = 0;
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    const fabric::Node& node = fabric.node(i);
    if (node.kind() == fabric::NodeKind::kChannelAdapter) end_ports += node.port_count();
  }
  for (; fabric.deadline() && *fabric.deadline() <= now + 1min; ++idle)
    fabric.run(now = std::max(now, *fabric.deadline()));
  fmt::print("fat tree {}: {} nodes, {} links\n", size, fabric.node_count(), fabric.link_count());
  bool met = goal(size + " starts in", took, most_seconds, "s");
  met = goal(size + " memory", bytes / (1u << 30), most_gib, "GiB") && met;
  met = goal(size + " wakes in an idle minute", static_cast<double>(idle), 60, "") && met;
  fmt::print("  per end port {:.1f} KiB\n", bytes / 1024 / static_cast<double>(end_ports));
  return met;
}

}  // namespace

int main() {
  const bool small = measure("18x36", 1, 0.25);
  const bool large = measure("18x18x18", 10, 2);
  return small && large ? 0 : 1;
}
