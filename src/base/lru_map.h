// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace weft {

// A map of at most `limit` entries in the order of their last use: what peers make us remember must
// be bounded, and what was silent longest goes first. The most recent entry is found without
// hashing. Pointers to values stay good until the value is evicted.
template <class Key, class Value, class Hash = std::hash<Key>>
class LruMap {
 public:
  struct Entry {
    Key key;
    Value value;
  };
  using List = std::list<Entry>;

  explicit LruMap(std::size_t limit) : limit_(limit) { assert(limit >= 1); }

  // Newest first.
  [[nodiscard]] typename List::const_iterator begin() const { return order_.begin(); }
  [[nodiscard]] typename List::const_iterator end() const { return order_.end(); }
  [[nodiscard]] std::size_t size() const { return order_.size(); }

  // The value of `key`, now the most recently used; nullptr when there is none.
  Value* touch(const Key& key) {
    if (!order_.empty() && order_.front().key == key) return &order_.front().value;
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &order_.front().value;
  }
  // The same without counting as a use.
  [[nodiscard]] Value* find(const Key& key) {
    if (!order_.empty() && order_.front().key == key) return &order_.front().value;
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->value;
  }
  // A new entry for a key that has none, in place of the least recently used one when full.
  Value& insert(const Key& key, Value value) {
    assert(index_.find(key) == index_.end());
    if (order_.size() == limit_) {
      index_.erase(order_.back().key);
      order_.pop_back();
    }
    order_.push_front(Entry{key, std::move(value)});
    index_.emplace(key, order_.begin());
    assert(index_.size() == order_.size());
    return order_.front().value;
  }
  void erase(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    order_.erase(found->second);
    index_.erase(found);
  }
  void clear() {
    index_.clear();
    order_.clear();
  }

 private:
  std::size_t limit_;
  List order_;
  std::unordered_map<Key, typename List::iterator, Hash> index_;
};

}  // namespace weft
