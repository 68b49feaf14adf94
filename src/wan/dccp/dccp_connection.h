// SPDX-License-Identifier: Apache-2.0
// One end of a DCCP connection (RFC 4340): its states, sequence numbers and acknowledgements, with
// CCID 2 both ways. Numbers of steps are those of section 8.5.
//
//   client   connect() -> Request ---------------- Response ------> PartOpen -- anything else -->
//   Open server   Listen -- Request: Response -> Respond -- Ack ------> Open end      Open --
//   CloseReq (server) -> CloseReq -- Close: Reset --> Closed
//            Open -- Close (client, or on a CloseReq) -> Closing -- Reset --> Closed
//
// There is no TimeWait: who connects again has another port and another first number, so that
// nothing of an old connection is taken for one of the new.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/allowance.h"
#include "base/bytes.h"
#include "base/entropy.h"
#include "base/ids.h"
#include "base/time.h"
#include "wan/dccp/ack_vector.h"
#include "wan/dccp/ccid2.h"
#include "wan/dccp/dccp_counters.h"
#include "wan/dccp/dccp_header.h"
#include "wan/dccp/features.h"
#include "wan/path.h"

namespace weft::wan::dccp {

struct ConnectionSettings {
  Gid local;
  Gid remote;
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  bool server = false;
  std::uint32_t service_code = 0;
  // The checksum need not cover the data, which have one of their own.
  bool partial_coverage = false;
  std::size_t longest_packet = 1240;  // that the path carries: of DCCP, without IP
};

class PacketSink {
 public:
  virtual ~PacketSink() = default;
  // A packet of DCCP: its header with the options, which is gone when this returns, and the frame
  // in it, whose bytes stay as long as those that send() was given; null: none.
  virtual void transmit(Bytes header, const OutFrame* data, Time now) = 0;
};

class Connection {
 public:
  enum class State : std::uint8_t {
    kListen,
    kRequest,
    kRespond,
    kPartOpen,
    kOpen,
    kCloseReq,
    kClosing,
    kClosed,
  };
  // What is before a frame, at most: header, and options as far as they go with one.
  static constexpr std::size_t kDataOptions = 60;
  static constexpr std::size_t kOverhead = 24 + kDataOptions;
  // Of its packets the other end takes those of numbers within so many (7.5.2): several times what
  // may be under way, and still so few that a blind guess is right once in 2^30 times.
  static constexpr std::uint64_t kSequenceWindow = std::uint64_t{1} << 18;

  // `sink` and `counters` outlive it.
  Connection(const ConnectionSettings& settings, Entropy& entropy, PacketSink& sink,
             DccpCounters& counters);

  // Of a client, once.
  void connect(Time now);
  // A packet from the other end's address and port to this end's. The data in it, if they are new
  // and are for the user; else nothing.
  [[nodiscard]] Bytes receive(const Packet& packet, bool marked, Time now);

  [[nodiscard]] State state() const { return state_; }
  // Data may be sent, or could if there were room.
  [[nodiscard]] bool carries() const {
    return state_ == State::kOpen || (state_ == State::kPartOpen && cookie_.empty());
  }
  // Packets with data that may leave now.
  [[nodiscard]] std::size_t room() const;
  // One of them, of at most longest_packet less kOverhead bytes.
  void send(const OutFrame& data, Time now);
  // The path carries packets of another length.
  void set_longest_packet(std::size_t longest) { settings_.longest_packet = longest; }

  // Ends it, as both ends do; at once, without the other one.
  void close(Time now);
  void abort(ResetCode why, Time now);

  // Does what is due.
  void expire(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const Ccid2& congestion() const { return congestion_; }
  [[nodiscard]] const Features& features() const { return features_; }
  // Why it is closed, as the other end, or this one, has said.
  [[nodiscard]] ResetCode why() const { return why_; }

 private:
  static constexpr std::size_t kMostTold = 1024;
  struct Told {
    Sequence by;      // the packet of this end that told it
    Sequence newest;  // all up to here
  };
  struct Asked {
    std::array<std::byte, 4> timestamp;
    Time at;
  };

  bool begin_as_server(const Header& header, Time now);
  bool begin_as_client(const Header& header, Time now);
  void note_first(const Header& header);
  [[nodiscard]] bool check_numbers(const Header& header, Time now);
  [[nodiscard]] bool in_window(const Header& header) const;
  [[nodiscard]] bool acknowledges_sent(const Header& header, Sequence lowest) const;
  [[nodiscard]] Sequence lowest_sequence() const;
  [[nodiscard]] Sequence lowest_acknowledged() const;
  void note_numbers(const Header& header);
  [[nodiscard]] bool is_unexpected(const Header& header) const;
  // False: the connection cannot go on, and has been reset.
  bool read_options(const Packet& packet, std::uint64_t skipped, Time now);
  void read_option(const Option& option, const Header& header, Sequence& acknowledged_to,
                   std::uint64_t skipped, Time now);
  void change_state(const Header& header, Time now);
  void answer(const Header& header, Time now);
  [[nodiscard]] Bytes take_data(const Packet& packet, bool fresh, Time now);
  void note(const Ccid2::Change& change);
  void note_told(Sequence acknowledged);

  void send_packet(PacketType type, const OutFrame* data, Sequence acknowledged, Time now);
  void send_packet(PacketType type, Time now) { send_packet(type, nullptr, newest_received_, now); }
  void send_sync(Sequence acknowledged, Time now);
  void send_ack(Time now);
  void write_options(OptionWriter& options, PacketType type, Time now);
  void write_ack_vector(OptionWriter& options);
  void begin_retries(Duration first, Duration patience, Time now);
  void retry(Time now);
  void end(ResetCode why);

  ConnectionSettings settings_;
  PacketSink& sink_;
  DccpCounters& counters_;
  State state_;
  ResetCode why_ = ResetCode::kUnspecified;

  Sequence first_sent_;           // ISS
  Sequence newest_sent_;          // GSS
  Sequence first_received_;       // ISR
  Sequence newest_received_;      // GSR
  Sequence newest_acknowledged_;  // GAR
  Sequence opened_at_;            // OSR
  Features features_;
  Ccid2 congestion_;
  AckRecord record_;
  std::deque<Told> told_;
  std::optional<Asked> asked_;
  std::vector<std::byte> cookie_;  // of the server, which the client says again until it is open

  std::uint64_t data_unanswered_ = 0;  // packets that came since one of this end acknowledged
  std::uint64_t all_unanswered_ = 0;
  bool ack_due_ = false;
  std::optional<Time> ack_at_;
  std::uint64_t without_data_ = 0;  // sent since the last one with data
  std::optional<Time> retry_at_;
  Duration retry_every_{};
  Time give_up_at_{};
  std::optional<Time> say_again_at_;            // what is wanted and was not answered
  Allowance syncs_ = Allowance::per_second(8);  // 7.5.4
};

}  // namespace weft::wan::dccp
