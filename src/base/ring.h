// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft {

// A queue that finds its elements by number and keeps its memory: it grows by doubling, begins with
// none, and allocates nothing once grown.
template <class T>
class Ring {
 public:
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // The `n`th oldest. The reference is good until the next push.
  [[nodiscard]] T& operator[](std::size_t n) {
    assert(n < count_);
    return slots_[(head_ + n) & (slots_.size() - 1)];
  }
  [[nodiscard]] const T& operator[](std::size_t n) const {
    assert(n < count_);
    return slots_[(head_ + n) & (slots_.size() - 1)];
  }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[count_ - 1]; }
  [[nodiscard]] const T& back() const { return (*this)[count_ - 1]; }
  // Both return the new element.
  T& push(const T& value) { return push_slot() = value; }
  T& push(T&& value) { return push_slot() = std::move(value); }
  // What it holds stays in its slot until that is used again: whoever owns something lets go first.
  void pop_front() {
    assert(count_ > 0);
    head_ = (head_ + 1) & (slots_.size() - 1);
    --count_;
  }
  void pop_back() {
    assert(count_ > 0);
    --count_;
  }
  // Gives the memory back, too.
  void clear() { *this = Ring{}; }
  // Does so if it is empty and has room for more than `most`.
  void rest(std::size_t most) {
    if (count_ == 0 && slots_.size() > most) clear();
  }

 private:
  static constexpr std::size_t kFirstStep = 16;
  T& push_slot() {
    if (count_ == slots_.size()) grow();
    ++count_;
    return back();
  }
  void grow() {
    std::vector<T> slots(slots_.empty() ? kFirstStep : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i)
      slots[i] = std::move((*this)[i]);
    slots_ = std::move(slots);
    head_ = 0;
    assert(std::has_single_bit(slots_.size()));
  }

  std::vector<T> slots_;  // a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace weft
