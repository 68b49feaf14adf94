// SPDX-License-Identifier: Apache-2.0
// What stands behind the pointers that a program holds: each object begins with the structure of
// the C ABI and goes on with ours. `of()` finds the object from the C pointer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "host/context.h"
#include "host/shared_receive_queue.h"
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

struct DeviceMemory;
struct XrcDomain;

// One opening of a device: what the context that ibv_open_device() gave shares with those that
// ibv_import_device() made from its cmd_fd. It ends when the last of them is closed.
struct Opening {
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device and inode

  Opening(std::shared_ptr<Device> opened, std::shared_ptr<host::Context> context)
      : device(std::move(opened)), host(std::move(context)) {}
  ~Opening() { host->close(); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  std::shared_ptr<Device> device;
  std::shared_ptr<host::Context> host;
  FileId file{};  // that its cmd_fds are of

  std::mutex mutex;  // guards what follows
  std::set<std::uint32_t> protection_domains;
  std::map<std::uint32_t, std::weak_ptr<DeviceMemory>> device_memory;  // by handle
  std::uint32_t next_device_memory = 1;
  std::map<FileId, std::weak_ptr<XrcDomain>> xrc_domains;  // by the file that names them
};

struct OpenDevice : verbs_context {
  OpenDevice() : verbs_context{} {}
  static OpenDevice& of(ibv_context* context) {
    return *static_cast<OpenDevice*>(verbs_get_ctx(context));
  }

  std::shared_ptr<Opening> opening;
  std::shared_ptr<host::Context> host;  // the opening's
  io::UniqueFd command_fd;  // programs dup() it; nothing is ever read from or written to it
};

// The objects below keep the host's context alive by themselves, so that destroying them after
// ibv_close_device() is an error of the program's that does no harm.

// A protection domain, or a parent domain, which stands for the one it was made from: both have the
// same handle.
struct Pd : ibv_pd {
  Pd() : ibv_pd{} {}
  static Pd& of(ibv_pd* pd) { return *static_cast<Pd*>(pd); }

  std::shared_ptr<host::Context> host;
  std::weak_ptr<Opening> opening;
  bool parent = false;
};

inline bool same_domain(const ibv_pd& a, const ibv_pd& b) {
  return a.handle == b.handle;
}

struct Td : ibv_td {
  Td() : ibv_td{} {}
  static Td& of(ibv_td* td) { return *static_cast<Td*>(td); }
};

// "Device memory" is memory of the process: a device that is software has no other.
struct DeviceMemory {
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes;
  std::size_t length = 0;
  std::atomic<std::uint32_t> regions{0};  // that are registered in it
};

struct Dm : ibv_dm {
  Dm() : ibv_dm{} {}
  static Dm& of(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

  std::shared_ptr<DeviceMemory> memory;
  std::weak_ptr<Opening> opening;
};

struct Mr : ibv_mr {
  Mr() : ibv_mr{} {}
  static Mr& of(ibv_mr* mr) { return *static_cast<Mr*>(mr); }

  std::shared_ptr<host::Context> host;
  hca::MemoryRegion region;
  std::shared_ptr<DeviceMemory> device_memory;  // that it is of
};

struct Mw : ibv_mw {
  Mw() : ibv_mw{} {}
  static Mw& of(ibv_mw* mw) { return *static_cast<Mw*>(mw); }

  std::shared_ptr<host::Context> host;
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
  SpinLock polling;           // held from start_poll to end_poll
  hca::Completion current{};  // what the read functions read
};

struct Srq : ibv_srq {
  Srq() : ibv_srq{} {}
  static Srq& of(ibv_srq* srq) { return *static_cast<Srq*>(srq); }

  std::shared_ptr<host::Context> host_context;
  std::shared_ptr<host::SharedReceiveQueue> host;
  std::shared_ptr<XrcDomain> domain;  // XRC only
  std::uint32_t max_pieces = 1;
};

struct Qp;
struct XrcDomain;

// A queue pair that receives for an XRC domain. Whoever shares the domain may open it once more; it
// goes with the last of its handles.
struct XrcTarget {
  std::shared_ptr<XrcDomain> domain;
  std::shared_ptr<host::QueuePair> host;
  std::vector<Qp*> handles;             // guarded by the domain's mutex
  std::atomic<Qp*> events_to{nullptr};  // the oldest of them
};

// An XRC domain (IBA annex A14). It goes with the last handle, receive queue or queue pair of it.
struct XrcDomain {
  explicit XrcDomain(std::shared_ptr<host::Context> context) : host(std::move(context)) {}
  ~XrcDomain();
  XrcDomain(const XrcDomain&) = delete;
  XrcDomain& operator=(const XrcDomain&) = delete;

  std::shared_ptr<host::Context> host;
  std::uint32_t handle = 0;  // the host's; 0: none yet
  std::uint32_t opened = 0;  // by open_xrcd; guarded by the opening's mutex
  std::mutex mutex;
  // By number of the queue pair; one that is here lives, since it is taken out before it goes.
  std::map<std::uint32_t, std::weak_ptr<XrcTarget>> targets;
};

struct Xrcd : ibv_xrcd {
  Xrcd() : ibv_xrcd{} {}
  static Xrcd& of(ibv_xrcd* xrcd) { return *static_cast<Xrcd*>(xrcd); }

  std::shared_ptr<XrcDomain> domain;
  std::weak_ptr<Opening> opening;
};

// Every queue pair has the extended layout; ibv_qp_to_qp_ex() gives it only to programs that asked
// for it.
struct Qp : ibv_qp_ex {
  Qp() : ibv_qp_ex{} {}
  static Qp& of(ibv_qp* qp) { return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }

  std::shared_ptr<host::Context> host_context;
  std::shared_ptr<host::QueuePair> host;
  std::shared_ptr<XrcTarget> target;  // XRC targets only
  ibv_qp_cap capabilities{};
  bool signal_all = false;
  std::atomic<std::uint32_t> flows{0};   // that it has
  std::unique_ptr<WorkBuilder> builder;  // none: created without send_ops_flags
};

static_assert(offsetof(ibv_cq_ex, cqe) == offsetof(ibv_cq, cqe));
static_assert(offsetof(ibv_cq_ex, async_events_completed) ==
              offsetof(ibv_cq, async_events_completed));
static_assert(offsetof(ibv_qp_ex, qp_base) == 0);

}  // namespace weft::verbs
