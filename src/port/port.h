// SPDX-License-Identifier: Apache-2.0
// What an HCA engine sends through, whatever carries it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/ids.h"
#include "hca/datagram.h"
#include "hca/raw_rule.h"
#include "hca/ud_queue_pair.h"

namespace weft::port {

enum class LinkLayer : std::uint8_t { kEthernet, kInfiniband };

enum class LinkState : std::uint8_t {
  kDown = 1,
  kInit = 2,
  kArmed = 3,
  kActive = 4
};  // IBA 14.2.5.6

struct GidEntry {
  Gid gid;
  std::uint32_t ifindex = 0;
  friend bool operator==(const GidEntry&, const GidEntry&) = default;
};

// What a port says about itself now.
struct PortAttributes {
  LinkState state = LinkState::kDown;
  bool link_up = false;              // physical state LinkUp
  std::uint32_t max_mtu = 4096;      // largest message of a datagram queue pair, bytes
  std::uint32_t active_mtu = 4096;   // 256, 512, 1024, 2048 or 4096
  std::uint32_t max_message = 4096;  // bytes
  std::uint64_t rate_mbps = 0;       // 0: unknown
  std::vector<GidEntry> gids;
  std::vector<PKey> pkeys;  // the whole table; 0: an entry that is not in use
  LinkLayer link_layer = LinkLayer::kEthernet;
  // Ports of a fabric, from PortInfo (IBA 14.2.5.6) in its codes; 0 elsewhere.
  Lid lid{};
  Lid sm_lid{};
  Sl sm_sl{};
  std::uint8_t lmc = 0;
  std::uint8_t physical_state = 0;
  std::uint8_t width_active = 0;
  std::uint8_t speed_active = 0;  // LinkSpeedActive; above QDR 16 times LinkSpeedExtActive
  std::uint8_t vl_cap = 0;
  std::uint8_t subnet_timeout = 0;
  std::uint8_t init_type_reply = 0;
  std::uint32_t capabilities = 0;
  std::uint16_t pkey_violations = 0;
  std::uint16_t qkey_violations = 0;
};

// What has happened to a port (IBA 11.6.3.3, 11.6.3.4). A bit mask.
enum PortNews : std::uint32_t {
  kNewsActive = 1u << 0,       // it has become Active
  kNewsError = 1u << 1,        // it is Active no more
  kNewsLid = 1u << 2,          // LID or LMC
  kNewsPKey = 1u << 3,         // the P_Key table
  kNewsGid = 1u << 4,          // the GID table
  kNewsSm = 1u << 5,           // LID or SL of the subnet manager
  kNewsReregister = 1u << 6,   // the subnet manager asks for everything to be registered anew
  kNewsDeviceFatal = 1u << 7,  // the adapter is gone for good
};

// Receives what arrived at an endpoint.
class DatagramSink {
 public:
  virtual ~DatagramSink() = default;
  virtual void deliver(const hca::InDatagram& datagram) = 0;
  // One of the packets that were sent from here did not arrive, somebody says.
  virtual void undelivered(const hca::Undelivered& packet) { static_cast<void>(packet); }
  // A run is over: the next call may be a while away.
  virtual void end_run() = 0;
};

// What arrives for one queue pair, or for several that share a socket.
class Inlet {
 public:
  Inlet() = default;
  virtual ~Inlet() = default;
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;
  // Takes what is there, without waiting, at most about `budget` datagrams; returns how many. Every
  // drop is counted. In at most one thread at a time.
  virtual std::size_t receive(DatagramSink& sink, std::size_t budget) = 0;
  // The next receive() looks for reports of the network about what was sent: a descriptor says that
  // there are some. Any thread.
  virtual void expect_errors() {}
  // Descriptors that become readable when receive() has something to do. More may appear with the
  // first attach().
  [[nodiscard]] virtual std::vector<int> descriptors() const = 0;
  // Somebody waits on them from now on until one is readable, or looks at them no more. Without
  // this they may stay silent: what is read from memory wakes only those who wait. Any thread.
  virtual void wait() {}
  // Bytes that the wire can hold here before it drops, by the kernel's accounting.
  [[nodiscard]] virtual std::uint32_t capacity() const = 0;
};

// One queue pair's place on the wire: its number and whatever carries its packets. send() may run
// at the same time as the inlet's receive(), in at most one thread.
class Endpoint : public hca::BurstSink {
 public:
  [[nodiscard]] virtual Qpn qpn() const = 0;
  // Where its packets arrive. The same for endpoints that share a socket.
  [[nodiscard]] virtual const std::shared_ptr<Inlet>& inlet() const = 0;
  // Whether `next`, a burst of an endpoint of the same inlet, goes where `first` goes, so that they
  // may leave in one call. Their lengths are not looked at.
  [[nodiscard]] virtual bool same_way(const hca::Burst& first, const hca::Burst& next) const {
    static_cast<void>(first);
    static_cast<void>(next);
    return false;
  }
  // Hands bursts of this endpoint and of others, which go the same way and have as many packets,
  // bytes and lengths as one Burst may have, to the wire in one call: all or nothing. No result:
  // the wire had some objection, and took nothing. What it is, send() of each tells.
  virtual std::optional<hca::SendResult> send_together(std::span<const hca::Burst* const> bursts) {
    static_cast<void>(bursts);
    return std::nullopt;
  }
  // To another port of the adapter, with its number and its groups: what is sent from now on leaves
  // there. What was sent before and is still on its way may be lost.
  virtual Expected<void> move_to(std::uint8_t port) {
    static_cast<void>(port);
    return fail(std::errc::invalid_argument, "there is port 1 only");
  }
  // Multicast groups, as Port::group_address() names them.
  virtual Expected<void> attach(const Gid& group) = 0;
  virtual Expected<void> detach(const Gid& group) = 0;
  // Of a raw queue pair: which packets of its port come to it; queue pairs that say the same, be
  // they of other processes, share them, flow by flow. file_exists: they go to a service of the
  // lab's daemon. not_enough_memory: there are as many rules as may be. restore() is for each that
  // divert() has taken. operation_not_supported: it is no raw queue pair.
  virtual Expected<void> divert(const hca::RawRule& rule) {
    static_cast<void>(rule);
    return fail(std::errc::operation_not_supported, "flows are for queue pairs of raw packets");
  }
  virtual Expected<void> restore(const hca::RawRule& rule) { return divert(rule); }
};

// Where the host's connection manager tells of agreements. Threads may share it.
class Agreements {
 public:
  virtual ~Agreements() = default;
  // Readable when next() has something. It may be closed, and its number be another's, while the
  // last queue pair of the port goes.
  [[nodiscard]] virtual int descriptor() const = 0;
  // The oldest; nothing when there is none. Does not wait.
  virtual std::optional<hca::Agreement> next() = 0;
};

enum class Service : std::uint8_t {
  kDatagram,
  kUnreliable,  // connections without acknowledgements (UC)
  kReliable,    // connections that give way to congestion (RC, XRC)
};

// The ports of an adapter. All but those on a fabric have one.
class Port {
 public:
  virtual ~Port() = default;
  // They count from 1.
  [[nodiscard]] virtual std::uint8_t ports() const { return 1; }
  // Of one of them.
  [[nodiscard]] virtual PortAttributes attributes(std::uint8_t port) = 0;
  [[nodiscard]] virtual hca::UdFraming framing() const = 0;
  // The one name of a multicast group on this wire: several MGIDs may stand for one IP address.
  [[nodiscard]] virtual Gid group_address(const Gid& group) const = 0;
  // A new queue pair number and its endpoint, on port 1. ENOMEM when no number is free; the message
  // says how to get more. EOPNOTSUPP for a service that the wire cannot carry (`bare`:
  // connections).
  virtual Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) = 0;
  // Whether it has any for whole packets, and one of these, on port 1. EOPNOTSUPP: it has none;
  // EPERM: the program may have none; ENOMEM.
  [[nodiscard]] virtual bool carries_raw() const { return false; }
  virtual Expected<std::unique_ptr<Endpoint>> open_raw_endpoint() {
    return fail(std::errc::operation_not_supported,
                "raw packets are for nodes of a lab: this wire has none");
  }
  // Queue pair 1, where connections are managed (IBA 12). EADDRINUSE when another process of this
  // host has it; EOPNOTSUPP on a wire that has none.
  virtual Expected<std::unique_ptr<Endpoint>> open_management() = 0;
  // Whether packets are carried by another process of this machine, which needs a processor now and
  // then: perhaps that of who waits for them.
  [[nodiscard]] virtual bool carried_by_process() const { return false; }
  // Whether the wire holds senders back rather than drop what it has no room for.
  [[nodiscard]] virtual bool lossless() const { return false; }
  // Whether every peer on this wire is Weft, so that extensions may be used unasked.
  [[nodiscard]] virtual bool weft_peers_only() const = 0;
  // Where other peers turn out to be Weft; null on a wire, or without a connection manager, where
  // they never do. Not before the first open_endpoint(), and new with the first after the last
  // endpoint was closed.
  [[nodiscard]] virtual std::shared_ptr<Agreements> agreements() { return nullptr; }
  // Readable when hear_news() has something to do. -1: the port itself hears of nothing, its
  // attributes are to be compared after news of the kernel about the interface.
  [[nodiscard]] virtual int news_descriptor() const { return -1; }
  // Takes in what has happened at all of the adapter's ports. Does not wait. In one thread, as
  // take_news().
  virtual void hear_news() {}
  // PortNews of one of them that were heard since the last call; attributes() are those after it.
  // That the adapter is gone is news of port 1.
  virtual std::uint32_t take_news(std::uint8_t port) {
    static_cast<void>(port);
    return 0;
  }
  [[nodiscard]] virtual std::vector<CounterValue> counters() const = 0;
};

}  // namespace weft::port
