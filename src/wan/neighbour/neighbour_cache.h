// SPDX-License-Identifier: Apache-2.0
// Where on an Ethernet the addresses are that somebody looks for, and what is answered to those who
// look for ours. A core: it is handed the frames that come, and is run when its deadline has come.
//
//   looking --advertisement--> reachable --nothing heard of it--> probing --no answer--> looking
//             somebody there asks us -------------------------------^
//
// Looking asks all, once a second, for as long as the address is wanted; probing asks where it was.
// As RFC 4861, 7.3 has it, but that nothing is given up: a path to another site waits for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/ids.h"
#include "base/time.h"
#include "wan/neighbour/neighbour_message.h"

namespace weft::wan {

enum class NeighbourCounter : std::uint8_t {
  kAsked,
  kAnswered,
  kResolved,
  kLost,
  kMalformed,
  kConflict,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(NeighbourCounter::kCount)>
    kNeighbourCounters{{
        {"neighbour_asked", "ARP requests and neighbour solicitations that were sent"},
        {"neighbour_answered", "those of others for our address that were answered"},
        {"neighbour_resolved", "times that the Ethernet address of a remote was found, or another"},
        {"neighbour_lost", "times that nobody answered any more where a remote was"},
        {"neighbour_malformed", "ARP and neighbour discovery that cannot be"},
        {"neighbour_conflict", "messages of another station that says it has our address"},
    }};

class NeighbourUser {
 public:
  virtual ~NeighbourUser() = default;
  virtual void send(const NeighbourFrame& frame, Time now) = 0;
  // What find() says of an address has changed.
  virtual void found(const Gid& address, Time now) = 0;
};

class NeighbourCache {
 public:
  struct Settings {
    Duration retransmit = 1s;  // between questions (RFC 4861, 10: RETRANS_TIMER)
    int probes = 3;            // of one that was reachable, before it is lost
    Duration reachable = 30s;  // after something was heard of it
  };

  // `user` outlives it. `own`: the address that others find here, and of whose version all are.
  NeighbourCache(const MacAddress& mac, const Gid& own, const Settings& settings,
                 NeighbourUser& user)
      : mac_(mac), own_(own), settings_(settings), user_(user) {}

  // This station has another Ethernet address from now on.
  void set_own_mac(const MacAddress& mac) { mac_ = mac; }
  // Finds an address, from now on. It is asked for in run().
  void look_for(const Gid& address, Time now);
  // Nothing: it is not known.
  [[nodiscard]] std::optional<MacAddress> find(const Gid& address) const;
  // What is known of an address, as the states are called above: "looking", where look_for() was
  // not told of it as well, "reachable" or "probing".
  [[nodiscard]] std::string_view state_text(const Gid& address) const;
  // Something came from it that only it can have sent.
  void confirm(const Gid& address, Time now);

  // An Ethernet frame that came. False: it is not about addresses, but somebody else's matter.
  bool receive(Bytes frame, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] const CounterSet<NeighbourCounter, kNeighbourCounters>& counters() const {
    return counters_;
  }

 private:
  enum class State : std::uint8_t { kLooking, kReachable, kProbing };
  struct Entry {
    Gid address;
    State state = State::kLooking;
    MacAddress mac{};  // unless it is looked for
    int asked = 0;     // probes of it
    Time due{};        // the next question, or the end of being reachable
  };

  [[nodiscard]] Entry* find_entry(const Gid& address);
  void answer(const NeighbourMessage& question, Time now);
  void heard_question(const NeighbourMessage& question, Time now);
  void heard_answer(const NeighbourMessage& answer, Time now);
  void reach(Entry& entry, const MacAddress& mac, Time now);
  void doubt(Entry& entry, const MacAddress& mac, Time now);
  void set_mac(Entry& entry, const MacAddress& mac, Time now);
  void ask(const Entry& entry, Time now);

  MacAddress mac_;
  const Gid own_;
  const Settings settings_;
  NeighbourUser& user_;
  std::vector<Entry> entries_;
  CounterSet<NeighbourCounter, kNeighbourCounters> counters_;
};

}  // namespace weft::wan
