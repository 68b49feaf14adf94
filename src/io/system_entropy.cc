// SPDX-License-Identifier: Apache-2.0
#include "io/system_entropy.h"

#include <sys/mman.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace weft::io {
namespace {

// getrandom(2) gives up to 256 bytes whole, whatever signals arrive.
constexpr std::size_t kBatchBytes = 256;

void fill(void* to, std::size_t bytes) {
  // Unguessable keys are a promise: without a random source there is nothing sound left to do.
  if (getrandom(to, bytes, 0) != static_cast<ssize_t>(bytes)) std::abort();
}

}  // namespace

// Lives in memory that the kernel zeroes in a forked child (MADV_WIPEONFORK). All zero means "not
// busy, nothing left", so that the child starts with a refill, even if a thread of the parent was
// drawing at the moment of the fork.
struct SystemEntropy::Page {
  std::atomic<bool> busy;
  std::size_t left;
  std::array<std::uint64_t, kBatchBytes / sizeof(std::uint64_t)> words;
};

SystemEntropy::SystemEntropy() {
  void* memory =
      mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (madvise(memory, sizeof(Page), MADV_WIPEONFORK) != 0) {
    munmap(memory, sizeof(Page));
    return;
  }
  page_ = new (memory) Page{};
}

SystemEntropy::~SystemEntropy() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
}

std::uint64_t SystemEntropy::draw() {
  std::uint64_t word = 0;
  // Whoever finds the batch in use asks the kernel directly instead of waiting.
  if (page_ == nullptr || page_->busy.exchange(true, std::memory_order_acquire)) {
    fill(&word, sizeof word);
    return word;
  }
  if (page_->left == 0) {
    fill(page_->words.data(), kBatchBytes);
    page_->left = page_->words.size();
  }
  --page_->left;
  word = std::exchange(page_->words[page_->left], 0);  // a drawn word is nobody else's business
  page_->busy.store(false, std::memory_order_release);
  return word;
}

}  // namespace weft::io
