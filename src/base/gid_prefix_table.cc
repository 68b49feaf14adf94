// SPDX-License-Identifier: Apache-2.0
#include "base/gid_prefix_table.h"

namespace weft {

void PrefixTable::insert(const GidPrefix& prefix, Value value) {
  Place* place = &root_;
  while (*place != nullptr) {
    Node& node = **place;
    const unsigned common = node.prefix.common_bits(prefix);
    if (common < node.prefix.bits()) {
      // It leaves the way to this node before its end.
      auto fork =
          std::make_unique<Node>(Node{.prefix = prefix.first(common), .value = {}, .children = {}});
      fork->children[node.prefix.bit(common)] = std::move(*place);
      *place = std::move(fork);
    } else if (common == prefix.bits()) {
      if (!node.value) ++size_;
      node.value = value;
      return;
    } else {
      place = &node.children[prefix.bit(common)];
    }
  }
  *place = std::make_unique<Node>(Node{.prefix = prefix, .value = value, .children = {}});
  ++size_;
}

bool PrefixTable::remove(const GidPrefix& prefix) {
  Place* before = nullptr;
  Place* place = &root_;
  while (*place != nullptr && (*place)->prefix != prefix) {
    Node& node = **place;
    if (!node.prefix.covers(prefix)) return false;
    before = place;
    place = &node.children[prefix.bit(node.prefix.bits())];
  }
  if (*place == nullptr || !(*place)->value) return false;
  (*place)->value.reset();
  --size_;
  tidy(*place);
  if (before != nullptr) tidy(*before);
  return true;
}

// A node without a value that has but one child, or none, gives way to it.
void PrefixTable::tidy(Place& place) {
  Node& node = *place;
  if (node.value || (node.children[0] != nullptr && node.children[1] != nullptr)) return;
  Place child = std::move(node.children[node.children[0] != nullptr ? 0 : 1]);
  place = std::move(child);
}

std::optional<PrefixTable::Value> PrefixTable::find(const Gid& gid) const {
  const GidPrefix wanted(gid, GidPrefix::kMostBits);
  std::optional<Value> best;
  const Node* node = root_.get();
  while (node != nullptr && node->prefix.covers(wanted)) {
    if (node->value) best = node->value;
    if (node->prefix.bits() == GidPrefix::kMostBits) break;
    node = node->children[wanted.bit(node->prefix.bits())].get();
  }
  return best;
}

std::vector<std::pair<GidPrefix, PrefixTable::Value>> PrefixTable::entries() const {
  std::vector<std::pair<GidPrefix, Value>> out;
  std::vector<const Node*> waiting{root_.get()};
  while (!waiting.empty()) {
    const Node* const node = waiting.back();
    waiting.pop_back();
    if (node == nullptr) continue;
    if (node->value) out.emplace_back(node->prefix, *node->value);
    waiting.push_back(node->children[1].get());
    waiting.push_back(node->children[0].get());
  }
  return out;
}

}  // namespace weft
