// SPDX-License-Identifier: Apache-2.0
// One port of an element and its end of a link: link states, virtual lanes, credits, arbitration,
// the checks of what comes in, and the counters of all that (IBA 7). A core: it is handed packets
// and the time. docs/fabric.md tells how links work.
//
// Whoever runs ports keeps a list of those that were woken and a queue of their deadlines:
//
//   woken or deadline reached:   port.run(now); then ask for deadline() anew
//
// All packets arrive inside of run(), and received() may transmit() on any port at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "link/carrier.h"
#include "link/credit.h"
#include "link/link_integrity.h"
#include "link/packet.h"
#include "link/port_counters.h"
#include "link/receive_buffer.h"
#include "link/vl_arbitration.h"
#include "wire/flow_control.h"
#include "wire/sm/port_info.h"

namespace weft::link {

using wire::PortPhysicalState;
using wire::PortState;

// When flow-control packets are sent (docs/fabric.md).
enum class CreditUpdates : std::uint8_t {
  // When credit has grown enough, or the other end may be waiting for it. An idle link is silent.
  kOnChange,
  // By the standard's clock besides, and with its watchdog: where time is virtual or a line rate is
  // emulated.
  kPeriodic,
};

// IBA 7.9.4.3, in symbol times: how often at least, and the patience of the other end. A symbol of
// a 2.5 Gb/s lane takes 4 ns.
inline constexpr std::size_t kPeriodSymbols = 65'536;
inline constexpr std::size_t kWatchdogSymbols = 400'000;
inline constexpr std::uint8_t kUsualLocalPhyErrors = 8;  // until somebody sets LocalPhyErrors
inline constexpr Duration kStandardCreditPeriod = kPeriodSymbols * 4ns;
inline constexpr Duration kStandardCreditWatchdog = kWatchdogSymbols * 4ns;

struct PortOptions {
  std::uint8_t number = 1;         // as PortInfo counts
  std::uint8_t data_vls = 8;       // 1, 2, 4, 8 or 15
  std::uint8_t mtu_code = 5;       // MTUCap: 1 = 256 … 5 = 4096 bytes
  std::uint32_t vl_buffer = 1024;  // of each data VL, blocks: at least a packet of the largest size
  std::uint32_t vl15_buffer = 64;  // of VL15, packets
  CreditUpdates credit_updates = CreditUpdates::kOnChange;
  // kPeriodic: as above, and longer on a line that is slower. kOnChange: a packet that waits so
  // long for credit, and at least four round trips, asks for it.
  Duration credit_period = 10ms;
  Duration credit_watchdog = kStandardCreditWatchdog;  // kPeriodic only
  // How it offers to count what it takes in, to another port that makes such an offer: then each
  // sends as the other one counts. Nothing, or no such port: both count as the standard does.
  std::optional<CreditFormat> credit_format{};
};

class Port;

// What a port is part of. Calls come from inside the port's own calls.
class PortOwner {
 public:
  virtual ~PortOwner() = default;
  // It passed every check of the link. Keeping the packet, or a share of its hold, keeps its space
  // in the receive buffer.
  virtual void received(Port& port, PacketPtr packet, Time now) = 0;
  virtual void state_changed(Port& port, PortState before, Time now) = 0;
  // Faults of its link have exceeded LocalPhyErrors, which is trap 129 (IBA 14.2.5.1).
  virtual void integrity_lost(Port& /*port*/, Time /*now*/) {}
  // Call run() soon. Comes once until run() is called.
  virtual void wake(Port& port) = 0;
};

class Port final : private ReceiveBuffer::Observer {
 public:
  Port(const PortOptions& options, PortOwner& owner);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() override;

  [[nodiscard]] std::uint8_t number() const { return options_.number; }
  [[nodiscard]] const PortOptions& options() const { return options_; }

  // --- the cable -----------------------------------------------------------------------------
  // Plugs in a cable, or takes it out (null), which drops what waits. Not from inside of a call by
  // the port. The carrier outlives the port or its next connect().
  void connect(Carrier* carrier, Time now);
  [[nodiscard]] bool connected() const { return carrier_ != nullptr; }

