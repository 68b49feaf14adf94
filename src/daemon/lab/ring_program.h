// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "daemon/lab/answer_habit.h"
#include "daemon/lab/attach_counters.h"
#include "fabric/attachment.h"
#include "fabric/channel_adapter.h"
#include "link/packet_pool.h"
#include "port/ring/daemon_end.h"

namespace weft::daemon {

// Who serves a program. Called from inside the fabric's run() and from RingProgram's functions.
class RingOwner {
 public:
  virtual ~RingOwner() = default;
  // There is something to show the program, or to do: flush() it, and poll() it for a while.
  virtual void touched() = 0;
  // It got a copy of what `sender` sent, since it has not mapped its memory.
  virtual void not_mapped(port::ring::ProgramBlocks& sender) = 0;
  // The facts of a port are others.
  virtual void port_changed(mgmt::PortNumber port, bool reregister) = 0;
};

// A program on an adapter: between its rings and the adapter's ports.
class RingProgram final : private port::ring::DaemonEnd::Watcher {
 public:
  // So long may what a program has left behind wait for the port.
  static constexpr Duration kFarewell = 1s;

  // All that it is given outlives it.
  RingProgram(std::unique_ptr<port::ring::DaemonEnd> end, link::PacketPool& pool,
              AttachCounters& counters, RingOwner& owner);
  RingProgram(const RingProgram&) = delete;
  RingProgram& operator=(const RingProgram&) = delete;
  ~RingProgram() override;

  // Its place. Call it once, before all else.
  Expected<void> attach(fabric::ChannelAdapter& adapter);

  // On a port of the adapter.
  [[nodiscard]] fabric::Attachment& attachment(mgmt::PortNumber port) {
    return *places_[port - 1u].attachment;
  }
  // Where the queue pair is; on port 1, if it is not this program's.
  [[nodiscard]] fabric::Attachment& attachment_of(Qpn qpn);
  [[nodiscard]] port::ring::DaemonEnd& end() { return *end_; }
  // Why it is to be cut off, in words for a person. Nothing: it plays fair.
  [[nodiscard]] std::optional<std::string_view> offence() const;

  // Moves what the program has sent, a share of it, and takes back what it is done with. True:
  // there was something.
  bool poll(Time now);
  // The latter alone.
  bool collect(Time now);
  // Counts packets: which will be the last of what is in the ring now, and whether it, and all
  // before it, has gone to the adapter.
  [[nodiscard]] std::uint64_t last_in_ring() { return sent_ + end_->waiting(); }
  [[nodiscard]] bool has_sent(std::uint64_t packet) const {
    return sent_ > packet || (sent_ == packet && pending_ == nullptr);
  }
  // Shows the program what has changed.
  void flush();
  // It is likely to send something within a microsecond or so, unless it needs our processor.
  [[nodiscard]] bool is_awaited(Time now) { return habit_.is_awaited(now); }
  // Nobody polls until the program rings or the owner is told; false when there is something now.
  [[nodiscard]] bool sleep() { return blocked_ || end_->sleep(); }
  void look() { end_->look(); }

  // The program is gone: what comes for it is dropped, what it has sent still goes out.
  void leave(Time now);
  // When to wait no more for what cannot be sent. Nothing: it has not left.
  [[nodiscard]] std::optional<Time> leaving_until() const { return leaving_until_; }
  [[nodiscard]] bool drained() const { return to_send_ == 0 && pending_ == nullptr; }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }

 private:
  // The program on one port.
  class Place final : public fabric::Program {
   public:
    Place(RingProgram& whole, mgmt::PortNumber port) : whole_(whole), port_(port) {}
    void deliver(link::PacketPtr& packet, Time) override { whole_.deliver(packet, port_, Qpn{}); }
    void deliver_raw(link::PacketPtr& packet, Qpn to, Time) override {
      whole_.deliver(packet, port_, to);
    }
    void may_send(Time) override;
    void port_changed(bool reregister, Time) override {
      whole_.owner_.port_changed(port_, reregister);
    }

    std::unique_ptr<fabric::Attachment> attachment;

   private:
    RingProgram& whole_;
    const mgmt::PortNumber port_;
  };

  // `raw`: the raw queue pair that it is for, or 0.
  void deliver(link::PacketPtr& packet, mgmt::PortNumber port, Qpn raw);
  // The program got a copy of it.
  void note_copied(const BufferRef& payload);
  // port::ring::DaemonEnd::Watcher
  void blocks_freed() override { owner_.touched(); }

  [[nodiscard]] bool left() const { return leaving_until_.has_value(); }
  [[nodiscard]] bool take_next();
  // There is room among the arrivals.
  void resume(Time now);
  // False: not now, or never.
  [[nodiscard]] bool send_pending(Time now);

  std::unique_ptr<port::ring::DaemonEnd> end_;
  link::PacketPool& pool_;
  AttachCounters& counters_;
  RingOwner& owner_;
  std::deque<Place> places_;  // of each port
  link::PacketPtr pending_;   // taken out of the ring, not yet by the adapter
  Qpn pending_source_{};
  std::uint32_t pending_epoch_ = 0;
  std::uint8_t pending_port_ = 0;  // as the program says
  bool blocked_ = false;           // until may_send()
  bool refused_ = false;           // something waits for room among the arrivals
  bool forged_ = false;
  std::optional<Time> leaving_until_;
  std::uint64_t to_send_ = 0;  // when leaving
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t shown_ = 0;  // of these
  AnswerHabit habit_;
};

}  // namespace weft::daemon
