// SPDX-License-Identifier: Apache-2.0
// A path over a line: its packets go into the octets of a transport network's wire, which a stream
// of bytes carries (fibre_stream.h). It is established while the line's session is up.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/wan/fibre_stream.h"
#include "daemon/wan/remote_path.h"
#include "fabric/lab_extender.h"
#include "io/reactor.h"
#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/stack.h"
#include "wan/line/stack/line_stack.h"
#include "wan/line_channel.h"

namespace weft::daemon {

class LinePath final : public RemotePath, private wan::PacketSource, private wan::PacketSink {
 public:
  // The remote has a line, and an encapsulation that ends in one. Errors say what of them cannot
  // be. The reactor outlives it.
  static Expected<std::unique_ptr<LinePath>> open(const fabric::LabRemote& remote,
                                                  const wan::Ends& ends, Entropy& entropy,
                                                  io::Reactor& reactor);

  // As PathSocket has them.
  bool run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] std::vector<CounterValue> counters() const;
  // As PathSocket has it.
  void close();

  [[nodiscard]] std::string remote_text() const override;
  // wan::Path
  [[nodiscard]] bool established() const override { return channel_->is_up(); }
  [[nodiscard]] std::size_t longest_frame() const override { return longest_frame_; }
  // The line's clock.
  [[nodiscard]] wan::Pace pace() const override { return wan::Pace::kFollowed; }

 private:
  // Packets that wait for the line, in bytes: beyond that no more are taken.
  static constexpr std::size_t kMostWaiting = std::size_t{64} << 10;

  LinePath(const fabric::LabRemote& remote, wan::Stack packets);
  void look_at_length();
  void run_while(Time until, const std::function<bool()>& wanted);
  // RemotePath
  std::size_t transmit(Frames frames, Time now) override;
  // wan::PacketSource, wan::PacketSink
  [[nodiscard]] Bytes next() override;
  void packet(Bytes bytes) override;

  const std::string address_;
  wan::Stack packets_;
  std::size_t longest_frame_ = 0;
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::byte> going_;  // what next() has given last
  std::vector<std::vector<std::byte>> spare_;
  // Each before what uses it.
  std::unique_ptr<wan::Line> line_;
  std::unique_ptr<wan::LineChannel> channel_;
  std::unique_ptr<FibreStream> stream_;
};

}  // namespace weft::daemon
