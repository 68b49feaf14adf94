// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <utility>

namespace weft {

// Values by key, which stay where they are. The one that was found last is found again without
// hashing its key: packets mostly go on with the connection that the packet before was of.
template <class Key, class Value>
class RecentMap {
 public:
  RecentMap() = default;
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  // Null: there is none.
  [[nodiscard]] Value* find(const Key& key) {
    if (recent_ != nullptr && recent_->first == key) return &recent_->second;
    const auto found = values_.find(key);
    if (found == values_.end()) return nullptr;
    recent_ = &*found;
    return &found->second;
  }
  // The value of this key, a new one if there was none.
  Value& operator[](const Key& key) {
    if (Value* const there = find(key)) return *there;
    return values_[key];
  }
  void erase(const Key& key) {
    recent_ = nullptr;
    values_.erase(key);
  }

  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }

 private:
  std::unordered_map<Key, Value> values_;
  std::pair<const Key, Value>* recent_ = nullptr;
};

}  // namespace weft
