// SPDX-License-Identifier: Apache-2.0
// An Ethernet that frames go to and come from as they are, from the destination address on and
// without FCS: a network interface of this machine, or one that is made for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "io/send_batch.h"

namespace weft::io {

class EthernetDevice {
 public:
  using Mac = std::array<std::uint8_t, 6>;
  // The longest frame that is received: what the longest MTU of an interface leaves.
  static constexpr std::size_t kLongestFrame = 0xFFFF + 18;

  virtual ~EthernetDevice() = default;
  EthernetDevice(const EthernetDevice&) = delete;
  EthernetDevice& operator=(const EthernetDevice&) = delete;

  // For a reactor.
  [[nodiscard]] virtual int fd() const = 0;
  // Of the station that this program is.
  [[nodiscard]] const Mac& mac() const { return mac_; }
  // Bytes that a frame has behind its header at most, as it is now; nothing: the interface is gone.
  [[nodiscard]] virtual std::size_t mtu() const = 0;

  // Never blocks.
  virtual BatchSent send(Datagrams frames) = 0;
  // Frames that have come, some at a time; none: that is all. Good until the next call.
  virtual std::span<const Bytes> receive() = 0;
  // As receive() has found: it was taken away, and nothing will come or go through it any more. Its
  // descriptor says so for ever, and is not to be watched.
  [[nodiscard]] virtual bool gone() const { return false; }
  // As receive() has found: the interface was taken away, or is down. come_back() looks for it:
  // true, it is there and up, and mac() may be another one. Until then nothing comes or goes.
  [[nodiscard]] virtual bool away() const { return false; }
  [[nodiscard]] virtual bool come_back() { return true; }
  // Frames lost since it was opened, because they were fetched too late.
  [[nodiscard]] virtual std::uint64_t overflows() { return 0; }

 protected:
  explicit EthernetDevice(const Mac& mac);
  void set_mac(const Mac& mac) { mac_ = mac; }
  // Where the frame of this place comes to lie, of kLongestFrame bytes.
  [[nodiscard]] MutableBytes room(std::size_t place) {
    return MutableBytes(memory_).subspan(place * kLongestFrame, kLongestFrame);
  }
  std::vector<Bytes> received_;

 private:
  Mac mac_;
  std::vector<std::byte> memory_;
};

// Of an interface of this name in this network namespace: bytes behind a frame's header, 0 where
// there is none.
[[nodiscard]] std::size_t interface_mtu(const char* name);

}  // namespace weft::io
