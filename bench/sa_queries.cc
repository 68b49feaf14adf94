// SPDX-License-Identifier: Apache-2.0
// How many questions for paths the subnet administrator answers in a second, with more than 10,000
// end ports: asked by MADs from a client at its own port, both in one thread. Beside it questions
// for ClassPortInfo, which take the same way and need no looking up. And what it took to bring the
// fabric up in virtual time, and its memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/random.h"
#include "fabric/fabric.h"
#include "fabric/lab_generate.h"
#include "sm/sa/administrator.h"
#include "sm/subnet_manager.h"
#include "wire/class_port_info.h"
#include "wire/sa/path_record.h"

namespace {

using namespace weft;

constexpr std::uint64_t kPrefix = 0xFE80'0000'0000'0000;
constexpr std::size_t kWindow = 64;
constexpr std::size_t kQueries = 400'000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1u << 20);
}

class Client final : public mgmt::MadClient {
 public:
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    if (!mad.cookie) return;
    ++answers;
    good += wire::MadHeader::parse(mad.mad)->status == 0;
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override { ++lost; }
  std::size_t answers = 0;
  std::size_t good = 0;
  std::size_t lost = 0;
};

class Bench {
 public:
  explicit Bench(fabric::Lab lab)
      : fabric_(std::move(lab)), node_(*fabric_.find_node(first_adapter(fabric_.lab()))) {}

  // False: it did not come up.
  bool bring_up(const std::string& engine) {
    const auto start = std::chrono::steady_clock::now();
    fabric_.start(now_);
    settle();
    manager_.emplace(node_.management().mad_port(1),
                     sm::ManagerOptions{.own_port = 1, .engine = *sm::parse_engine(engine)});
    administrator_.emplace(node_.management().mad_port(1), sm::AdministratorOptions{});
    if (!manager_->start() || !administrator_->start()) return false;
    manager_->sweep();
    while (manager_->sweeps() == 0) {
      step();
      if (const auto deadline = fabric_.deadline()) now_ = std::max(now_, *deadline);
    }
    administrator_->subnet_changed(manager_->subnet(), manager_->routes(), kPrefix, now_);
    const sm::SweepReport& report = manager_->report();
    fmt::print("  {} switches, {} end ports, engine {}: up in {:.2f} s, peak memory {:.2f} GiB\n",
               report.switches, report.end_ports, engine, seconds_since(start), peak_gib());
    fmt::print("result: {} end ports {} up = {:.3f}\n", report.end_ports, engine,
               seconds_since(start));
    for (const std::string& problem : report.problems)
      fmt::print("  {}\n", problem);
    return report.problems.empty();
  }

  // Questions answered in a second.
  template <class Fill>
  double ask(wire::SaAttribute attribute, std::uint64_t mask, Fill&& fill) {
    if (!agent_) {
      agent_ = *node_.management().mad_port(1).add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                                          .class_version = wire::kSaClassVersion,
                                                          .rmpp = true},
                                                         client_);
    }
    client_.answers = client_.good = 0;
    const auto start = std::chrono::steady_clock::now();
    std::size_t sent = 0;
    while (client_.answers < kQueries) {
      for (; sent < kQueries && sent - client_.answers < kWindow; ++sent)
        send(attribute, mask, fill);
      node_.management_used();
      settle();
      administrator_->run(now_);
      node_.management_used();
      settle();
    }
    const double took = seconds_since(start);
    if (client_.good != kQueries) fmt::print("  {} refused\n", kQueries - client_.good);
    return static_cast<double>(kQueries) / took;
  }

  [[nodiscard]] Gid some_gid() {
    const auto& ends = administrator_->view().ends();
    return administrator_->view().gid_of(ends[random_.below(ends.size())]);
  }

 private:
  static std::string first_adapter(const fabric::Lab& lab) {
    for (const fabric::LabNode& node : lab.nodes) {
      if (node.kind == fabric::NodeKind::kChannelAdapter) return node.name;
    }
    return "";
  }

  void settle() {
    while (fabric_.deadline() && *fabric_.deadline() <= now_)
      fabric_.run(now_);
  }

  void step() {
    for (std::uint64_t sent = ~std::uint64_t{0}; sent != manager_->smps().sent;) {
      sent = manager_->smps().sent;
      manager_->run(now_);
      node_.management_used();
      settle();
      manager_->run(now_);
      node_.management_used();
    }
  }

  template <class Fill>
  void send(wire::SaAttribute attribute, std::uint64_t mask, Fill& fill) {
    wire::MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = wire::MadMethod::kGet,
                    .transaction_id = ++transaction_,
                    .attribute_id = static_cast<std::uint16_t>(attribute)}
        .write(mad);
    wire::SaHeader{.sm_key = 1, .component_mask = mask}.write(mad);
    fill(MutableBytes(mad).subspan(wire::SaHeader::kDataOffset));
    const Lid lid = node_.port(1).port_info().lid;
    const auto sent =
        node_.management().mad_port(1).send(*agent_,
                                            {.to = {.lid = lid, .qpn = kQp1, .qkey = kGsiQKey},
                                             .mad = mad,
                                             .timeout = 1s,
                                             .cookie = transaction_},
                                            now_);
    if (!sent) fmt::print("  {}\n", sent.error().message);
  }

  fabric::Fabric fabric_;
  fabric::Node& node_;
  Time now_{1s};
  std::optional<sm::SubnetManager> manager_;
  std::optional<sm::Administrator> administrator_;
  Client client_;
  std::optional<mgmt::AgentId> agent_;
  std::uint64_t transaction_ = 0;
  Random random_{1};
};

}  // namespace

int main() {
  constexpr double kGoal = 200'000;
  Bench bench(*fabric::generate_fat_tree(*fabric::parse_size("18x18x36"), "bench"));
  if (!bench.bring_up("ftree")) return 1;
  const double bare = bench.ask(wire::SaAttribute::kClassPortInfo, 0, [](MutableBytes) {});
  const double paths =
      bench.ask(wire::SaAttribute::kPathRecord,
                wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid, [&](MutableBytes data) {
                  wire::PathRecord{.dgid = bench.some_gid(), .sgid = bench.some_gid()}.write(data);
                });
  fmt::print("  ClassPortInfo {:.0f} a second\n", bare);
  fmt::print("  PathRecord    {:.0f} a second, goal >= {:.0f}  {}\n", paths, kGoal,
             paths >= kGoal ? "met" : "MISSED");
  fmt::print("result: path queries a second = {:.0f}\n", paths);
  fmt::print("result: path queries beside ClassPortInfo = {:.3f}\n", paths / bare);
  return paths >= kGoal ? 0 : 1;
}
