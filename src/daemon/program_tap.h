// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "daemon/host_interfaces.h"
#include "io/reactor.h"
#include "port/inlet_faults.h"
#include "port/udp/capture.h"
#include "port/udp/packet_taps.h"

namespace weft::daemon {

// What `weft run` was told about the packets of a program, for those of queue pair 1.
struct TapChoice {
  std::string faults;         // as --fault takes it; empty: none
  std::string capture;        // the file; empty: none
  std::uint32_t ordinal = 0;  // each rdma_cm file of a program draws numbers of its own

  [[nodiscard]] bool any() const { return !faults.empty() || !capture.empty(); }
};

// The capture and the faulty line of one rdma_cm file.
class ProgramTap final : public port::PacketTap {
 public:
  // `on_due`: something that was held back is to be let go. EINVAL for faults that make no sense;
  // the error of the capture file, if that cannot be written.
  static Expected<std::unique_ptr<ProgramTap>> open(const TapChoice& choice,
                                                    const HostInterfaces& interfaces,
                                                    io::Reactor& reactor,
                                                    std::function<void()> on_due);

  port::Capture* capture(const Gid& local) override;
  port::InletFaults* faults() override { return faults_.get(); }

 private:
  ProgramTap(std::string file, const HostInterfaces& interfaces)
      : file_(std::move(file)), interfaces_(interfaces) {}

  std::string file_;
  const HostInterfaces& interfaces_;
  // By interface; null: the capture has none of that name, as when the program was told to use
  // another one.
  std::map<std::string, std::unique_ptr<port::Capture>> captures_;
  std::unique_ptr<port::InletFaults> faults_;
  io::Reactor::Registration due_;
};

}  // namespace weft::daemon
