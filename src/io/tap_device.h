// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>

#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "io/ethernet_device.h"
#include "io/unique_fd.h"

namespace weft::io {

// A TAP interface: a cable between this program, which is a station at one end of it, and the
// kernel's interface of that name at the other, which a bridge can have or a route use.
class TapDevice final : public EthernetDevice {
 public:
  // Takes the interface of this name, or makes one that goes when this goes, and sets it up.
  // Errors: operation_not_permitted: CAP_NET_ADMIN is missing, and the interface is not this
  // user's; device_or_resource_busy: another program has it; no_such_file_or_directory: there is no
  // /dev/net/tun.
  // `filter`, as of PacketSocket, says what of what the kernel sends is wanted.
  static Expected<std::unique_ptr<TapDevice>> open(const std::string& interface,
                                                   std::span<const sock_filter> filter);

  [[nodiscard]] int fd() const override { return fd_.get(); }
  [[nodiscard]] std::size_t mtu() const override { return interface_mtu(interface_.c_str()); }
  BatchSent send(Datagrams frames) override;
  std::span<const Bytes> receive() override;
  [[nodiscard]] bool gone() const override { return gone_; }

 private:
  TapDevice(UniqueFd fd, std::string interface, const Mac& mac)
      : EthernetDevice(mac), fd_(std::move(fd)), interface_(std::move(interface)) {}

  UniqueFd fd_;
  std::string interface_;
  bool gone_ = false;
};

}  // namespace weft::io
