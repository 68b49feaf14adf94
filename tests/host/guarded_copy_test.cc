// SPDX-License-Identifier: Apache-2.0
#include "host/guarded_copy.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "host/copy_kernel.h"

namespace weft::host::test {
namespace {

std::vector<CopyKernel> all_copies() {
  std::vector<CopyKernel> copies{guarded_copy};
  for (const CopyKernel kernel : copy_kernels())
    copies.push_back(kernel);
  return copies;
}

// A page, and after it 64 KiB that may not be touched.
class HalfMapped {
 public:
  explicit HalfMapped(int protection = PROT_READ | PROT_WRITE)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    start_ = static_cast<std::byte*>(
        mmap(nullptr, page_ + kGone, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(start_, page_, PROT_READ | PROT_WRITE);
    std::memset(start_, 0x5A, page_);
    mprotect(start_, page_, protection);
  }
  HalfMapped(const HalfMapped&) = delete;
  HalfMapped& operator=(const HalfMapped&) = delete;
  ~HalfMapped() { munmap(start_, page_ + kGone); }
  // So many bytes before the end of what is there.
  [[nodiscard]] std::byte* before_end(std::size_t count) const { return start_ + page_ - count; }

 private:
  static constexpr std::size_t kGone = 65'536;
  std::size_t page_;
  std::byte* start_;
};

TEST(GuardedCopy, CopiesEveryLengthAtEveryPlaceAndNothingBeside) {
  constexpr std::size_t kMost = 9000;
  constexpr std::size_t kMargin = 128;
  std::vector<std::byte> from(kMost + kMargin);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  std::vector<std::byte> to(kMost + 2 * kMargin);
  std::vector<std::byte> wanted;
  for (const CopyKernel copy : all_copies()) {
    for (std::size_t length = 0; length <= kMost; length += length < 700 ? 1 : 97) {
      const std::size_t source = length * 5 % 67;
      const std::size_t at = kMargin - length * 3 % 71;
      std::fill(to.begin(), to.end(), std::byte{0xEE});
      wanted = to;
      std::memcpy(wanted.data() + at, from.data() + source, length);
      ASSERT_TRUE(copy(to.data() + at, from.data() + source, length));
      ASSERT_EQ(to, wanted) << length << " bytes";
    }
  }
}

TEST(GuardedCopy, TellsWhatIsNotThereAndLivesOn) {
  const HalfMapped memory;
  const HalfMapped read_only(PROT_READ);
  ensure_fault_handler();
  for (const CopyKernel copy : all_copies()) {
    for (const std::size_t length :
         {1u, 2u, 5u, 11u, 20u, 40u, 100u, 200u, 1000u, 4000u, 30'000u}) {
      std::vector<std::byte> mine(length);
      for (const std::size_t there : {std::size_t{0}, length / 2, length - 1}) {
        if (there > 4096) continue;
        EXPECT_FALSE(copy(mine.data(), memory.before_end(there), length)) << length;
        EXPECT_FALSE(copy(memory.before_end(there), mine.data(), length)) << length;
      }
      if (length > 4096) continue;
      EXPECT_TRUE(copy(mine.data(), memory.before_end(length), length));
      EXPECT_TRUE(copy(memory.before_end(length), mine.data(), length));
      EXPECT_TRUE(copy(mine.data(), read_only.before_end(length), length));
      EXPECT_FALSE(copy(read_only.before_end(length), mine.data(), length)) << "read only";
    }
    std::array<std::byte, 8> mine{};
    volatile std::uintptr_t nowhere = 8;
    EXPECT_FALSE(copy(mine.data(), reinterpret_cast<void*>(nowhere), mine.size()));
    EXPECT_TRUE(copy(mine.data(), reinterpret_cast<void*>(nowhere), 0));
    // No address at all: the processor reports those in another way.
    volatile std::uintptr_t impossible = 0x8000'0000'0000'0000;
    EXPECT_FALSE(copy(mine.data(), reinterpret_cast<void*>(impossible), mine.size()));
  }
}

TEST(GuardedCopy, SurvivesAFileThatWasCutShort) {
  char path[] = "/tmp/weft_guarded_copy_XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  void* const file = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(file, MAP_FAILED);
  std::array<std::byte, 100> mine{};
  EXPECT_TRUE(guarded_copy(file, mine.data(), mine.size()));
  ASSERT_EQ(ftruncate(fd, 0), 0);
  EXPECT_FALSE(guarded_copy(file, mine.data(), mine.size())) << "SIGBUS";
  EXPECT_FALSE(guarded_copy(mine.data(), file, mine.size()));
  munmap(file, 8192);
  close(fd);
}

TEST(GuardedCopy, WorksInManyThreadsAtOnce) {
  const HalfMapped memory;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<std::byte> mine(300);
      for (int i = 0; i < 2000; ++i) {
        if (guarded_copy(mine.data(), memory.before_end(150), mine.size())) ++wrong;
        if (!guarded_copy(mine.data(), memory.before_end(300), mine.size())) ++wrong;
        const auto read = [](void* at) { (void)*static_cast<volatile std::byte*>(at); };
        if (guarded(read, memory.before_end(0))) ++wrong;
        if (!guarded(read, memory.before_end(1))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Guarded, LeavesABodyThatMeetsAFault) {
  const HalfMapped memory;
  struct Work {
    volatile std::byte* at;
    int steps = 0;
  } work{memory.before_end(0)};
  const auto body = [](void* argument) {
    Work& now = *static_cast<Work*>(argument);
    ++now.steps;
    (void)*now.at;
    ++now.steps;
  };
  EXPECT_FALSE(guarded(body, &work));
  EXPECT_EQ(work.steps, 1);
  work.at = memory.before_end(1);
  EXPECT_TRUE(guarded(body, &work));
  EXPECT_EQ(work.steps, 3);
}

// What a child process does at a fault; each ends the process.

[[noreturn]] void fault() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  std::abort();
}

void exit_if_null(int, siginfo_t* info, void*) {
  _exit(info->si_addr == nullptr && info->si_code == SEGV_MAPERR ? 42 : 43);
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0,
             struct sigaction* before = nullptr) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(signal, &action, before);
}

void restore_default(int signal) {
  std::signal(signal, SIG_DFL);
}

TEST(FaultHandlerDeathTest, KillsWhatNobodyHandles) {
  const auto die = [] {
    restore_default(SIGSEGV);
    ensure_fault_handler();
    fault();
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGSEGV), "");
  const auto ignore = [] {
    std::signal(SIGSEGV, SIG_IGN);
    ensure_fault_handler();
    kill(getpid(), SIGSEGV);  // ignored, as it was
    fault();                  // cannot be ignored
  };
  EXPECT_EXIT(ignore(), ::testing::KilledBySignal(SIGSEGV), "");
  const auto sent = [] {
    restore_default(SIGBUS);
    ensure_fault_handler();
    kill(getpid(), SIGBUS);
    _exit(1);
  };
  EXPECT_EXIT(sent(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(FaultHandlerDeathTest, PassesFaultsOnToTheHandlerThatWasThere) {
  const auto die = [] {
    install(SIGSEGV, exit_if_null);
    ensure_fault_handler();
    const HalfMapped memory;
    std::byte mine{};
    if (guarded_copy(&mine, memory.before_end(0), 1)) _exit(1);
    fault();
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
  const auto plain = [] {
    std::signal(SIGSEGV, [](int signal) { _exit(signal == SIGSEGV ? 44 : 1); });
    ensure_fault_handler();
    fault();
  };
  EXPECT_EXIT(plain(), ::testing::ExitedWithCode(44), "");
}

void exit_if_sent(int, siginfo_t* info, void*) {
  _exit(info->si_code == SI_QUEUE && info->si_value.sival_int == 7 ? 42 : 43);
}

TEST(FaultHandlerDeathTest, PassesOnWhatSomebodySent) {
  const auto die = [] {
    install(SIGSEGV, exit_if_sent);
    ensure_fault_handler();
    sigqueue(getpid(), SIGSEGV, sigval{.sival_int = 7});
    _exit(1);
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

struct sigaction found_by_chaining;
volatile std::sig_atomic_t chained = 0;

// As careful programs do: looks, and calls what it found.
void chain(int signal, siginfo_t* info, void* context) {
  chained = chained + 1;
  found_by_chaining.sa_sigaction(signal, info, context);
}

TEST(FaultHandlerDeathTest, StandsAboveAHandlerThatCallsItBack) {
  const auto die = [] {
    install(SIGSEGV, [](int, siginfo_t*, void*) { _exit(chained == 1 ? 42 : 43); });
    ensure_fault_handler();
    install(SIGSEGV, chain, 0, &found_by_chaining);
    ensure_fault_handler();
    ensure_fault_handler();
    const HalfMapped memory;
    std::byte mine{};
    if (guarded_copy(&mine, memory.before_end(0), 1) || chained != 0) _exit(1);
    fault();
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

TEST(FaultHandlerDeathTest, WorksBelowAHandlerThatCallsIt) {
  const auto die = [] {
    restore_default(SIGSEGV);
    std::byte mine{};
    (void)guarded_copy(&mine, &mine, 0);  // the first use installs
    install(SIGSEGV, chain, 0, &found_by_chaining);
    const HalfMapped memory;
    if (guarded_copy(&mine, memory.before_end(0), 1) || chained != 1) _exit(1);
    // The handler's mask must not stay behind, or a second fault would kill.
    const auto read = [](void* at) { (void)*static_cast<volatile std::byte*>(at); };
    if (guarded(read, memory.before_end(0)) || guarded(read, memory.before_end(0))) _exit(1);
    _exit(chained == 3 ? 42 : 43);
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

TEST(FaultHandlerDeathTest, GivesUpOnAProgramThatNeverStopsInstalling) {
  const auto die = [] {
    static constexpr std::array kTwo{exit_if_null, exit_if_sent};
    for (int i = 0; i < 100; ++i) {
      install(SIGSEGV, kTwo[static_cast<std::size_t>(i % 2)]);
      ensure_fault_handler();
    }
    install(SIGSEGV, exit_if_null);
    ensure_fault_handler();
    fault();
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

sigjmp_buf way_out;

TEST(FaultHandlerDeathTest, LetsHandlersLeaveAsOftenAsTheyLike) {
  const auto die = [] {
    install(SIGSEGV, [](int, siginfo_t*, void*) { _exit(chained == 2 ? 42 : 43); });
    ensure_fault_handler();
    const auto leave = [](int signal, siginfo_t* info, void* context) {
      chained = chained + 1;
      if (chained < 3) siglongjmp(way_out, 1);
      chained = 2;
      found_by_chaining.sa_sigaction(signal, info, context);
    };
    install(SIGSEGV, leave, SA_NODEFER, &found_by_chaining);
    ensure_fault_handler();
    (void)sigsetjmp(way_out, 1);
    fault();
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

TEST(FaultHandlerDeathTest, CallsAHandlerForOneSignalOnce) {
  const auto die = [] {
    install(
        SIGSEGV, [](int, siginfo_t*, void*) { chained = chained + 1; },
        static_cast<int>(SA_RESETHAND));
    ensure_fault_handler();
    fault();  // returns to the fault, which kills now
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST(FaultHandlerDeathTest, KeepsAHandlersMaskAndAlternateStack) {
  static std::array<std::byte, 64 * 1024> stack;
  const auto die = [] {
    const stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void*) {
      sigset_t now;
      pthread_sigmask(SIG_BLOCK, nullptr, &now);
      const bool masked = sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSEGV) == 1;
      const std::byte here{};
      const bool there = &here >= stack.data() && &here < stack.data() + stack.size();
      _exit(masked && there ? 42 : 43);
    };
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, nullptr);
    ensure_fault_handler();
    fault();
  };
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

TEST(FaultHandlerDeathTest, DoesNotTakeAnotherHandlersFaultForTheBodys) {
  const auto die = [](MayFault may_fault) {
    restore_default(SIGSEGV);
    std::signal(SIGUSR1, [](int) { fault(); });
    guarded([](void*) { raise(SIGUSR1); }, nullptr, may_fault);
    _exit(1);
  };
  EXPECT_EXIT(die([](const void*, std::uintptr_t) { return false; }),
              ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace weft::host::test
