// SPDX-License-Identifier: Apache-2.0
// The heaviest of many, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi: "Efficient
// computation of frequent and top-k elements in data streams", 2005), with weights.
//
// Of `capacity` counters, each of which has at most `error` too much: whoever has more than
// total() / capacity is among them, and no error is more than that.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::service {

template <class Key, class Hash = std::hash<Key>>
class SpaceSaving {
 public:
  struct Counter {
    Key key{};
    std::uint64_t count = 0;  // at least what it has, at most `error` more
    std::uint64_t error = 0;
  };

  explicit SpaceSaving(std::size_t capacity) : capacity_(capacity) {
    assert(capacity >= 1);
    heap_.reserve(capacity);
    places_.reserve(capacity);
  }

  void add(const Key& key, std::uint64_t weight) {
    total_ += weight;
    if (const auto found = places_.find(key); found != places_.end()) {
      heap_[found->second].count += weight;
      sink(found->second);
      return;
    }
    if (heap_.size() < capacity_) {
      heap_.push_back({key, weight, 0});
      places_[key] = heap_.size() - 1;
      rise(heap_.size() - 1);
      return;
    }
    // It takes over from the lightest, with what that had.
    Counter& least = heap_.front();
    places_.erase(least.key);
    least = {key, least.count + weight, least.count};
    places_[key] = 0;
    sink(0);
  }

  // Heaviest first, at most so many.
  [[nodiscard]] std::vector<Counter> top(std::size_t most) const {
    std::vector<Counter> out = heap_;
    const std::size_t count = std::min(most, out.size());
    std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), out.end(),
                      [](const Counter& a, const Counter& b) { return a.count > b.count; });
    out.resize(count);
    return out;
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

 private:
  void swap_places(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    places_[heap_[a].key] = a;
    places_[heap_[b].key] = b;
  }
  void sink(std::size_t at) {
    for (;;) {
      std::size_t least = at;
      for (const std::size_t child : {2 * at + 1, 2 * at + 2}) {
        if (child < heap_.size() && heap_[child].count < heap_[least].count) least = child;
      }
      if (least == at) return;
      swap_places(at, least);
      at = least;
    }
  }
  void rise(std::size_t at) {
    while (at != 0 && heap_[at].count < heap_[(at - 1) / 2].count) {
      swap_places(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
  }

  const std::size_t capacity_;
  std::vector<Counter> heap_;  // the lightest first
  std::unordered_map<Key, std::size_t, Hash> places_;
  std::uint64_t total_ = 0;
};

}  // namespace weft::service