  // From the carrier, inside of its deliver(). The physical layer is trained, or is lost.
  void physical_up(Time now);
  void physical_down(Time now);
  // It has been up, trains again in place, and is up again. Meanwhile packets wait to be sent, and
  // the link state is kept (LinkActDefer of IBA 7.2.7, which PortInfo calls Active).
  void physical_recovers(Time now);
  void physical_recovered(Time now);
  // What arrived; every drop is counted by its reason.
  void receive(PacketPtr packet, Time now);
  void receive(const wire::FlowControl& packet, Time now);
  // Bytes of a flow-control packet, perhaps damaged.
  void receive_flow_control(Bytes bytes, Time now);
  // From the carrier at any time: there is something to deliver.
  void wake();
  // From the carrier at any time: its line rate is another, but what was sent before that arrives
  // until `old_until`.
  void line_changed(Time now, Time old_until);
  // A slow receiver: packets of data VLs that have come in wait in the receive buffer until those
  // before them have gone on at this rate. 0: nothing waits.
  void set_drain_rate(std::uint64_t bytes_per_s, Time now);

  // --- the element ---------------------------------------------------------------------------
  // Sends on `vl` when arbitration and credit allow; the LRH's VL is rewritten where it differs.
  // Dropped and counted when the state, the lane or the MTU forbids it.
  void transmit(PacketPtr packet, Vl vl, Time now);
  // What waits on one lane, packets.
  [[nodiscard]] std::size_t backlog(Vl vl) const { return lanes_[vl.value()].queue.size(); }
  // What is free of the receive buffer of a data VL, blocks.
  [[nodiscard]] std::uint32_t receive_room(Vl vl) const { return buffer_->free(vl); }
  // How the other end counts what this one sends, since the link is physically up.
  [[nodiscard]] CreditFormat send_format() const { return send_format_; }

  // --- management: what the SMA reads and sets, IBA 14.2.5.6 -------------------------------------
  [[nodiscard]] PortState state() const { return state_; }
  [[nodiscard]] PortPhysicalState physical_state() const { return physical_; }
  // Commands of the subnet manager: Down, Armed or Active, from where IBA 7.2.7 allows; false where
  // it does not. Active in state Armed takes effect when the other end is known to be armed too.
  bool set_state(PortState state, Time now);
  // The other end has left Initialize, by its last flow-control packet: it takes data packets.
  [[nodiscard]] bool peer_armed() const { return peer_armed_; }
  // Polling, Sleep or Disabled.
  void set_physical_state(PortPhysicalState state, Time now);
  // LinkDownDefaultState: kPolling or kSleep.
  void set_link_down_default(PortPhysicalState state) { link_down_default_ = state; }
  // At most what the options have. Packets that wait on a lane that ceases are dropped.
  void set_operational_vls(std::uint8_t data_vls, Time now);
  [[nodiscard]] std::uint8_t operational_vls() const { return operational_vls_; }
  // NeighborMTU: the longest packets to send.
  void set_neighbor_mtu(std::uint8_t mtu_code) { neighbor_mtu_ = mtu_code; }
  [[nodiscard]] std::uint8_t neighbor_mtu() const { return neighbor_mtu_; }
  // Limits of IBA 18.2.5.4, of switches: 4.096 us * 2^code, above 19 none. At the head of a lane;
  // packets in a row that meet that limit stall the lane for 8 times as long (0: never); in the
  // switch as a whole (SwitchInfo.LifeTimeValue).
  void set_hoq_life(std::uint8_t code) { hoq_life_ = code; }
  void set_vl_stall_count(std::uint8_t count) { vl_stall_count_ = count; }
  void set_switch_life(std::uint8_t code) { switch_life_ = code; }
  // LocalPhyErrors: how many packets with a fault of this link it puts up with, less those without.
  void set_local_phy_errors(std::uint8_t count) { integrity_.set_threshold(count); }
  [[nodiscard]] VlArbitration& arbitration() { return arbitration_; }
  [[nodiscard]] const PortCounters& counters() const { return counters_; }
  // Of all its cables, by then; see Carrier::symbol_errors().
  [[nodiscard]] std::uint64_t symbol_errors(Time now) const {
    return symbol_errors_before_ + (carrier_ != nullptr ? carrier_->symbol_errors(now) : 0);
  }
  // kTxWaitNs, with the wait that is not over yet.
  [[nodiscard]] Duration transmit_wait(Time now) const;

  // --- time ----------------------------------------------------------------------------------
  // Takes in what has arrived, sends what may be sent, drops what waited too long, updates credit.
  void run(Time now);
  // When run() has something to do of its own accord.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  struct Lane {
    PacketQueue queue;
    Time head_since{};      // the front packet is the front
    Time stalled_until{};   // state VLStalled
    Time credit_told_at{};  // our last flow-control packet
    Time credit_heard_at{};
    SendCredit send;
    ReceiveCredit receive;
    std::uint8_t drops_in_row = 0;  // of packets that met the limit at the head
    bool stalled = false;
  };

