// SPDX-License-Identifier: Apache-2.0
// What stands behind the pointers that a program holds: each object begins with the structure of
// the C ABI and goes on with ours. `of()` finds the object from the C pointer.
#pragma once

#include <cstdint>
#include <memory>

#include "host/context.h"
#include "io/unique_fd.h"
#include "verbs/abi.h"
#include "verbs/work_builder.h"

namespace weft::verbs {

// Provider libraries ask whether a device is theirs by comparing the word right after ibv_device
// with the address of their own operations. So there must be such a word, and it must not match.
struct DeviceAbi {
  ibv_device device;
  std::uint64_t provider_operations;
};
static_assert(offsetof(DeviceAbi, provider_operations) == 0x298);

struct Device : DeviceAbi {
  // `index` is the device's place in the list, N of its "uverbsN".
  Device(const host::DeviceInfo& device_info, unsigned index);
  static Device& of(ibv_device* device) {
    return *static_cast<Device*>(reinterpret_cast<DeviceAbi*>(device));
  }

  host::DeviceInfo info;
};

struct OpenDevice : verbs_context {
  OpenDevice() : verbs_context{} {}
  static OpenDevice& of(ibv_context* context) {
    return *static_cast<OpenDevice*>(verbs_get_ctx(context));
  }

  std::shared_ptr<Device> opened;
  std::shared_ptr<host::Context> host;
  io::UniqueFd command_fd;  // programs dup() it; nothing is ever read from or written to it
};

// The objects below keep the host's context alive by themselves, so that destroying them after
// ibv_close_device() is an error of the program's that does no harm.

struct Pd : ibv_pd {
  Pd() : ibv_pd{} {}
  static Pd& of(ibv_pd* pd) { return *static_cast<Pd*>(pd); }

  std::shared_ptr<host::Context> host;
};

struct Mr : ibv_mr {
  Mr() : ibv_mr{} {}
  static Mr& of(ibv_mr* mr) { return *static_cast<Mr*>(mr); }

  std::shared_ptr<host::Context> host;
  hca::MemoryRegion region;
};

struct Ah : ibv_ah {
  Ah() : ibv_ah{} {}
  static Ah& of(ibv_ah* ah) { return *static_cast<Ah*>(ah); }
  static const Ah& of(const ibv_ah* ah) { return *static_cast<const Ah*>(ah); }

  std::shared_ptr<host::Context> host;
  hca::Path path;
};

struct Channel : ibv_comp_channel {
  Channel() : ibv_comp_channel{} {}
  static Channel& of(ibv_comp_channel* channel) { return *static_cast<Channel*>(channel); }

  std::shared_ptr<host::CompletionChannel> host;
};

// Every completion queue has the extended layout, whose beginning is that of ibv_cq, and serves
// both interfaces.
struct Cq : ibv_cq_ex {
  Cq() : ibv_cq_ex{} {}
  static Cq& of(ibv_cq* cq) { return *static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq)); }
  static Cq& of(ibv_cq_ex* cq) { return *static_cast<Cq*>(cq); }
  [[nodiscard]] ibv_cq* abi() { return ibv_cq_ex_to_cq(this); }

  std::shared_ptr<host::Context> host_context;
  std::shared_ptr<host::CompletionQueue> host;
  bool single_threaded = false;
  host::SpinLock polling;     // held from start_poll to end_poll
  hca::Completion current{};  // what the read functions read
};

// Every queue pair has the extended layout; ibv_qp_to_qp_ex() gives it only to programs that asked
// for it.
struct Qp : ibv_qp_ex {
  Qp() : ibv_qp_ex{} {}
  static Qp& of(ibv_qp* qp) { return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }

  std::shared_ptr<host::Context> host_context;
  std::shared_ptr<host::QueuePair> host;
  ibv_qp_cap capabilities{};
  bool signal_all = false;
  std::unique_ptr<WorkBuilder> builder;  // none: created without send_ops_flags
};

static_assert(offsetof(ibv_cq_ex, cqe) == offsetof(ibv_cq, cqe));
static_assert(offsetof(ibv_cq_ex, async_events_completed) ==
              offsetof(ibv_cq, async_events_completed));
static_assert(offsetof(ibv_qp_ex, qp_base) == 0);

}  // namespace weft::verbs
