// SPDX-License-Identifier: Apache-2.0
#include "host/process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "hca/qp_state.h"
#include "host/context.h"
#include "host/report_json.h"
#include "host/report_server.h"
#include "io/runtime_dir.h"

namespace weft::host {
namespace {

using Json = nlohmann::json;

std::string own_comm() {
  std::ifstream file("/proc/self/comm");
  std::string comm;
  std::getline(file, comm);
  return comm;
}

Json access_json(std::uint32_t access) {
  Json out = Json::array();
  if (access & hca::kLocalWrite) out.push_back("local_write");
  if (access & hca::kRemoteWrite) out.push_back("remote_write");
  if (access & hca::kRemoteRead) out.push_back("remote_read");
  if (access & hca::kRemoteAtomic) out.push_back("remote_atomic");
  if (access & hca::kWindowBind) out.push_back("mw_bind");
  return out;
}

Json qp_json(const QueuePair::Report& qp) {
  Json out{{"lqpn", qp.qpn.value()},
           {"type", type_name(qp.type)},
           {"state", hca::to_string(qp.state)},
           {"pdn", qp.pd},
           {"send_cqn", qp.send_cq},
           {"recv_cqn", qp.receive_cq},
           {"queued_sends", qp.queued_sends},
           {"counters", counters_json(qp.counters)}};
  if (qp.peer) out["rqpn"] = qp.peer->value();
  if (qp.srq != 0) out["srqn"] = qp.srq;
  return out;
}

Json srq_json(const Context::Report::Srq& srq) {
  return {{"srqn", srq.id}, {"pdn", srq.pd}, {"max_wr", srq.max_receives}, {"posted", srq.size}};
}

Json cq_json(const Context::Report::Cq& cq) {
  return {{"cqn", cq.id}, {"cqe", cq.capacity}, {"used", cq.size}, {"polls", cq.polls}};
}

Json mr_json(const hca::MemoryRegion& region) {
  return {{"lkey", region.key},     {"rkey", region.key}, {"iova", region.iova},
          {"mrlen", region.length}, {"pdn", region.pd},   {"access", access_json(region.access)}};
}

template <class T, class F>
Json list_json(const std::vector<T>& objects, F to_json) {
  Json out = Json::array();
  const std::size_t count = std::min(objects.size(), kMostListed);
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(to_json(objects[i]));
  return out;
}

Json device_json(const Context::Report& report) {
  return {{"name", report.device.name},
          {"interface", report.device.interface},
          {"ifindex", report.device.ifindex},
          {"node_guid", format_guid(report.device.node_guid)},
          {"qp_count", report.queue_pairs.size()},
          {"cq_count", report.completion_queues.size()},
          {"mr_count", report.regions.size()},
          {"srq_count", report.shared_receive_queues.size()},
          {"qps", list_json(report.queue_pairs, qp_json)},
          {"cqs", list_json(report.completion_queues, cq_json)},
          {"mrs", list_json(report.regions, mr_json)},
          {"srqs", list_json(report.shared_receive_queues, srq_json)},
          {"qp_counters", counters_json(report.queue_pair_totals)},
          {"port_counters", counters_json(report.port_counters)}};
}

// The one state that a process has. Never destroyed: programs close devices in destructors that run
// after ours would.
class Process {
 public:
  static Process& instance() {
    static Process* const process = new Process;  // NOLINT: see above
    return *process;
  }

  const Expected<Config>& config() const { return config_; }

  void add(const std::shared_ptr<Context>& context) {
    const std::lock_guard lock(mutex_);
    entries_.push_back({context.get(), context});
    if (!server_ && !exiting_) start_server();
  }

  void remove(Context& context) {
    std::unique_ptr<ReportServer> stopped;  // joined after the lock is gone: a report takes it
    const Context::Report last = context.report();
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.key == &context; });
    if (found == entries_.end()) return;
    entries_.erase(found);
    retire(last);
    if (entries_.empty()) stopped = std::move(server_);
  }

