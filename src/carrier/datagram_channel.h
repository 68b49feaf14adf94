// SPDX-License-Identifier: Apache-2.0
// One link between two machines, by datagrams that may be lost, doubled, late, or a stranger's. A
// core: it is handed datagrams and the time.
//
//   seek ──hello──▶ ◀──hello── both have heard their own key back: connected
//   a goodbye, silence, or a hello by which the other end begins anew: disconnected
//
// A key is drawn for each connection by each end, and every datagram carries the one of its
// receiver: who has not seen it cannot make it up, and nothing of an earlier connection is taken
// for this one's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/time.h"
#include "carrier/datagram.h"
#include "link/channel.h"

namespace weft::carrier {

enum class DatagramCounter : std::uint8_t {
  kConnections,
  kSent,
  kArrived,
  kMissing,
  kLate,
  kDuplicate,
  kNoRoom,
  kUnconnected,
  kHellos,
  kUnproven,
  kUnsought,
  kSilences,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(DatagramCounter::kCount)>
    kDatagramCounters{{
        {"udp_connections", "times the two ends had found each other"},
        {"udp_sent", "packets of both kinds sent in a datagram"},
        {"udp_arrived", "packets of both kinds that arrived in turn"},
        {"udp_missing", "packets of both kinds that had not arrived when a later one did"},
        {"udp_late", "of these, the ones that came too late, and were dropped"},
        {"udp_duplicate", "datagrams dropped because they had arrived before"},
        {"udp_no_room", "datagrams not sent because the socket took no more"},
        {"udp_unconnected", "packets of both kinds lost for want of a connection"},
        {"udp_hellos", "hellos sent"},
        {"udp_unproven", "hellos dropped that answer one which was never sent"},
        {"udp_unsought", "hellos dropped while the port looks for no other end"},
        {"udp_silences", "times a connection ended because the other end was silent"},
    }};

using DatagramCounters = CounterSet<DatagramCounter, kDatagramCounters>;

// Where the datagrams of one or more channels go.
class DatagramSink {
 public:
  virtual ~DatagramSink() = default;
  // Whether there is room for one of any size.
  [[nodiscard]] virtual bool ready() const = 0;
  // Room for the next one, which the caller fills before it does anything else; empty: there is
  // none.
  [[nodiscard]] virtual MutableBytes next(std::size_t size) = 0;
};

class DatagramChannel;

// Who finds the channel of a datagram by its key.
class KeyTable {
 public:
  virtual ~KeyTable() = default;
  virtual void add_key(std::uint64_t key, DatagramChannel& channel) = 0;
  virtual void remove_key(std::uint64_t key) = 0;
  // The channel's deadline has come nearer.
  virtual void hurry(Time when) = 0;
};

struct DatagramTimes {
  Duration hello = 250ms;      // between two, as long as none is answered
  Duration heartbeat = 500ms;  // after so long without a packet
  Duration silence = 3s;       // after so long the other end is gone
};

class DatagramChannel final : public link::Channel {
 public:
  // `link`: its number, the same at both ends. All that it is given outlives it.
  DatagramChannel(std::uint64_t link, DatagramSink& sink, KeyTable& keys, Entropy& entropy,
                  const DatagramTimes& times = {});
  DatagramChannel(const DatagramChannel&) = delete;
  DatagramChannel& operator=(const DatagramChannel&) = delete;
  ~DatagramChannel() override;

  [[nodiscard]] std::uint64_t link() const { return link_; }
  [[nodiscard]] bool seeks() const { return seeks_; }
  [[nodiscard]] bool is_connected() const { return session_.has_value(); }
  [[nodiscard]] const DatagramCounters& counters() const { return counters_; }

  // A hello for this link, and anything else with one of its keys.
  void receive(const Datagram& datagram, Time now);
  // The sink is ready again.
  void may_send(Time now);
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // link::Channel
  void set_user(link::ChannelUser* user) override { user_ = user; }
  void seek(bool seek, Time now) override;
  [[nodiscard]] bool ready() const override { return !session_ || sink_.ready(); }
  void send(const link::Packet& packet, Time now) override;
  void send_flow_control(link::SignalBytes packet, Time now) override;
  [[nodiscard]] Duration round_trip() const override { return round_trip_; }

 private:
  struct Keys {
    std::uint64_t mine = 0;
    std::uint64_t theirs = 0;  // 0: not known
  };

  void draw_candidate();
  void drop_candidate();
  void begin(const link::Training& far, Time now);
  void end(Time now);
  void say_hello(const Keys& keys, bool wants_answer, Time now);
  void say(DatagramKind kind);
  template <class Write>
  void say_packet(DatagramKind kind, std::size_t size, Write write, Time now);
  [[nodiscard]] MutableBytes next(DatagramKind kind, std::size_t contents, std::uint32_t sequence);
  void hear_hello(const Datagram& datagram, Time now);
  void hear_packet(const Datagram& datagram, Time now);
  [[nodiscard]] bool in_turn(std::uint32_t sequence);

  const std::uint64_t link_;
  DatagramSink& sink_;
  KeyTable& keys_;
  Entropy& entropy_;
  const DatagramTimes times_;
  link::ChannelUser* user_ = nullptr;
  bool seeks_ = false;
  std::optional<Keys> session_;
  // Of the connection that may come next: it takes the place of this one when the other end has
  // shown that it knows the key.
  Keys candidate_;
  bool confirmed_ = false;  // the other end is known to know of this connection
  Duration round_trip_{0};
  Time hello_at_{};  // the next one, while there is no connection
  Time said_hello_at_{};
  Time said_at_{};  // anything, in this connection
  Time heard_at_{};
  Time ran_at_{};
  std::uint32_t next_to_send_ = 0;
  std::uint32_t next_to_come_ = 0;
  std::uint64_t come_ = 0;  // bit n: the one n + 1 before the next has come
  DatagramCounters counters_;
};

}  // namespace weft::carrier
