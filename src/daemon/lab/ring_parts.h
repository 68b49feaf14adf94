// SPDX-License-Identifier: Apache-2.0
// How the parts of a lab on one machine come together: of two, the one that the lab file names
// first listens, and the other one comes to it, as often as it has to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/ring_part.h"
#include "daemon/lab/ring_session.h"
#include "daemon/listener.h"
#include "io/reactor.h"
#include "io/timer_wheel.h"

namespace weft::daemon {

enum class RingPartsCounter : std::uint8_t {
  kConnections,
  kTurnedAway,
  kForeign,
  kNonsense,
  kRefused,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RingPartsCounter::kCount)>
    kRingPartsCounters{{
        {"parts_connections", "connections with other parts of the lab on this machine"},
        {"parts_turned_away", "connections ended at once, for want of room or of descriptors"},
        {"parts_foreign", "connections of other users, ended at once"},
        {"parts_nonsense", "connections ended because what was said makes no sense"},
        {"parts_refused", "connections that another part has refused"},
    }};

class RingParts final : private RingSession::Owner {
 public:
  struct Config {
    std::string lab;
    std::string part;    // this one
    std::string socket;  // to listen at
  };
  // Where another part listens.
  using SocketOf = std::function<std::string(const std::string& part)>;

  static Expected<std::unique_ptr<RingParts>> open(Config config, SocketOf socket_of,
                                                   io::Reactor& reactor);
  RingParts(const RingParts&) = delete;
  RingParts& operator=(const RingParts&) = delete;

  // Before start(); `listens`: of the two it is this one. It stays as long as this.
  RingPart& add(const std::string& name, bool listens);
  // From now on others are looked for.
  void start(Time now);

  bool poll(Time now);
  void flush();
  [[nodiscard]] bool sleep();
  void awake();

  [[nodiscard]] const std::vector<std::unique_ptr<RingPart>>& parts() const { return parts_; }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  // A connection of which it is not known yet whether it becomes something.
  struct Newcomer {
    std::unique_ptr<RingSession> session;
    RingPart* part = nullptr;  // that was called; null: it came by itself
    Duration pause{};          // before that is called again, if nothing becomes of this
  };

  RingParts(Config config, SocketOf socket_of, io::Reactor& reactor);
  Expected<void> listen();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);
  RingSession* add_newcomer(io::UniqueFd socket, RingPart* part);
  std::unique_ptr<RingSession> leave_newcomers(RingSession& session);
  // Each part that is to be called and is not connected; and again, as long as there is one.
  void call_all(Time now);
  // False: nobody is there.
  [[nodiscard]] bool call(RingPart& part);
  [[nodiscard]] bool is_called(const RingPart& part) const;
  void call_from(const RingPart& part, Time when);
  // RingSession::Owner
  bool heard(RingSession& session, Bytes message, std::span<io::UniqueFd> files) override;
  void ended(RingSession& session) override;
  bool heard_hello(RingSession& session, Bytes message);
  Expected<RingPart*> part_of(const RingHello& hello) const;
  bool heard_welcome(RingSession& session, RingPart& part, Bytes message);

  const Config config_;
  const SocketOf socket_of_;
  io::Reactor& reactor_;
  CounterSet<RingPartsCounter, kRingPartsCounters> counters_;
  std::vector<std::unique_ptr<RingPart>> parts_;
  std::map<RingSession*, Newcomer> newcomers_;
  std::map<const RingPart*, Time> call_from_;  // not before
  std::unique_ptr<Listener> listener_;
  io::Timer timer_;
};

}  // namespace weft::daemon
