// SPDX-License-Identifier: Apache-2.0
// Finds out what a subnet consists of, by directed routes from the manager's node on. What does not
// answer, or makes no sense, is left out and said; nothing of it stops the rest. A master clears
// PortStateChange of a switch before its ports are read: what changes later sets it again.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sm/mastership.h"
#include "sm/mkeys.h"
#include "sm/smp_queue.h"
#include "sm/subnet.h"

namespace weft::sm {

class Discovery {
 public:
  // What was left out, and why, for a person. Beyond kMostProblems they are only counted.
  static constexpr std::size_t kMostProblems = 100;
  // Of all nodes together: more than the LIDs there are could be of use for. A node that makes up
  // others behind it finds an end here.
  static constexpr std::size_t kMostPorts = 0x8'0000;

  struct Options {
    std::uint8_t own_port = 1;     // of the manager's node; 0 on a switch
    bool is_master = true;         // who is not writes nothing
    std::uint64_t mkey = 0;        // ports with another one are left out, unless it is known
    const MKeys* mkeys = nullptr;  // that are known; null: none. Outlives it
  };

  // `smps` outlives it; handlers refer to it until smps.idle().
  Discovery(SmpQueue& smps, const Options& options);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // It is over when the queue is idle.
  void start();

  [[nodiscard]] Subnet& subnet() { return subnet_; }
  // That say they are at ports with IsSM, where they have answered.
  [[nodiscard]] const std::vector<OtherManager>& managers() const { return managers_; }
  // Of those who have not.
  [[nodiscard]] const std::set<Guid>& silent_managers() const { return silent_managers_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] std::uint64_t problem_count() const { return problem_count_; }
  // Whether something that was there in `before`, and was known, has not answered, although its
  // link is up.
  [[nodiscard]] bool misses(const Subnet& before) const;

 private:
  // `tried`: how many of other_keys_ have not been answered.
  void visit(const DirectedRoute& route, std::optional<PortRef> from, std::size_t tried = 0);
  void arrive(const DirectedRoute& route, std::optional<PortRef> from, const wire::NodeInfo& info);
  std::uint32_t add_node(const DirectedRoute& route, const wire::NodeInfo& info);
  bool join(const PortRef& a, const PortRef& b);
  void read_switch(std::uint32_t node);
  void half_read_switch(std::uint32_t node);
  void take_switch_info(std::uint32_t node, const SmpResult& result);
  void read_switch_ports(std::uint32_t node);
  void read_port(const PortRef& at, const DirectedRoute& route);
  void follow(const PortRef& at);
  [[nodiscard]] bool is_own(const PortRef& at) const { return at == PortRef{0, options_.own_port}; }
  void ask_manager(const PortRef& at);
  // Another manager's, as its M_Key tells.
  [[nodiscard]] bool is_foreign(const DirectedRoute& route, const wire::PortInfo& info) const;
  // Its key is known, and was not tried before: it is used from now on.
  bool has_other_key(const PortRef& at, const DirectedRoute& route);
  void leave_out(const PortRef& at, const wire::PortInfo& info);
  [[nodiscard]] std::string name(const PortRef& at) const;
  void not_heard(const PortRef& at, const SmpResult& result);
  void problem(std::string text);

  SmpQueue& smps_;
  const Options options_;
  const std::vector<std::uint64_t> other_keys_;
  Subnet subnet_;
  // Of switches, by node: SwitchInfo and PortInfo of port 0 come before the rest.
  std::unordered_map<std::uint32_t, unsigned> halves_;
  std::unordered_set<std::uint32_t> foreign_;  // switches that are left out
  std::size_t ports_ = 0;
  std::vector<OtherManager> managers_;
  std::set<Guid> silent_managers_;       // by port
  std::vector<PortRef> unheard_;         // ports, and switches by port 0, that do not answer
  std::vector<PortRef> unheard_beyond_;  // behind these nobody does
  std::vector<std::string> problems_;
  std::uint64_t problem_count_ = 0;
};

}  // namespace weft::sm
