// SPDX-License-Identifier: Apache-2.0
// One end of the way between a data service's place in the fabric and the server where it works,
// which is a host that need not be in any fabric. Both ends are alike: a port that the port of a
// tunnel's end is joined to, whole packets of the fabric, and what the two tell each other
// (service_message.h).
//
//   place | ExternalEnd <- link -> TunnelEnd ===== TunnelEnd <- link -> ExternalEnd | server
//
// Packets go as they are, LRH through VCRC, each on the lane of its VL; messages have a lane of
// their own, so that they wait for no packet. A packet that came keeps its room in the tunnel's
// FIFO until it is let go of (Packet::hold), so that who is slow slows down the other end, and
// nothing is lost for want of a buffer.
//
// A core: it is run when it was woken or its deadline has come, as a link::Port is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/counters.h"
#include "base/time.h"
#include "link/packet.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/external/service_message.h"

namespace weft::wan {

enum class ExternalCounter : std::uint8_t {
  kOut,
  kIn,
  kSaid,
  kHeard,
  kDown,
  kTooMuch,
  kReserved,
  kBadMessage,
  kNotSaid,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ExternalCounter::kCount)>
    kExternalCounters{{
        {"external_out", "packets handed to the other end"},
        {"external_in", "packets that came from the other end"},
        {"external_said", "messages to the other end"},
        {"external_heard", "messages of the other end"},
        {"external_down", "packets dropped: the other end is not there"},
        {"external_no_credit", "packets dropped: too many wait for the other end"},
        {"external_reserved", "packets dropped: they look like messages of this end"},
        {"external_bad_message", "messages of the other end that cannot be"},
        {"external_not_said", "messages not sent: no memory, or too many wait"},
    }};
using ExternalCounters = CounterSet<ExternalCounter, kExternalCounters>;

class ExternalUser {
 public:
  virtual ~ExternalUser() = default;
  // A packet of the other end, from inside of run(): its link checks are passed, and nothing else
  // is known of it.
  virtual void came(link::PacketPtr packet, Time now) = 0;
  virtual void heard(const ServiceMessage& message, Time now) = 0;
  // The other end is there, or not any more; whoever is there anew knows nothing of before.
  virtual void changed(bool up, Time now) = 0;
  // Call run() soon. Comes once until run() is called.
  virtual void wake() = 0;
};

class ExternalEnd final : private link::PortOwner {
 public:
  // Of the port, and of that of the tunnel that it is joined to.
  static constexpr link::PortOptions kPort{.data_vls = 8, .vl_buffer = 2048};

  struct Options {
    std::size_t most = 4096;  // packets that wait, on each lane
  };

  // Both outlive it.
  ExternalEnd(const Options& options, link::PacketPool& pool, ExternalUser& user)
      : options_(options), pool_(pool), user_(user), port_(kPort, *this) {}
  ExternalEnd(const ExternalEnd&) = delete;
  ExternalEnd& operator=(const ExternalEnd&) = delete;
  ~ExternalEnd() override = default;

  // What the tunnel is joined to. It becomes Active by itself, and is disconnected before this
  // goes.
  [[nodiscard]] link::Port& port() { return port_; }
  [[nodiscard]] bool is_up() const { return port_.state() == link::PortState::kActive; }

  // A packet of the fabric, or one that the service has let go on. False: it was dropped, and
  // counted.
  bool send(link::PacketPtr packet, Time now);
  bool say(const ServiceMessage& message, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return port_.deadline(); }

  [[nodiscard]] const ExternalCounters& counters() const { return counters_; }

 private:
  // link::PortOwner
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void wake(link::Port& port) override;

  void hear(const link::Packet& packet, Time now);
  void wake();
  bool drop(ExternalCounter why);

  const Options options_;
  link::PacketPool& pool_;
  ExternalUser& user_;
  ExternalCounters counters_;
  link::Port port_;
  bool told_up_ = false;  // as the user knows it
  bool fell_ = false;     // the port was Active, and is or was not any more
  bool woken_ = false;
};

}  // namespace weft::wan
