// SPDX-License-Identifier: Apache-2.0
// Frames in a DCCP connection, each in a packet of its own, over a path that carries such packets.
//
// The end with the smaller address, or port, is the client, and connects to the port of the other
// one, as often as it takes, each time from another port of its own. The server takes a client from
// the remote's address only. One that connects while there is a connection takes its place once it
// has answered, so that nobody who does not see what is sent there can end it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/allowance.h"
#include "base/entropy.h"
#include "base/ids.h"
#include "wan/connected_path.h"
#include "wan/dccp/dccp_connection.h"
#include "wan/dccp/packet_batch.h"

namespace weft::wan::dccp {

struct DccpEnds {
  Gid local;  // of one version of IP
  Gid remote;
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  // What it carries has a checksum of its own, so that DCCP's need not cover it.
  bool partial_coverage = false;
};

class DccpPath final : public ConnectedPath, private PacketSink {
 public:
  // "WEFT": what a client asks for (RFC 5595).
  static constexpr std::uint32_t kServiceCode = 0x57454654;
  // Ports that a client connects from (RFC 6335, 6).
  static constexpr std::uint16_t kFirstClientPort = 49152;

  // Both outlive it. `below` carries kLeastFrame bytes and Connection::kOverhead.
  DccpPath(Path& below, const DccpEnds& ends, Entropy& entropy);

  [[nodiscard]] bool is_client() const { return client_; }
  // The one that frames go through; null: none.
  [[nodiscard]] const Connection* connection() const { return current_.get(); }

  // Path
  [[nodiscard]] bool established() const override;
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::size_t longest_frame() const override;
  [[nodiscard]] std::size_t burst() const override;
  [[nodiscard]] std::uint32_t receive_room() const override { return below_.receive_room(); }
  [[nodiscard]] Pace pace() const override { return below_.pace(); }
  void send(std::span<const OutFrame> frames, Time now) override;

  // ConnectedPath
  // What it is answered with leaves with the next run(), for others may have come with it.
  [[nodiscard]] Bytes receive(Bytes packet, bool marked, Time now) override;
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;
  void stop(Time now) override;
  [[nodiscard]] bool take_changed() override;
  [[nodiscard]] std::string_view state_text() const override;
  [[nodiscard]] std::vector<CounterValue> counters() const override { return counters_.snapshot(); }

 private:
  struct Kept {
    std::vector<std::byte> bytes;
    Bytes whole;
    std::uint8_t traffic_class = 0;
  };
  struct Answers {
    bool established = false;
    bool ready = false;
    std::size_t longest_frame = 0;
    friend bool operator==(const Answers&, const Answers&) = default;
  };

  void transmit(Bytes header, const OutFrame* data, Time now) override;
  void flush(Time now);
  [[nodiscard]] std::unique_ptr<Connection> make(std::uint16_t client_port);
  void connect(Time now);
  [[nodiscard]] Connection* find(const Header& header);
  void settle(Time now);
  void refuse(const Header& header, Time now);
  void send_kept(Time now);
  bool send_one(const OutFrame& frame, Time now);

  Path& below_;
  const DccpEnds ends_;
  const bool client_;
  Entropy& entropy_;
  DccpCounters counters_;
  std::unique_ptr<Connection> current_;
  std::uint16_t current_port_ = 0;  // of the client
  std::unique_ptr<Connection> candidate_;
  std::uint16_t candidate_port_ = 0;
  PacketBatch batch_;      // of this turn
  std::deque<Kept> kept_;  // frames that wait for room, of one send() at most
  std::optional<Time> connect_at_;
  bool stopped_ = false;
  Answers told_;
  Allowance refusals_ = Allowance::per_second(8);
};

}  // namespace weft::wan::dccp
