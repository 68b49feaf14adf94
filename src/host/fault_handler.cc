// SPDX-License-Identifier: Apache-2.0
#include "host/fault_handler.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace weft::host {
namespace {

// A handler that was there before ours.
struct Previous {
  struct sigaction action {};
  std::atomic<bool> spent{false};  // SA_RESETHAND: it was for one signal only
};

// What a signal's handlers were, oldest first. Entries do not change once they count, because a
// handler may be reading them.
struct Chain {
  static constexpr unsigned kMost = 8;
  int signal;
  std::array<Previous, kMost> handlers{};
  std::atomic<unsigned> count{0};
};

// Signal handlers belong to the process, and so does what must be known about them.
constinit Chain segv{SIGSEGV};
constinit Chain bus{SIGBUS};
constinit std::atomic<RecoverFromFault> recover_from{nullptr};

Chain& chain_of(int signal) {
  return signal == SIGSEGV ? segv : bus;
}

// Of the call that passes a signal on in this thread. Handlers often call the one that they found,
// which is ours: the older one is meant then. Both read in a signal handler, so the storage must be
// there already (initial-exec), whichever way this library was loaded.
struct Passing {
  const void* context = nullptr;
  const void* frame = nullptr;
  unsigned level = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Passing passing;

void handle(int signal, siginfo_t* info, void* context);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
}

void take_default_action(int signal, siginfo_t* info) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  // An instruction that faulted faults again when we return, with the registers as they were. What
  // somebody sent must be sent again.
  const bool comes_again =
      info->si_code > 0 && !(signal == SIGBUS && info->si_code == BUS_MCEERR_AO);
  if (!comes_again) syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info);
}

// As the kernel would have called it (sigaction(2)).
void call(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
  sigset_t blocked = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);  // our return restores the mask
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

void pass_on(int signal, siginfo_t* info, void* context) {
  Chain& chain = chain_of(signal);
  const Passing before = passing;
  // Deeper in the stack and about the same fault: the handler that we called has called us.
  const void* const frame = __builtin_frame_address(0);
  const bool called_back = before.context == context && frame < before.frame;
  const unsigned level = called_back ? before.level + 1 : 0;
  const unsigned count = chain.count.load(std::memory_order_acquire);
  if (level >= count) return take_default_action(signal, info);
  Previous& previous = chain.handlers[count - 1 - level];
  const struct sigaction& action = previous.action;
  const bool takes_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (!takes_info && action.sa_handler == SIG_IGN && info->si_code <= 0) return;
  const bool standard =
      (!takes_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) ||
      ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0 && previous.spent.exchange(true));
  if (standard) return take_default_action(signal, info);
  passing = {context, frame, level};
  call(action, signal, info, context);
  passing = before;
}

void handle(int signal, siginfo_t* info, void* context) {
  const RecoverFromFault recover = recover_from.load(std::memory_order_relaxed);
  const bool faulted = info->si_code > 0;  // the kernel says so; not kill(2)
  if (faulted && recover(*info, context)) return;
  pass_on(signal, info, context);
}

// False when there is no room.
bool remember(Chain& chain, const struct sigaction& action) {
  const unsigned count = chain.count.load(std::memory_order_relaxed);
  const auto same = [&](const struct sigaction& other) {
    return (other.sa_flags & SA_SIGINFO) != 0 ? other.sa_sigaction == action.sa_sigaction
                                              : other.sa_handler == action.sa_handler;
  };
  if (count > 0 && same(chain.handlers[count - 1].action)) {
    chain.handlers[count - 1].spent = false;
    return true;
  }
  if (count == Chain::kMost) return false;
  chain.handlers[count].action = action;
  chain.count.store(count + 1, std::memory_order_release);
  return true;
}

void install(Chain& chain) {
  struct sigaction found {};
  if (sigaction(chain.signal, nullptr, &found) != 0 || is_ours(found)) return;
  if (!remember(chain, found)) return;
  struct sigaction ours {};
  ours.sa_sigaction = handle;
  // Where the other one would run, ours can run: an alternate stack may be the only one left.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | (found.sa_flags & (SA_ONSTACK | SA_RESTART));
  sigemptyset(&ours.sa_mask);
  struct sigaction replaced {};
  if (sigaction(chain.signal, &ours, &replaced) == 0 && !is_ours(replaced)) {
    remember(chain, replaced);  // the same, but for a race with the application
  }
}

}  // namespace

void install_fault_handler(RecoverFromFault recover) {
  static constinit std::mutex mutex;
  const std::lock_guard guard(mutex);
  recover_from.store(recover, std::memory_order_relaxed);
  install(segv);
  install(bus);
}

}  // namespace weft::host
