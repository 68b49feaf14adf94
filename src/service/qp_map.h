// SPDX-License-Identifier: Apache-2.0
// Queue pair numbers and Q_Keys that ends of a service see of each other: other ones than they
// have, which mean something to the service alone, and only when they come from the end that was
// told them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft::service {

// An end: the GID that it says in its GRH; of packets without one, its LID.
[[nodiscard]] inline Gid end_of(Lid lid) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[14] = static_cast<std::uint8_t>(lid.value() >> 8);
  bytes[15] = static_cast<std::uint8_t>(lid.value());
  return Gid{bytes};
}

struct MappedQp {
  Qpn number{};  // as `peer` sees it
  Gid owner{};   // whose queue pair it is,
  Qpn real{};    // which has this number
  Gid peer{};    // zero: whoever hears what the owner sends to a group
  // Of datagrams: what the queue pair takes, and what its peer was told instead.
  bool has_qkey = false;
  QKey real_qkey{};
  QKey shown_qkey{};
  bool established = false;  // it is of a connection that both ends want, or has passed datagrams
  bool datagram = false;
  bool closing = false;  // it is gone after `time_wait`
  Time used{};           // of datagrams, about
};

class QpMap {
 public:
  struct Options {
    std::size_t entries = 65'536;
    std::size_t entries_each = 4'096;  // of one owner: who asks for more is refused
    Duration embryonic = 30s;          // until somebody answers
    Duration datagram_idle = 300s;     // at least
    Duration time_wait = 5s;           // after the end of a connection: packets may be under way
  };
  QpMap(const Options& options, Entropy& entropy) : options_(options), entropy_(entropy) {}

  // The entry for a queue pair as this peer sees it; a new one if there is none, or it is closing.
  // nullptr: there is no room. Established ones never give way.
  MappedQp* show(const Gid& owner, Qpn real, const Gid& peer, Time now);
  [[nodiscard]] MappedQp* find(Qpn number);
  // None that is closing.
  [[nodiscard]] MappedQp* find(const Gid& owner, Qpn real, const Gid& peer);
  void establish(Qpn number);
  // After `time_wait`; at once, if it is not established.
  void close(Qpn number, Time now);
  // Of a port that has gone.
  void forget(const Gid& owner);
  // A Q_Key to show in place of another: no privileged one (IBA 10.2.5).
  [[nodiscard]] QKey draw_qkey();

  // As another instance has it; false: there is no room, or the number is taken.
  bool restore(const MappedQp& entry, Time now);

  // Another instance says that it is gone.
  void forget_number(Qpn number) { remove(number); }

  // Numbers that mean something else since the last call, or nothing any more.
  [[nodiscard]] std::vector<Qpn> take_changed();
  // Numbers of which other instances do not know all yet.
  void note_news(Qpn number) { news_.push_back(number); }
  [[nodiscard]] std::vector<Qpn> take_news();
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Times that are waited for, of which there are a few for each entry at most.
  [[nodiscard]] std::size_t waiting() const {
    return embryonic_.size() + closing_.size() + datagrams_.size();
  }
  [[nodiscard]] std::size_t size_of(const Gid& owner) const {
    const auto found = owned_.find(owner);
    return found == owned_.end() ? 0 : found->second;
  }
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& [number, entry] : entries_)
      each(entry);
  }

 private:
  struct Real {
    Gid owner{};
    Gid peer{};
    Qpn real{};
    friend bool operator==(const Real&, const Real&) = default;
  };
  struct RealHash {
    std::size_t operator()(const Real& real) const noexcept {
      const std::uint64_t sum = std::hash<Gid>{}(real.owner) * 0x9E37'79B9'7F4A'7C15;
      return (sum ^ std::hash<Gid>{}(real.peer)) * 0x94D0'49BB'1331'11EB + real.real.value();
    }
  };
  struct Timed {
    Time when{};
    Qpn number{};
    bool closing = false;
  };
  [[nodiscard]] Qpn draw_number();
  [[nodiscard]] bool has_room(const Gid& owner) const;
  void forget_real(const MappedQp& entry);
  void remove(Qpn number);
  void look_at(const Timed& due, Time now);

  const Options options_;
  Entropy& entropy_;
  std::unordered_map<Qpn, MappedQp> entries_;
  std::unordered_map<Real, Qpn, RealHash> by_real_;
  std::unordered_map<Gid, std::size_t> owned_;
  std::deque<Timed> embryonic_;  // each in the order of time
  std::deque<Timed> closing_;
  std::deque<Timed> datagrams_;
  std::vector<Qpn> changed_;
  std::vector<Qpn> news_;
};

}  // namespace weft::service
