// SPDX-License-Identifier: Apache-2.0
#include "host/guarded_copy.h"

#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "host/copy_kernel.h"
#include "host/fault_handler.h"

namespace weft::host {
namespace {

// Where a guarded body of this thread is left at a fault.
struct Landing {
  sigjmp_buf place;
  const void* argument;
  MayFault may_fault;
};
// Read in a signal handler: see fault_handler.cc.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::atomic<Landing*> landing{nullptr};

bool recover(const siginfo_t& info, void* context) {
  if (skip_copy(context)) return true;
  Landing* const there = landing.load(std::memory_order_relaxed);
  if (there == nullptr) return false;
  // The processor does not tell the address when it is none at all (SI_KERNEL).
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  if (there->may_fault != nullptr && info.si_code != SI_KERNEL &&
      !there->may_fault(there->argument, address)) {
    return false;
  }
  landing.store(nullptr, std::memory_order_relaxed);
  // Ours blocks no signal, but a handler of the application that called it may.
  pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(there->place, 1);
}

constinit std::atomic<bool> installed{false};

void ensure_once() {
  if (!installed.load(std::memory_order_acquire)) ensure_fault_handler();
}

struct CopyWork {
  void* to;
  const void* from;
  std::size_t length;
};

bool contains(const void* start, std::size_t length, std::uintptr_t address) {
  return address - reinterpret_cast<std::uintptr_t>(start) < length;
}

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#endif
#endif

#if defined(WEFT_THREAD_SANITIZER)
// To the program this is an adapter at work: ThreadSanitizer knows of no order between the two,
// since that comes with the packets, and it sees what memcpy does wherever that is called from.
__attribute__((no_sanitize("thread"))) void copy_bytes(void* to, const void* from,
                                                       std::size_t length) {
  auto* const out = static_cast<volatile std::byte*>(to);
  const auto* const in = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < length; ++i)
    out[i] = in[i];
}
#else
void copy_bytes(void* to, const void* from, std::size_t length) {
  std::memcpy(to, from, length);
}
#endif

bool copy_portably(void* to, const void* from, std::size_t length) {
  if (length == 0) return true;
  CopyWork work{to, from, length};
  return guarded(
      [](void* argument) {
        const CopyWork& now = *static_cast<CopyWork*>(argument);
        copy_bytes(now.to, now.from, now.length);
      },
      &work,
      [](const void* argument, std::uintptr_t address) {
        const CopyWork& now = *static_cast<const CopyWork*>(argument);
        return contains(now.to, now.length, address) || contains(now.from, now.length, address);
      });
}

bool copy_and_choose(void* to, const void* from, std::size_t length);

// Until the first call it is one that installs the handler and chooses.
constinit std::atomic<CopyKernel> copy_in_use{copy_and_choose};

bool copy_and_choose(void* to, const void* from, std::size_t length) {
  ensure_once();
  const CopyKernel chosen = copy_kernels().empty() ? copy_portably : copy_kernels().back();
  copy_in_use.store(chosen, std::memory_order_release);
  return chosen(to, from, length);
}

}  // namespace

bool guarded_copy(void* to, const void* from, std::size_t length) {
  return copy_in_use.load(std::memory_order_acquire)(to, from, length);
}

bool guarded(void (*body)(void*), void* argument) {
  return guarded(body, argument, nullptr);
}

bool guarded(void (*body)(void*), void* argument, MayFault may_fault) {
  ensure_once();
  Landing here;
  here.argument = argument;
  here.may_fault = may_fault;
  if (sigsetjmp(here.place, 0) != 0) return false;
  landing.store(&here, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  landing.store(nullptr, std::memory_order_relaxed);
  return true;
}

void ensure_fault_handler() {
  install_fault_handler(recover);
  installed.store(true, std::memory_order_release);
}

}  // namespace weft::host
