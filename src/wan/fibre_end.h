// SPDX-License-Identifier: Apache-2.0
// An extender's end of a fibre: a WAN that is a long InfiniBand link, on which packets travel as
// they are (the null encapsulation). Its near port is joined to the local fabric by an ordinary
// link; its far port is on the fibre, where the other end may be another FibreEnd or any InfiniBand
// port. To the subnet manager all of it is one cable.
//
//   fabric port <-- link --> near port | far port <===== fibre =====> far port | near port <-- link
//                            small     | bulk
//                            buffer    | buffer
//
// What the fabric sends waits in the near port's receive buffer until the other end has granted
// credit; what the fibre brings waits in the far port's, which is the bulk buffer, until the local
// link has. So the two run at rates of their own, and nothing is dropped for want of a buffer.
//
// A core: it is run when it was woken or its deadline has come, as a link::Port is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "link/port.h"
#include "wan/tunnel_sender.h"

namespace weft::wan {

struct FibreOptions {
  link::PortOptions near{.data_vls = 15};
  link::PortOptions far{.data_vls = 15};
  // By the lane that a packet came in on from the fabric: the one that it takes on the fibre, whose
  // credit it spends, and on which it leaves the other end.
  std::array<Vl, kLanes> egress = TunnelSender::Options::straight();
};

// A port on a fibre with so many bytes for each lane, at least a packet of the largest size and at
// most kMostFibreBytes. Where that is more than a standard link grants, it offers to count more
// blocks; and where those are not enough, larger ones too.
inline constexpr std::uint64_t kMostFibreBytes = std::uint64_t{128} << 30;
[[nodiscard]] link::PortOptions fibre_port(std::uint64_t lane_bytes, std::uint8_t data_vls);

class FibreEnd;

class FibreUser {
 public:
  virtual ~FibreUser() = default;
  // Call run() soon. Comes once until run() is called.
  virtual void wake(FibreEnd& end) = 0;
};

class FibreEnd final : private link::PortOwner {
 public:
  // What is joined to the two ports is disconnected before this goes; `user` outlives this.
  FibreEnd(const FibreOptions& options, FibreUser& user);
  FibreEnd(const FibreEnd&) = delete;
  FibreEnd& operator=(const FibreEnd&) = delete;
  ~FibreEnd() override = default;

  // Connect links here.
  [[nodiscard]] link::Port& near() { return near_; }
  [[nodiscard]] link::Port& far() { return far_; }
  [[nodiscard]] const link::Port& near() const { return near_; }
  [[nodiscard]] const link::Port& far() const { return far_; }

  // Looks for the other end from now on; lets go of it.
  void start(Time now);
  void stop(Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Both ends of the cable have found somebody.
  [[nodiscard]] bool joined() const { return cable_ == Cable::kJoined; }

 private:
  // What the two ports do, so that either fabric port sees a cable that leads to the other one.
  enum class Cable : std::uint8_t {
    kOut,        // neither looks for anybody
    kLooking,    // the far port looks for the other end
    kJoining,    // it has found one, and now the near port looks
    kJoined,     // both have found somebody
    kDetached,   // nobody is on the near side, so the far port must not seem to lead to somebody
    kReturning,  // somebody is there again, and the far port looks
  };
  // So long one side may be up without the other before it is taken for missing.
  static constexpr Duration kPatience = 500ms;

  // link::PortOwner
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void wake(link::Port& port) override;

  void wake();
  void follow(Time now);
  void go(Cable cable, Time now);
  static void arm(const link::Port& seen, link::Port& port, Time now);

  FibreUser& user_;
  const std::array<Vl, kLanes> egress_;
  link::Port near_;
  link::Port far_;
  Cable cable_ = Cable::kOut;
  Time since_{};
  bool fell_ = false;  // a port that was up has gone down or begun anew, and not by our doing
  bool own_doing_ = false;
  bool woken_ = false;
  bool near_woken_ = false;
  bool far_woken_ = false;
};

}  // namespace weft::wan
