// SPDX-License-Identifier: Apache-2.0
// A consumer of an adapter's port that lives in the daemon, as drivers live in a kernel: queue
// pairs as cores, in the thread of the fabric. What it sends from frame memory is not copied:
// packets refer to it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/recent_map.h"
#include "base/ring.h"
#include "daemon/lan/frame_memory.h"
#include "fabric/channel_adapter.h"
#include "hca/pkey_table.h"
#include "hca/queue_pair.h"
#include "link/packet_pool.h"
#include "port/ring/link_frame.h"
#include "port/ring/port_facts.h"

namespace weft::daemon {

enum class ResidentCounter : std::uint8_t {
  kTxPackets,
  kTxUnaddressed,
  kTxRefused,
  kTxNoPacket,
  kTxCopied,
  kRxPackets,
  kRxMalformed,
  kRxBadIcrc,
  kRxNoQueuePair,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ResidentCounter::kCount)>
    kResidentCounters{{
        {"tx_packets", "packets sent"},
        {"tx_unaddressed", "packets dropped: the port is not active, or they have no way by LID"},
        {"tx_refused", "packets dropped: they are not what the port may send"},
        {"tx_no_packet", "packets dropped: the fabric has no room for more"},
        {"tx_copied", "packets whose payload was copied, since it is not in the frame memory"},
        {"rx_packets", "packets received"},
        {"rx_malformed", "packets dropped: they are not what they say"},
        {"rx_bad_icrc", "packets dropped: their ICRC is wrong"},
        {"rx_no_queue_pair",
         "packets dropped: their queue pair, or all that were in their group, have gone"},
    }};

class ResidentConsumer final : private fabric::Program {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // There is something for run() to do. From inside the fabric's run() and from posted().
    virtual void touched() = 0;
    // facts() are others. From inside the fabric's run().
    virtual void port_changed(bool reregister) = 0;
  };

  // invalid_argument: the adapter has no such port. All that it is given outlives it.
  static Expected<std::unique_ptr<ResidentConsumer>> open(fabric::ChannelAdapter& adapter,
                                                          mgmt::PortNumber port,
                                                          link::PacketPool& pool,
                                                          FrameMemory& memory, Owner& owner);
  ResidentConsumer(const ResidentConsumer&) = delete;
  ResidentConsumer& operator=(const ResidentConsumer&) = delete;

  [[nodiscard]] const port::PortFacts& facts() const { return facts_; }
  [[nodiscard]] hca::PKeyTable& pkeys() { return pkeys_; }

  // A number for a queue pair; errors as of fabric::Attachment.
  [[nodiscard]] Expected<Qpn> allocate() { return attachment_->allocate(); }
  // From now on it is driven from here; it has a number of allocate(), and outlives remove().
  void add(hca::QueuePair& queue_pair);
  // Its number is free again. Not from inside of run().
  void remove(hca::QueuePair& queue_pair);
  // Multicast groups, of a queue pair that was added: packets to them go to it, and it takes them
  // if it is attached to them. Errors as of fabric::Attachment.
  Expected<void> join(Qpn qpn, const Gid& group);
  Expected<void> leave(Qpn qpn, const Gid& group);

  // Something was posted to it, or it was modified.
  void posted(hca::QueuePair& queue_pair);
  // Sends what may go, and tells queue pairs that a run of packets is over.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return earliest_; }
  // The port takes no more now, and what is to be sent waits: touched() says when it does.
  [[nodiscard]] bool blocked() const { return blocked_; }

  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  struct Member {
    hca::QueuePair* queue_pair = nullptr;
    std::vector<Gid> groups{};
    bool ready = false;     // is among ready_
    bool received = false;  // and in the midst of a run of packets
    std::optional<Time> due{};
  };

  ResidentConsumer(fabric::ChannelAdapter& adapter, mgmt::PortNumber port, link::PacketPool& pool,
                   FrameMemory& memory, Owner& owner);
  // fabric::Program
  void deliver(link::PacketPtr& packet, Time now) override;
  void may_send(Time now) override;
  void port_changed(bool reregister, Time now) override;

  void read_facts();
  void make_ready(Member& member);
  // Those whose deadline has come are ready.
  void look_at_deadlines(Time now);
  // Hands over the packets that wait; false: the port takes no more now.
  bool drain(Time now);
  // Sends all that it has; false: the port takes no more now.
  bool send_all(Member& member, Time now);
  void take_burst(Qpn source);
  void count(ResidentCounter counter, std::size_t n = 1) { counters_.add_in_turn(counter, n); }
  [[nodiscard]] link::PacketPtr make_packet(const port::Route& route, const hca::OutPacket& packet);
  void hand_on(const hca::InDatagram& datagram, Time now);

  fabric::ChannelAdapter& adapter_;
  const mgmt::PortNumber port_;
  link::PacketPool& pool_;
  FrameMemory& memory_;
  Owner& owner_;
  std::unique_ptr<fabric::Attachment> attachment_;
  port::PortFacts facts_{};
  hca::PKeyTable pkeys_;
  RecentMap<Qpn, Member> members_;
  std::vector<Member*> ready_;    // to be run
  std::vector<Member*> running_;  // of these, those whose turn it is
  std::optional<Time> earliest_;  // deadline of all of them, or before it
  hca::Burst burst_;
  struct Waiting {
    Qpn source{};
    std::uint32_t epoch = 0;
    link::PacketPtr packet;
  };
  Ring<Waiting> waiting_;    // for room at the port; at most one burst
  bool blocked_ = false;     // until may_send()
  port::LinkFrame frame_{};  // of a packet that is read whole
  CounterSet<ResidentCounter, kResidentCounters> counters_;
};

}  // namespace weft::daemon
