// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/ethernet_device.h"
#include "io/unique_fd.h"

namespace weft::io {

// A packet socket (packet(7)) on an interface: what it takes is a copy, so that the kernel and
// others on the same interface have all of their traffic as before.
class PacketSocket final : public EthernetDevice {
 public:
  // `filter` says which frames of others are wanted; `groups`, of which multicast groups of
  // Ethernet the interface is to take frames. Errors: operation_not_permitted: CAP_NET_RAW is
  // missing; no_such_device; not_supported: no Ethernet.
  static Expected<std::unique_ptr<PacketSocket>> open(const std::string& interface,
                                                      std::span<const sock_filter> filter,
                                                      std::span<const Mac> groups);

  [[nodiscard]] int fd() const override { return fd_.get(); }
  [[nodiscard]] std::size_t mtu() const override { return interface_mtu(interface_.c_str()); }
  BatchSent send(Datagrams frames) override { return sender_.send(fd_.get(), frames); }
  std::span<const Bytes> receive() override;
  [[nodiscard]] bool away() const override { return away_; }
  [[nodiscard]] bool come_back() override;
  [[nodiscard]] std::uint64_t overflows() override;

 private:
  PacketSocket(UniqueFd fd, std::string interface, std::span<const Mac> groups)
      : EthernetDevice({}),
        fd_(std::move(fd)),
        interface_(std::move(interface)),
        groups_(groups.begin(), groups.end()) {}
  Expected<void> attach();

  UniqueFd fd_;
  BatchSender sender_;
  std::string interface_;
  std::vector<Mac> groups_;
  bool away_ = false;
  std::uint64_t overflows_ = 0;
};

}  // namespace weft::io
