// SPDX-License-Identifier: Apache-2.0
// One thread of a data service that is a process on a node of a lab: packets come by a raw queue
// pair of its own, go through its own instances of the services, and on. It is a program of its own
// on the adapter, with rings of its own to the lab's daemon, and shares nothing with the other
// threads but what they tell each other. Each flow comes to one of them (RSS). A router is at
// several ports, with a queue pair at each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/remote_mad_layer.h"
#include "daemon/service/place_ports.h"
#include "daemon/service/process_paths.h"
#include "daemon/service/record_queue.h"
#include "hca/datagram.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "port/port.h"
#include "service/runtime.h"
#include "umad/connection.h"

namespace weft::daemon {

enum class ServiceWorkerCounter : std::uint8_t {
  kMalformed,
  kRefused,
  kNoRoom,
  kRecordsTold,
  kRecordsHeard,
  kRecordsLost,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ServiceWorkerCounter::kCount)>
    kServiceWorkerCounters{{
        {"malformed", "packets dropped: longer than any can be"},
        {"not_sent", "packets dropped that the port did not send"},
        {"no_room", "packets dropped that were held, and wait for the port too long"},
        {"records_told", "records for the instances in other threads"},
        {"records_heard", "records of instances in other threads"},
        {"records_lost", "records that a thread, or the pair, has had no room for"},
    }};

class ServiceWorker final : private port::DatagramSink,
                            private service::RuntimeUser,
                            private service::PathAsker,
                            private ProcessPaths::User {
 public:
  // The other threads.
  class Peers {
   public:
    virtual ~Peers() = default;
    // Called by any of them: each other one is told by tell(), and counts what it has no room for.
    // False: one elsewhere had none, who does not.
    virtual bool publish(const ServiceWorker& from, std::size_t service, Bytes record) = 0;
    // Each other one forgets the paths that it knows, by forget_paths().
    virtual void paths_changed(const ServiceWorker& from) = 0;
    // How many orders all of them have been given.
    [[nodiscard]] virtual std::uint64_t orders() const = 0;
  };
  struct Config {
    umad::Place place;
    std::vector<mgmt::PortNumber> ports{1};  // of the node, each once; none: all that it has
    // That paths have changed is asked for by this one; the others hear it of their peers.
    bool subscribes = false;
    service::Chain chain{};          // all of it but the services
    InSubnet in_subnet{};            // empty: none of them wants to know
    std::optional<unsigned> core{};  // on which it is to run
  };
  using Services = std::vector<std::unique_ptr<service::Service>>;

  // Nothing comes to it before begin(). `peers` outlives it. Errors: the lab has no such node; the
  // node carries no service of type "process"; it has no room for one more program.
  static Expected<std::unique_ptr<ServiceWorker>> open(const Config& config, Services services,
                                                       Peers& peers);
  ~ServiceWorker() override;

  // Packets that are not for the port itself come to it from now on. Errors as port::Endpoint has
  // them.
  Expected<void> begin();
  // By its own thread, until stop(). Errors: the lab has ended; the core is not to be had.
  Expected<void> run();

  // Any thread; stop() signal handlers too.
  void stop();
  // What another one has published. What there is no room for is counted.
  void tell(std::size_t service, Bytes record);
  void forget_paths();
  // What its thread is to do once, between two packets, when the peers' orders() have become more;
  // and before it hears anything that another one tells after it has done the same. None is
  // waiting.
  using Order = std::function<void(Time)>;
  void prepare(Order order);
  // They are more.
  void wake() { reactor_->wake(); }

  // Whether the administrator tells when paths change; else what it answers is kept for less long.
  [[nodiscard]] bool subscribed() const { return subscribed_; }
  // Any thread.
  [[nodiscard]] const service::RuntimeCounters& counters() const { return runtime_->counters(); }
  [[nodiscard]] std::vector<CounterValue> own_counters() const;
  // Its own thread; or any, when that has ended.
  [[nodiscard]] std::vector<CounterValue> drops() const;
  [[nodiscard]] std::vector<CounterValue> service_counters() const;

 private:
  static constexpr std::size_t kBurst = service::Runtime::kBurst;
  static constexpr std::size_t kLongest = 4352;  // more than any packet has
  struct Buffer {
    std::array<std::byte, kLongest> bytes;
    std::size_t size = 0;
  };
  // What it is at a port.
  struct Side {
    mgmt::PortNumber port = 1;
    std::unique_ptr<port::Endpoint> endpoint{};
    std::unique_ptr<RemoteMadLayer> layer{};
    std::unique_ptr<ProcessPaths> paths{};
    bool diverted = false;
  };
  struct Out {
    Bytes bytes{};
    mgmt::PortNumber port = 1;
    bool sealed = true;
  };

  ServiceWorker(const Config& config, Services services, Peers& peers);
  Expected<void> prepare();
  Expected<void> add_side(mgmt::PortNumber port);
  [[nodiscard]] Side& side(mgmt::PortNumber port);
  void restore();
  void tell_subnet(const Side& side);
  Expected<void> enter_core() const;
  // True: there was something.
  bool work(Time now);
  Expected<void> hear_news();
  Expected<void> sleep(Time now);
  void hear_others(Time now);
  void follow_order(Time now);
  void handle(Time now);
  // What waits; true: nothing does any more.
  bool send_waiting();
  // How many of them their ports have taken; fewer: the next one takes no more now.
  std::size_t send_out(std::span<const Out> packets);
  std::size_t send_by(port::Endpoint& endpoint, std::span<const Out> packets);
  [[nodiscard]] static std::size_t posted_size(const Out& packet);
  [[nodiscard]] std::optional<Time> deadline() const;

  // port::DatagramSink
  void deliver(const hca::InDatagram& datagram) override;
  void end_run() override {}
  // service::RuntimeUser
  void send(Bytes packet, std::uint8_t out_port, bool sealed) override;
  void mirror(Bytes, const service::Arrival&) override {}  // no service that is here has one
  void publish(std::size_t service, Bytes record) override;
  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;
  // ProcessPaths::User
  void path_answered(std::uint64_t number, const std::optional<service::Path>& path) override;
  void paths_changed() override;

  const Config config_;
  Peers& peers_;
  Services services_;
  io::SystemEntropy entropy_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<port::Port> port_;
  std::vector<Side> sides_;  // the first one is there from the start
  std::unique_ptr<service::Runtime> runtime_;
  std::vector<io::Reactor::Registration> watches_;
  bool subscribed_ = false;
  bool news_ = true;  // of the port, to be heard

  std::unique_ptr<std::array<Buffer, kBurst>> buffers_;
  std::array<service::Item, kBurst> items_;
  std::size_t came_ = 0;
  std::vector<Out> outs_;  // of these buffers, that the port has not taken yet
  std::size_t sent_outs_ = 0;
  struct Kept {
    std::vector<std::byte> bytes;
    mgmt::PortNumber port = 1;
    bool sealed = true;
  };
  std::deque<Kept> kept_;  // that were held, and wait for the port
  hca::Burst burst_;
  unsigned turns_ = 0;

  RecordQueue records_;
  std::mutex order_mutex_;
  Order order_;               // that waits; empty: none
  std::uint64_t orders_ = 0;  // of its peers, that it has followed
  std::atomic<bool> forget_{false};
  std::atomic<bool> stopping_{false};
  CounterSet<ServiceWorkerCounter, kServiceWorkerCounters> counters_;
};

}  // namespace weft::daemon
