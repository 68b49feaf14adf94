// SPDX-License-Identifier: Apache-2.0
// An opened device in an application's process: the objects of the application, the port they send
// through, and the thread that makes progress when the application does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "hca/memory_table.h"
#include "hca/pkey_table.h"
#include "host/async_events.h"
#include "host/completion_channel.h"
#include "host/completion_queue.h"
#include "host/config.h"
#include "host/device_list.h"
#include "host/progress.h"
#include "host/queue_pair.h"
#include "host/receiver.h"
#include "host/shared_receive_queue.h"
#include "host/xrc_domain.h"
#include "io/link_monitor.h"
#include "io/system_entropy.h"
#include "port/port.h"

namespace weft::host {

// What ibv_query_device reports. Constants of this implementation.
struct DeviceLimits {
  std::uint32_t max_qp = 16'383;
  std::uint32_t max_qp_wr = 16'384;
  std::uint32_t max_sge = 32;
  std::uint32_t max_inline = 512;
  std::uint32_t max_cq = 65'536;
  std::uint32_t max_cqe = 1u << 20;
  std::uint32_t max_mr = static_cast<std::uint32_t>(hca::MemoryTable::kMaxRegions);
  std::uint64_t max_mr_size = ~std::uint64_t{0} >> 1;
  std::uint32_t max_pd = 65'536;
  std::uint32_t max_ah = 1u << 20;
  std::uint32_t max_mcast_grp = 8'192;
  std::uint32_t max_mcast_qp_attach = 16'383;
  std::uint32_t max_srq = 16'383;
  std::uint32_t max_srq_wr = 16'384;
  std::uint32_t max_xrc_domains = 65'536;
  std::uint32_t max_reads = 16;  // reads and atomics at a time, as responder and as requester
  std::uint32_t max_mw = static_cast<std::uint32_t>(hca::MemoryTable::kMaxWindows);
  std::uint32_t max_message = 1u << 31;  // of a connection, bytes
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  static Expected<std::shared_ptr<Context>> open(const DeviceInfo& device, const Config& config);
  // The same on a port that the caller has made.
  static Expected<std::shared_ptr<Context>> open_on(std::unique_ptr<port::Port> port,
                                                    const DeviceInfo& device, const Config& config);
  ~Context();
  // Stops the thread and detaches from the process-wide lists. Objects still alive keep the memory.
  void close();
  // The process is about to end: has the thread send what is owed (QueuePair::send_owed) and what
  // waits for a poll. For any thread at any time, in signal handlers too.
  void send_owed() noexcept { progress_->send_owed(); }

  [[nodiscard]] const DeviceInfo& device() const { return device_; }
  [[nodiscard]] const DeviceLimits& limits() const { return limits_; }
  // Of the adapter, counted from 1.
  [[nodiscard]] std::uint8_t ports() const { return port_->ports(); }
  [[nodiscard]] bool has_port(unsigned port) const { return port >= 1 && port <= ports(); }
  // `port` is one that it has, here and below.
  [[nodiscard]] port::PortAttributes port_attributes(std::uint8_t port) {
    return port_->attributes(port);
  }
  [[nodiscard]] hca::UdFraming framing() const { return port_->framing(); }
  [[nodiscard]] bool weft_peers_only() const { return port_->weft_peers_only(); }
  [[nodiscard]] bool lossless() const { return port_->lossless(); }
  [[nodiscard]] bool carries_raw() const { return port_->carries_raw(); }
  [[nodiscard]] bool carried_by_process() const { return port_->carried_by_process(); }
  [[nodiscard]] Duration keep_alive() const { return config_.keep_alive; }
  [[nodiscard]] AsyncEventQueue& async_events() { return *async_events_; }

  // Protection domains. release_pd: EBUSY while regions, queue pairs or address handles use it.
  Expected<hca::PdHandle> allocate_pd();
  Expected<void> release_pd(hca::PdHandle pd);
  void use_pd(hca::PdHandle pd);
  void unuse_pd(hca::PdHandle pd);

  // `access` is a mask of hca::Access. The region counts as a user of its domain.
  Expected<hca::MemoryRegion> register_memory(hca::PdHandle pd, void* address, std::uint64_t length,
                                              std::uint64_t iova, std::uint32_t access);
  Expected<void> deregister_memory(const hca::MemoryRegion& region);

  Expected<std::shared_ptr<CompletionQueue>> create_completion_queue(
      std::size_t capacity, std::shared_ptr<CompletionChannel> channel, void* user);
  void remove(CompletionQueue& queue);  // after its destroy() succeeded
  Expected<std::shared_ptr<QueuePair>> create_queue_pair(const QueuePairConfig& config);
  void remove(QueuePair& queue_pair);  // by QueuePair::destroy

  Expected<std::shared_ptr<SharedReceiveQueue>> create_shared_receive_queue(
      const SharedReceiveQueueConfig& config);
  // By SharedReceiveQueue::destroy: no packet finds it any more; then it is forgotten.
  void retire(SharedReceiveQueue& queue);
  void remove(SharedReceiveQueue& queue);

  // XRC domains (IBA annex A14), by numbers from 1. release: EBUSY while in use.
  Expected<std::uint32_t> allocate_xrc_domain();
  Expected<void> release_xrc_domain(std::uint32_t domain);
  // By queue pairs; null for a domain that does not exist.
  [[nodiscard]] hca::XrcQueues* xrc_queues(std::uint32_t domain);

