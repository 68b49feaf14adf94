// SPDX-License-Identifier: Apache-2.0
// A service: a packet in, a verdict out. It runs in a Runtime (runtime.h), which gives it packets
// of its chain, carries the verdicts out and does the CRCs.
//
// A service belongs to one worker and is called by it alone: it has no lock. Where a service runs
// in several workers, or in a pair for high availability, each worker has an instance of its own,
// and they tell each other what they must all know by Host::publish() and apply().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "service/packet.h"
#include "service/verdict.h"

namespace weft::service {

// What the runtime does for a service.
class Host {
 public:
  virtual ~Host() = default;
  // Packets held under this key of the service are shown to it again, in their order, before the
  // runtime returns to its caller.
  virtual void release(std::uint64_t key) = 0;
  // Verdicts for whole flows with this tag count no more.
  virtual void revoke(FlowTag tag) = 0;
  // All of the service's.
  virtual void revoke_all() = 0;
  // The service's own record, at most kMostRecord bytes, for its instances elsewhere: they get it
  // by apply(), in order, or, when a link between them was broken, all that snapshot() says first.
  static constexpr std::size_t kMostRecord = 1024;
  virtual void publish(Bytes record) = 0;
  // Sends a packet that the service has made, whole and sealed, by this port: an answer to one that
  // came. False: more of them than packets that came are refused, and counted.
  virtual bool send(Bytes packet, std::uint8_t port) = 0;
};

class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  // For a person and for counters: "firewall". Constant.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Why it drops packets: a row for each `reason` of Verdict::drop(). Constant.
  [[nodiscard]] virtual std::span<const CounterInfo> drop_reasons() const { return {}; }
  // Before the first packet; the host outlives the service's last call.
  virtual void attach(Host& host) { host_ = &host; }

  // Decides about one packet. Called for every packet that no verdict of its for a whole flow
  // covers.
  [[nodiscard]] virtual Verdict handle(Packet& packet, Time now) = 0;

  // Its deadline has passed.
  virtual void run(Time now) { (void)now; }
  [[nodiscard]] virtual std::optional<Time> deadline() const { return std::nullopt; }

  // Whether there is a path to a port that packets leave for as the node's own
  // (Packet::leave_as_own()), each time that it was asked for.
  virtual void path_settled(const Gid& to, bool is_there) {
    (void)to;
    (void)is_there;
  }

  // What another instance has published. Bytes that are none of a record's are ignored and counted
  // by the service.
  virtual void apply(Bytes record, Time now) {
    (void)record;
    (void)now;
  }
  // All that an instance that begins must know, as records, each by one call.
  class RecordSink {
   public:
    virtual ~RecordSink() = default;
    virtual void take(Bytes record) = 0;
  };
  virtual void snapshot(RecordSink& sink) const { (void)sink; }

  // Its own counters beside the drops, which the runtime counts.
  [[nodiscard]] virtual std::vector<CounterValue> counters() const { return {}; }

 protected:
  [[nodiscard]] Host& host() const { return *host_; }
  [[nodiscard]] bool is_attached() const { return host_ != nullptr; }

 private:
  Host* host_ = nullptr;
};

}  // namespace weft::service
