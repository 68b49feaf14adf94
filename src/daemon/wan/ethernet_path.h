// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "daemon/wan/remote_path.h"
#include "io/ethernet_device.h"
#include "wan/encapsulation/stack.h"
#include "wan/neighbour/neighbour_cache.h"

namespace weft::daemon {

// A path whose packets are made here, Ethernet header and all. It is established while it is known
// where on the Ethernet the remote is.
class EthernetPath final : public RemotePath {
 public:
  // `ends`: without the remote's Ethernet address. The remote's encapsulation can be between them.
  // `device` and `neighbours`, where the remote is looked for, outlive it.
  EthernetPath(const fabric::LabRemote& remote, const wan::Ends& ends, io::EthernetDevice& device,
               const wan::NeighbourCache& neighbours);

  [[nodiscard]] const Gid& address() const { return ends_.remote; }
  // Nothing: it is lost.
  void set_mac(const std::optional<wan::MacAddress>& mac, Time now);
  // The device has another Ethernet address from now on.
  void set_own_mac(const wan::MacAddress& mac, Time now);
  // Whether its remote has sent this frame, by its addresses.
  [[nodiscard]] bool is_from_remote(Bytes frame) const;
  // A frame of Ethernet that is from its remote. True: that is proved, or nothing can be.
  bool take(Bytes frame, Time now);
  // Of packets that were not as the encapsulation has them.
  [[nodiscard]] std::vector<CounterValue> refused_counters() const;

  [[nodiscard]] std::string remote_text() const override;
  [[nodiscard]] std::string_view neighbour_text() const override;
  // wan::Path
  [[nodiscard]] bool established() const override { return found_; }
  [[nodiscard]] std::size_t longest_frame() const override { return longest_frame_; }
  [[nodiscard]] std::size_t options_room() const override { return options_room_; }

 private:
  std::size_t transmit(Frames frames, Time now) override;
  [[nodiscard]] wan::Stack make_stack() const;
  [[nodiscard]] std::size_t frame_that_fits() const;
  [[nodiscard]] bool has_own_label(Bytes frame) const;
  void look_at_mtu(Time now);

  const std::string encapsulation_;
  const std::size_t options_room_;
  wan::Ends ends_;
  io::EthernetDevice& device_;
  const wan::NeighbourCache& neighbours_;
  bool found_ = false;
  wan::Stack stack_;
  std::vector<CounterValue> refused_before_;  // by the stacks before this one
  std::size_t longest_frame_;
  // Kept between calls.
  std::deque<wan::OutPacket> packets_;
  std::vector<std::span<const Bytes>> out_;
};

}  // namespace weft::daemon
