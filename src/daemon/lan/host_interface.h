// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/reactor.h"
#include "io/tap_interface.h"
#include "lan/lan_header.h"

namespace weft::daemon {

// The Ethernet interface of a LAN port in its host, as a reactor sees it: it says when the host has
// frames, which wait there until they are read.
class HostInterface {
 public:
  // Errors as of TapInterface::make(). The reactor outlives it. `news`: called by the reactor when
  // it is readable(), is gone() or take_news() has something.
  static Expected<std::unique_ptr<HostInterface>> make(const io::TapOptions& options,
                                                       io::Reactor& reactor,
                                                       std::function<void()> news);
  HostInterface(const HostInterface&) = delete;
  HostInterface& operator=(const HostInterface&) = delete;

  [[nodiscard]] io::TapInterface& tap() { return *tap_; }
  [[nodiscard]] const std::string& name() const { return tap_->name(); }

  // The host has frames, as far as is known: next() tells.
  [[nodiscard]] bool readable() const { return readable_ != 0; }
  // The next one, behind its header, into a place that takes the longest: of each queue in turn.
  // Empty: there is none.
  [[nodiscard]] MutableBytes next(MutableBytes place);
  // Nothing is known of frames until the reactor has looked again, or look() is called.
  void forget_readable() { readable_ = 0; }
  // There may be more where the last one was: next() tells.
  void look() { readable_ |= 1u << last_; }
  // Frames of one flow (lan::flow_of()) are given to the host in order, in one queue; the kernel
  // sends what belongs to it by the same one. An error as of TapInterface::send(): the frame is
  // lost. The kernel often answers at once, in the same queue: it counts as readable() then.
  [[nodiscard]] std::errc send(const lan::Offload& offload, Bytes frame);

  // Of each queue, how many were read and written.
  struct Frames {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  [[nodiscard]] std::span<const Frames> frames() const { return frames_; }

  // Frames are not read for a while and stay with the host, so the reactor need not be woken by
  // them.
  void hold(bool held);
  // What it has now, which people may change; nothing: it is as it was known to be.
  [[nodiscard]] std::optional<io::LinkFacts> take_news() {
    return std::exchange(facts_, std::nullopt);
  }
  // Somebody has deleted it.
  [[nodiscard]] bool gone() const { return gone_ || tap_->gone(); }

 private:
  HostInterface(std::unique_ptr<io::TapInterface> tap, io::Reactor& reactor,
                std::function<void()> news)
      : tap_(std::move(tap)), reactor_(reactor), has_news_(std::move(news)) {}
  void ready(std::size_t queue, std::uint32_t events);
  void mute(bool muted);

  const std::unique_ptr<io::TapInterface> tap_;
  io::Reactor& reactor_;
  const std::function<void()> has_news_;
  std::vector<io::Reactor::Registration> watches_;  // by queue
  std::vector<Frames> frames_;                      // likewise
  io::Reactor::Registration news_;
  std::optional<io::LinkFacts> facts_;
  std::uint32_t readable_ = 0;  // a bit for each queue
  std::size_t turn_ = 0;        // the queue that is read next
  std::size_t last_ = 0;        // the one that had the last frame
  bool held_ = false;
  bool muted_ = false;  // watches_ wait for nothing
  bool gone_ = false;
};

}  // namespace weft::daemon
