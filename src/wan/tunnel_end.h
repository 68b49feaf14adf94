// SPDX-License-Identifier: Apache-2.0
// One end of a tunnel: what a cable of the local fabric leads into, and what it comes out of at the
// other site. Its port is the far end of a link whose near end is a port of the extender's switch;
// between this port and the one at the other site packets, credit and link state cross the WAN, so
// that the two switches are neighbours to the subnet manager.
//
//   switch port <-- link --> port | sender ---> frames ---> path
//                                 | FIFOs <--- receiver <--- frames
//
// A core: it is run when it was woken or its deadline has come, as a link::Port is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/entropy.h"
#include "base/time.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/arrival_log.h"
#include "wan/bulk_buffer.h"
#include "wan/fec_code.h"
#include "wan/fec_decoder.h"
#include "wan/fec_encoder.h"
#include "wan/frame_builder.h"
#include "wan/path.h"
#include "wan/port_mirror.h"
#include "wan/session.h"
#include "wan/tunnel_counters.h"
#include "wan/tunnel_receiver.h"
#include "wan/tunnel_sender.h"

namespace weft::wan {

struct TunnelOptions {
  // Of the port: vl_buffer is the small flow-control buffer between the fabric and the WAN.
  link::PortOptions port{.data_vls = 15};
  TunnelSender::Options sender{};
  TunnelReceiver::Options receiver{};
  TunnelMode mode = TunnelMode::kBridge;
  bool recovery = true;
  FecCode fec{};                   // the other end must have the same
  Duration silence = 3s;           // nothing heard for so long: the path is lost
  Duration credit_period = 100ms;  // credit and link state are said again so often
};

class TunnelEnd;

class TunnelUser {
 public:
  virtual ~TunnelUser() = default;
  // Call run() soon. Comes once until run() is called.
  virtual void wake(TunnelEnd& end) = 0;
};

class TunnelEnd final : private link::PortOwner {
 public:
  // What is joined to port() is disconnected before this goes; everything else outlives this.
  // Packets that come over the WAN are of `pool`, and their payloads of `share`.
  TunnelEnd(const TunnelOptions& options, BulkBuffer::Share& share, link::PacketPool& pool,
            Entropy& entropy, Path& path, TunnelUser& user);
  TunnelEnd(const TunnelEnd&) = delete;
  TunnelEnd& operator=(const TunnelEnd&) = delete;
  ~TunnelEnd() override = default;

  // Its far end is the fabric's: connect a link here.
  [[nodiscard]] link::Port& port() { return port_; }

  // Looks for the other end from now on; ends the session, and says so.
  void start(Time now);
  void stop(Time now);

  // A frame that came by the path, whole or not at all, and what came beside it
  // (OutFrame::options).
  void receive(Bytes frame, Time now, Bytes beside = {});
  // One of the path's answers has changed.
  void path_changed();

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const Session& session() const { return session_; }
  [[nodiscard]] const TunnelSender& sender() const { return sender_; }
  [[nodiscard]] const TunnelCounters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kBurst = 16;           // frames that are given to the path at a time
  static constexpr Duration kAcknowledgeDelay = 2ms;  // the first frame with packets waits so long
  static constexpr std::size_t kPortQueue = 4;  // packets that wait for the local link, each lane
  // What leaves is a stream when so many bytes do at once. The fabric brings more of it at once,
  // and of a datagram most of the cost is that there is one: what is too little to fill a frame
  // waits for it, but no longer than nobody notices.
  static constexpr std::size_t kStream = 48'000;
  static constexpr Duration kGather = 10us;

  // link::PortOwner
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void wake(link::Port& port) override;

  [[nodiscard]] link::PacketPtr sealed(link::PacketPtr packet);
  void wake();
  void handle(Session::Event event, Time now);
  void begin(Time now);
  void end(Time now);

  // tunnel_end_receive.cc
  void receive_session(FrameView& frame, Time now);
  void receive_traffic(FrameView& frame, Bytes bytes, Time now);
  void receive_recovered(const FecDecoder::Recovered& recovered, Time now);
  void take_items(FrameView& frame, Bytes bytes, bool recovered, Time now);
  [[nodiscard]] bool acknowledges_now() const;
  [[nodiscard]] bool take(const Item& item, const FrameHead& head, Time now);
  void take_management(Bytes packet, Time now);
  void deliver(Time now);

  // tunnel_end_send.cc
  void send(Time now);
  void send_session(Time now);
  void send_end(Time now);
  [[nodiscard]] bool has_work(Time now) const;
  [[nodiscard]] bool gathers(Time now) const;
  void note_due(Time now);
  [[nodiscard]] bool control_due(Time now) const;
  // Of frames that both ends take now.
  [[nodiscard]] std::size_t longest_frame() const;
  [[nodiscard]] bool repairs_due(Time now) const;
  [[nodiscard]] Duration repair_delay() const;
  [[nodiscard]] FrameHead next_head(Time now);
  void put_together(std::size_t index, Time now);
  void put_repair_together(std::size_t index, Time now);
  void add_acknowledgements(FrameBuilder& frame);
  void add_credit(FrameBuilder& frame);
  void give(std::size_t frames, Time now);
  [[nodiscard]] Duration period() const;

  const TunnelOptions options_;
  link::PacketPool& pool_;
  Path& path_;
  TunnelUser& user_;
  TunnelCounters counters_;
  Session session_;
  TunnelSender sender_;
  TunnelReceiver receiver_;
  FecEncoder encoder_;
  FecDecoder decoder_{counters_};
  ArrivalLog arrivals_;
  link::Port port_;
  PortMirror mirror_;

  bool started_ = false;
  bool woken_ = false;
  std::uint64_t newest_ = 0;     // one beyond the newest frame's number that has come
  unsigned unacknowledged_ = 0;  // frames with packets since the last acknowledgement
  std::size_t unacknowledged_bytes_ = 0;
  Time acknowledge_at_{};         // when at the latest
  std::uint16_t credit_due_ = 0;  // bit n: of lane n
  bool state_due_ = false;
  Time next_period_{};
  Time gather_until_{};
  std::array<FrameBuilder, kBurst> builders_;
  std::array<std::uint8_t, kBurst> classes_{};  // of what they have put together
};

}  // namespace weft::wan