  // Address handles: checks the address, and fills in what `path.port` knows of it: `path.sgid`,
  // the scope of link-local addresses, of `path.source_path_bits` those that the LMC leaves. EINVAL
  // names the attribute that is wrong.
  Expected<void> complete_path(hca::Path& path);

  [[nodiscard]] hca::MemoryTable& memory() { return memory_; }
  [[nodiscard]] hca::PKeyTable& pkeys(std::uint8_t port) { return pkeys_[port - 1u]; }

  // By queue pairs: have the thread send at `when` what then still waits for a poll of `queue`.
  void arm_flush(const std::shared_ptr<CompletionQueue>& queue, Time when);
  [[nodiscard]] Gid group_address(const Gid& group) const { return port_->group_address(group); }
  // By queue pairs: have the thread look after it at `when`, a deadline of its core.
  void arm_deadline(QueuePair& queue_pair, Time when);
  // By queue pairs: whose turn it is to send; and have the thread look at `when` whether somebody's
  // has come.
  [[nodiscard]] SendTurns& send_turns();
  void arm_turns(Time when);
  // By queue pairs: the receiver may have more descriptors now.
  Expected<void> refresh(Receiver& receiver) { return progress_->refresh(receiver); }
  // By queue pairs: hands them the agreements that the connection manager has told of.
  void take_agreements();
  // By completion queues: the thread watches the receiver, from now on or again.
  void watch(Receiver& receiver);
  // By completion queues with many receivers: reads those that have something; how much that was.
  std::size_t receive_ready();

  // A snapshot for `weft resource`, and the sum of counters for --stats.
  struct Report {
    DeviceInfo device;
    struct Cq {
      std::uint32_t id;
      std::size_t capacity, size;
      std::uint64_t polls;
    };
    struct Srq {
      std::uint32_t id;
      hca::PdHandle pd;
      std::uint32_t max_receives;
      std::size_t size;
    };
    std::vector<QueuePair::Report> queue_pairs;
    std::vector<Srq> shared_receive_queues;
    std::vector<Cq> completion_queues;
    std::vector<hca::MemoryRegion> regions;
    std::vector<CounterValue> port_counters;
    std::vector<CounterValue> queue_pair_totals;  // those that are gone included
  };
  [[nodiscard]] Report report();

 private:
  Context(const DeviceInfo& device, const Config& config);
  static Expected<std::shared_ptr<Context>> start(std::shared_ptr<Context> context,
                                                  std::unique_ptr<port::Port> port);
  Expected<void> check(const QueuePairConfig& config) const;
  Expected<void> use_queue_pair(const std::shared_ptr<QueuePair>& queue_pair);
  Expected<std::shared_ptr<Receiver>> receiver_for(const std::shared_ptr<port::Inlet>& inlet);
  void release_receiver(Receiver& receiver);
  // By the thread, when the kernel, the port or the connection manager has something to say.
  void on_news();
  // What of it concerns a port, as PortNews.
  [[nodiscard]] std::uint32_t port_news(std::uint8_t port);
  void tell(std::uint8_t port, std::uint32_t port_news);
  // The device is gone: so that nobody waits for what will not come.
  void fail_queue_pairs();

  DeviceInfo device_;
  Config config_;
  DeviceLimits limits_;
  io::SystemEntropy entropy_;
  hca::MemoryTable memory_{entropy_};
  std::unique_ptr<port::Port> port_;
  std::unique_ptr<AsyncEventQueue> async_events_;
  std::deque<hca::PKeyTable> pkeys_;                     // of each port
  std::optional<io::LinkMonitor> link_monitor_;          // where the port hears of nothing itself
  port::LinkState last_state_ = port::LinkState::kDown;  // by the thread, once it runs
  std::vector<port::GidEntry> last_gids_;                // the same
  std::unique_ptr<Progress> progress_;

  std::mutex mutex_;  // control path: the lists below
  std::unordered_map<hca::PdHandle, std::uint32_t> pd_users_;
  hca::PdHandle next_pd_ = 1;
  std::uint32_t next_cq_ = 1;
  std::map<std::uint32_t, CompletionQueue*> completion_queues_;
  std::map<std::uint32_t, QueuePair*> queue_pairs_;  // by number
  std::uint64_t next_receiver_ = 1;
  const std::shared_ptr<std::atomic<std::uint32_t>> busy_sharers_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);
  // By inlet, with the number of queue pairs that were given it.
  struct SharedReceiver {
    std::shared_ptr<Receiver> receiver;
    std::size_t users = 0;
  };
  std::map<const port::Inlet*, SharedReceiver> receivers_;
  std::uint64_t retired_strays_ = 0;  // of receivers that are gone
  std::uint32_t next_srq_ = 1;
  std::map<std::uint32_t, SharedReceiveQueue*> shared_queues_;
  struct Domain {
    std::unique_ptr<XrcDomain> queues;
    std::size_t users = 0;
  };
  std::uint32_t next_xrc_domain_ = 1;
  std::map<std::uint32_t, Domain> xrc_domains_;
  std::vector<CounterValue> retired_counters_;  // of queue pairs that are gone
};

}  // namespace weft::host
