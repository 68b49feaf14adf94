// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/link_facts.h"
#include "io/link_monitor.h"
#include "io/unique_fd.h"

namespace weft::io {

struct TapOptions {
  // 1 to 15 characters; one "%d" in it is a number of the kernel's choice.
  std::string name;
  // The file of the network namespace that the interface is in, as /run/netns/NAME; empty: this
  // thread's own.
  std::string network_namespace;
  std::array<std::uint8_t, 6> mac{};
  std::uint32_t mtu = 1500;  // bytes behind the Ethernet header: 68 to 65,521
  unsigned queues = 1;       // 1 to kMostQueues, each with a descriptor of its own
  // The kernel leaves checksums undone, and TCP segments uncut: a frame is up to kLongestFrame
  // bytes whatever the MTU, and its header says what is to be done.
  bool offloads = true;
};

// A TAP interface that a program makes, with what the kernel leaves undone of a frame: a network
// card of which this program is the hardware. Gone when this goes. TapDevice is a cable to one that
// others have made.
class TapInterface {
 public:
  // Before each frame: struct virtio_net_hdr, little-endian (VIRTIO 1.1, 5.1.6).
  static constexpr std::size_t kHeader = 10;
  // An IPv6 packet whose segments are uncut, with its Ethernet header and two VLAN tags, without
  // the header above.
  static constexpr std::size_t kLongestFrame = 40 + 0xFFFF + 14 + 2 * 4;
  static constexpr unsigned kMostQueues = 16;

  // Makes it, with its carrier off, and sets it up. Errors: those of open_tap_file(); of the
  // namespace's file, and operation_not_permitted where it may not be entered (CAP_SYS_ADMIN);
  // file_exists: there is an interface of that name; invalid_argument: the kernel refuses the
  // address or the MTU.
  static Expected<std::unique_ptr<TapInterface>> make(const TapOptions& options);

  TapInterface(const TapInterface&) = delete;
  TapInterface& operator=(const TapInterface&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // For a reactor: readable when receive() of that queue has something. Any thread may have a
  // queue.
  [[nodiscard]] std::span<const UniqueFd> queues() const { return queues_; }

  // One frame that the kernel sends, behind its header, into a place of kHeader + kLongestFrame
  // bytes. Empty: nothing now, or gone(). Never blocks.
  [[nodiscard]] MutableBytes receive(std::size_t queue, MutableBytes place);
  // Hands the kernel one frame: its header and then its bytes, in so many pieces. Never blocks.
  // invalid_argument: the header does not fit the frame; not_enough_memory and
  // resource_unavailable_try_again: the kernel has no room, the frame is lost; io_error: the
  // interface is down.
  [[nodiscard]] std::errc send(std::size_t queue, std::span<const Bytes> pieces);
  // Somebody has deleted the interface: its descriptors say so for ever.
  [[nodiscard]] bool gone() const { return gone_; }

  // What the kernel refuses is an error that names the interface. Each time that it is told its
  // address, though it be the same, the kernel tells its neighbours by gratuitous ARP and
  // unsolicited advertisements (arp_notify and ndisc_notify of its ip-sysctl).
  Expected<void> set_carrier(bool on);
  Expected<void> set_mac(const std::array<std::uint8_t, 6>& mac);
  Expected<void> set_mtu(std::uint32_t mtu);

  // For a reactor: readable when the kernel has news of interfaces of this one's namespace.
  [[nodiscard]] int news() const { return news_->fd(); }
  // Takes the news. What the interface has now, which people may change; nothing: there was no news
  // of it, or it has left its namespace.
  [[nodiscard]] std::optional<LinkFacts> take_news();

 private:
  TapInterface() = default;
  // In a thread that is in the right namespace.
  Expected<void> make_here(const TapOptions& options);
  Expected<void> add_queue(const TapOptions& options);
  Expected<void> open_news();
  Expected<void> set_up();

  std::string name_;
  std::vector<UniqueFd> queues_;
  UniqueFd control_;  // a socket of its namespace, through which it is configured
  std::optional<LinkMonitor> news_;
  std::optional<LinkQuestions> questions_;
  std::uint32_t index_ = 0;
  bool gone_ = false;
};

}  // namespace weft::io