  // Without waiting for a lock or for memory, which an interrupted thread may hold.
  void send_owed() noexcept {
    if (pid_.load() != getpid()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    for (const Entry& entry : entries_) {
      if (const auto context = entry.context.lock()) context->send_owed();
    }
  }

  std::vector<Context::Report> reports() {
    std::vector<std::shared_ptr<Context>> open;
    {
      const std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_) {
        if (auto context = entry.context.lock()) open.push_back(std::move(context));
      }
    }
    // Without the lock: a context's own lock is taken here, and it may be held by a thread that is
    // about to register.
    std::vector<Context::Report> out;
    out.reserve(open.size());
    for (const auto& context : open)
      out.push_back(context->report());
    return out;
  }

 private:
  struct Entry {
    Context* key;  // outlives the weak reference in the context's destructor
    std::weak_ptr<Context> context;
  };

  Process() : config_(read_config_from_environment()) {
    if (!config_) std::fprintf(stderr, "weft: %s\n", config_.error().message.c_str());
    std::atexit([] { instance().exit(); });
    std::at_quick_exit([] { instance().send_owed(); });
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().after_fork_in_child(); });
  }

  // A program does not fail because nobody can look at it: without a socket there is no report.
  void start_server() {
    auto path = report_socket_path(getpid());
    if (!path) return;
    auto server = ReportServer::start(*path, process_report_json);
    if (server) server_ = std::move(*server);
  }

  void retire(const Context::Report& report) {
    accumulate(retired_[report.device.name], total_counters(report));
  }

  void after_fork_in_child() {
    if (server_) {
      server_->abandon_after_fork();
      server_.reset();
    }
    // The parent still has these objects and will account for them.
    entries_.clear();
    retired_.clear();
    pid_.store(getpid());
    mutex_.unlock();
  }

  // The counters come before the server's thread is waited for: another thread of the program may
  // be on its way out as well, and ends the process when it is done.
  void exit() {
    send_owed();
    std::unique_ptr<ReportServer> stopped;
    {
      const std::lock_guard lock(mutex_);
      exiting_ = true;
      stopped = std::move(server_);
    }
    if (config_ && config_->stats) print_counters();
  }

  void print_counters() {
    const std::vector<Context::Report> open = reports();
    const std::lock_guard lock(mutex_);
    for (const Context::Report& report : open)
      retire(report);
    std::fputs(format_stats(retired_).c_str(), stderr);
  }

  const Expected<Config> config_;
  std::atomic<pid_t> pid_{getpid()};  // a child of vfork runs on its parent's memory
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<std::string, std::vector<CounterValue>> retired_;  // by device
  std::unique_ptr<ReportServer> server_;
  bool exiting_ = false;
};

}  // namespace

std::string report_to_json(std::span<const Context::Report> contexts, Wire wire) {
  Json devices = Json::array();
  for (const Context::Report& report : contexts)
    devices.push_back(device_json(report));
  const Json document = {{"version", 1},
                         {"pid", getpid()},
                         {"comm", own_comm()},
                         {"wire", to_string(wire)},
                         {"devices", std::move(devices)}};
  return dump(document);
}

std::string format_guid(Guid guid) {
  const std::uint64_t v = guid.value();
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", v >> 48, v >> 32 & 0xFFFF, v >> 16 & 0xFFFF,
                     v & 0xFFFF);
}

std::vector<CounterValue> total_counters(const Context::Report& report) {
  std::vector<CounterValue> total = report.port_counters;
  accumulate(total, report.queue_pair_totals);
  return total;
}

std::string format_stats(const std::map<std::string, std::vector<CounterValue>>& devices) {
  std::string out;
  for (const auto& [name, counters] : devices) {
    out += fmt::format("weft: {} of {} (pid {})\n", name, own_comm(), getpid());
    const std::string lines = format_counters(counters);
    out += lines.empty() ? std::string("  nothing was sent or received\n") : lines;
  }
  return out;
}

Expected<std::string> report_socket_path(pid_t pid) {
  auto directory = io::runtime_directory();
  if (!directory) return directory;
  return fmt::format("{}/{}.sock", *directory, pid);
}

const Expected<Config>& process_config() {
  return Process::instance().config();
}

void register_context(const std::shared_ptr<Context>& context) {
  Process::instance().add(context);
}

void unregister_context(Context& context) {
  Process::instance().remove(context);
}

void send_owed_by_process() noexcept {
  Process::instance().send_owed();
}

std::string process_report_json() {
  const Process& process = Process::instance();
  const Wire wire = process.config() ? process.config()->wire : Wire::kUdp;
  return report_to_json(Process::instance().reports(), wire);
}

}  // namespace weft::host
