// SPDX-License-Identifier: Apache-2.0
// PPP between two ends of a line (RFC 1661): LCP, then the control protocol of what is carried, and
// Echo all the while. It stands between the packets and the framing: PppTransmitter asks it for
// frames, PppReceiver hands it frames.
//
//   packets --> PppSession --> PppTransmitter --> octets of the line
//   packets <-- PppSession <-- PppReceiver    <-- octets of the line
//
// The line is up once LCP and the control protocol are opened and an Echo has come back. It goes
// down with either of them, and when `echo_failures` Echoes in a row are not answered, or one's own
// magic number comes back: then everything is negotiated anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "wan/line/line_session.h"
#include "wan/line/octet_stream.h"
#include "wan/line/ppp/control_protocol.h"
#include "wan/line/ppp/link_control.h"
#include "wan/line/ppp/network_control.h"
#include "wan/line/ppp/ppp_frame.h"
#include "wan/line/ppp/session_counters.h"

namespace weft::wan {

// What packets are. Link packets of InfiniBand, from their LRH to their VCRC, have no protocol
// number: they go as packets of a vendor's protocol (RFC 3772, VSP), without a control protocol.
enum class PppPayload : std::uint8_t { kIpv6, kIpv4, kMpls, kInfiniBand };

struct PppSessionOptions {
  PppPayload payload = PppPayload::kInfiniBand;
  // Octets of information that are taken in, 128 to 65,535: the MRU that is asked for.
  std::size_t receive_unit = 9000;
  NetworkOptions network = {};
  Duration echo_period = 1s;
  unsigned echo_failures = 3;
  Duration pause = 3s;  // after there was no agreement
  ControlTimes times = {};
};

// VSP: Magic-Number 32, OUI 24, reserved 8. The OUI is one of those that are administered locally.
inline constexpr std::size_t kVendorHeader = 8;
inline constexpr std::uint32_t kInfiniBandOui = 0x024942;

// What is before a packet in its frame; of InfiniBand with a magic number of 0.
[[nodiscard]] std::vector<std::byte> ppp_data_header(PppPayload payload);

class PppSession final : public LineSession,
                         public PppFrameSource,
                         public PppFrameSink,
                         private LinkOwner,
                         private ControlLine {
 public:
  // All but the options outlive it.
  PppSession(const PppSessionOptions& options, PacketSource& out, PacketSink& in, Entropy& entropy);

  // Whether the line below carries anything; it does until this says otherwise.
  void set_line(bool present) override { line_present_ = present; }
  // Wanted, as it is from the beginning; or to be ended with the other end's consent.
  void set_wanted(bool wanted) { wanted_ = wanted; }

  [[nodiscard]] bool up() const override { return carries() && echoed_; }
  [[nodiscard]] Time next_deadline() const override;
  void advance(Time now) override;

  [[nodiscard]] PppFrame next() override;
  void frame(PppProtocol protocol, Bytes information) override;

  [[nodiscard]] ControlState link_state() const { return link_.state(); }
  // Initial where there is none.
  [[nodiscard]] ControlState network_state() const;
  [[nodiscard]] const LinkControl& link() const { return link_options_; }
  [[nodiscard]] const NetworkControl& network() const { return network_options_; }
  [[nodiscard]] const PppCounters& counters() const { return counters_; }

 private:
  // Of RFC 1661's phases, the network-layer one, with its protocol opened.
  [[nodiscard]] bool carries() const {
    return link_.opened() && (!has_network_ || network_.opened());
  }
  // LinkOwner
  void link_up(Time now) override;
  void link_down() override;
  [[nodiscard]] bool can_do_without(PppProtocol protocol) override;
  void echoed(std::uint8_t identifier) override;
  void looped() override { restarts_ = true; }
  // ControlLine
  void send(PppProtocol protocol, const ControlPacket& packet) override;

  void follow_line(Time now);
  void work_through(Time now);
  void retry(Time now);
  void echo(Time now);
  void reject_protocol(PppProtocol protocol, Bytes information);
  void take_packet(Bytes information);
  void begin_link(Time now);
  void end_link(Time now);
  void count(PppCounter what) { counters_.add_in_turn(what); }

  const PppSessionOptions options_;
  PacketSource& out_;
  PacketSink& in_;
  PppCounters counters_;
  LinkControl link_options_;
  NetworkControl network_options_;
  ControlProtocol link_;
  ControlProtocol network_;
  const bool has_network_;

  bool line_present_ = true;
  bool wanted_ = true;
  bool line_up_ = false;  // as LCP has been told
  bool opened_ = false;
  bool restarts_ = false;  // everything is to be negotiated anew
  std::optional<Time> retry_at_;

  std::optional<Time> next_echo_;
  std::uint8_t echo_identifier_ = 0;
  bool echo_pending_ = false;
  bool echoed_ = false;       // since LCP was opened
  unsigned echoes_lost_ = 0;  // in a row

  std::deque<std::pair<PppProtocol, std::vector<std::byte>>> inbox_;
  std::deque<std::vector<std::byte>> outbox_;  // whole frames
  std::vector<std::byte> present_;
  std::array<std::byte, kPppHeader + kVendorHeader> header_{};
};

}  // namespace weft::wan
