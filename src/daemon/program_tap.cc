// SPDX-License-Identifier: Apache-2.0
#include "daemon/program_tap.h"

#include <utility>

#include "io/pcapng_writer.h"
#include "port/faults.h"

namespace weft::daemon {
namespace {

// Sockets of the program's devices count from zero (UdpShared::open_inlet).
constexpr std::uint64_t kOrdinals = std::uint64_t{1} << 32;

}  // namespace

Expected<std::unique_ptr<ProgramTap>> ProgramTap::open(const TapChoice& choice,
                                                       const HostInterfaces& interfaces,
                                                       io::Reactor& reactor,
                                                       std::function<void()> on_due) {
  std::unique_ptr<ProgramTap> out(new ProgramTap(choice.capture, interfaces));
  if (!choice.capture.empty()) {
    const auto file = io::PcapngFile::open_append(choice.capture);
    if (!file) return tl::unexpected(file.error());
  }
  if (choice.faults.empty()) return out;
  const auto config = port::parse_faults(choice.faults);
  if (!config) return tl::unexpected(config.error());
  if (!config->any()) return out;
  auto faults = port::InletFaults::create(*config, kOrdinals + choice.ordinal);
  if (!faults) return tl::unexpected(faults.error());
  out->faults_ = std::move(*faults);
  auto due = reactor.watch(out->faults_->descriptor(), EPOLLIN,
                           [on_due = std::move(on_due)](std::uint32_t) { on_due(); });
  if (!due) return tl::unexpected(due.error());
  out->due_ = std::move(*due);
  return out;
}

port::Capture* ProgramTap::capture(const Gid& local) {
  if (file_.empty()) return nullptr;
  const std::string interface = interfaces_.interface_of(local);
  const auto known = captures_.find(interface);
  if (known != captures_.end()) return known->second.get();
  auto opened = port::Capture::open(file_, interface);
  return (captures_[interface] = opened ? std::move(*opened) : nullptr).get();
}

}  // namespace weft::daemon