  // Nothing waits to be sent, and there is nothing that only time brings about.
  [[nodiscard]] bool is_at_rest() const {
    return waiting_ == 0 && !wait_since_ && !active_wanted_ &&
           options_.credit_updates == CreditUpdates::kOnChange;
  }

  [[nodiscard]] bool recovers() const { return physical_ == PortPhysicalState::kLinkErrorRecovery; }

  // port.cc
  void enter(PortState state, Time now);
  void become_active(Time now);
  void train_anew(PortPhysicalState state, Time now);

  // port_receive.cc
  [[nodiscard]] std::optional<PortCounter> flaw(const Packet& packet) const;
  void count_received(const Packet& packet);
  void drop_damaged(PortCounter reason, Time now);
  void let_wait(PacketPtr packet, Time now);
  void drain(Time now);
  [[nodiscard]] Duration time_to_drain(const Packet& packet) const;

  // port_transmit.cc
  [[nodiscard]] std::optional<PortCounter> obstacle(const Packet& packet, Vl vl, Time now);
  void send_waiting(Time now);
  [[nodiscard]] std::uint16_t sendable(Time now);
  void send_head(Vl vl, Time now);
  void send_now(PacketPtr packet, Vl vl, Time now);
  [[nodiscard]] PacketPtr take_head(Vl vl, Time now);
  void drop_lane(Vl vl, PortCounter reason, Time now);
  void drop_expired(Vl vl, Time now);
  [[nodiscard]] std::optional<Time> head_limit(const Lane& lane) const;
  void note_waiting(Time now);
  void end_wait(Time now);

  // port_credit.cc
  void agree_on_credit();
  void begin_credit(Time now);
  void space_freed(Vl vl) override;
  void note_owed(Vl vl);
  void tell_credit(Vl vl, Time now);
  void tell_all_credit(Time now);
  void tell_owed_credit(Time now);
  void hear_upper(const wire::FlowControl& packet);
  void hear_credit(const wire::FlowControl& packet, Time now);
  [[nodiscard]] std::uint32_t free_blocks(Vl vl) const {
    return buffer_->free(vl) >> receive_format_.scale;
  }
  [[nodiscard]] bool counts_wide() const { return send_format_.wide || receive_format_.wide; }
  [[nodiscard]] Duration asking_period() const;
  void ask_for_credit(Vl vl, Time now);
  void keep_credit_alive(Time now);
  [[nodiscard]] bool may_send(const Lane& lane) const {  // the first that waits
    return lane.send.allows(send_format_.blocks(lane.queue.front()->size()));
  }
  [[nodiscard]] bool short_of_credit(const Lane& lane) const;
  [[nodiscard]] std::size_t watched_lanes() const;
  [[nodiscard]] Duration period() const;
  [[nodiscard]] Duration watchdog() const;
  void watch_from(Time now);
  void watch_credit(Time now);
  [[nodiscard]] std::optional<Time> credit_deadline() const;

  const PortOptions options_;
  PortOwner& owner_;
  Carrier* carrier_ = nullptr;
  std::uint64_t symbol_errors_before_ = 0;  // of cables that are no longer there
  PortState state_ = PortState::kDown;
  PortPhysicalState physical_ = PortPhysicalState::kPolling;
  PortPhysicalState link_down_default_ = PortPhysicalState::kPolling;
  std::uint8_t operational_vls_;
  std::uint8_t neighbor_mtu_;
  std::uint8_t hoq_life_ = 31;
  std::uint8_t switch_life_ = 31;
  std::uint8_t vl_stall_count_ = 0;
  LinkIntegrity integrity_;
  bool peer_armed_ = false;     // its flow-control packets say that it has left Initialize
  bool active_wanted_ = false;  // commanded, and waits for that
  bool woken_ = false;
  std::uint16_t waiting_ = 0;  // bit n: lane n has packets
  std::uint16_t owed_ = 0;     // bit n: lane n's credit is to be told
  Time next_period_{};         // kPeriodic: when all lanes are to be told
  std::optional<Time> wait_since_;
  std::uint64_t drain_bytes_per_s_ = 0;
  PacketQueue draining_;
  Time drained_at_{};  // when the first of them goes on
  ReceiveBuffer::Ptr buffer_;
  CreditFormat send_format_;
  CreditFormat receive_format_;
  std::uint32_t longest_cost_ = 0;  // of the largest packet, that the other end may wait to send
  bool grants_all_ = true;          // all space of a lane can be granted at a time
  std::optional<wire::FlowControl> upper_;  // halves of counts, whose lower ones come next
  std::array<Lane, kVls> lanes_;
  VlArbitration arbitration_;
  PortCounters counters_;
};

}  // namespace weft::link
