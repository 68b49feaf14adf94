// SPDX-License-Identifier: Apache-2.0
// Memory windows of the two programs.
#include <gtest/gtest.h>

#include "rc_world.h"

namespace weft::sim::test {

using hca::SendOpcode;

void RcWorld::open_windows(End& end) {
  hca::MemoryTable& table = hosts_[end.host]->memory_table();
  for (const Window& window : end.plan->windows) {
    end.windows.push_back(table.add_window(hca::WindowType::kType2, ConnectedHost::kPd).value());
    if (!window.bound_at_start) continue;
    const hca::WindowBinding binding = binding_of(end, end.windows.size() - 1);
    EXPECT_EQ(table.bind_window(binding, ConnectedHost::kPd, end.qpn), std::errc{});
    end.windows.back() = binding.new_key;
  }
}

// Each time with another key: the program draws those of type 2.
hca::WindowBinding RcWorld::binding_of(const End& end, std::size_t window) const {
  const Range& range = end.plan->windows[window].range;
  const std::uint32_t key = end.windows[window].value();
  return {.region_lkey = target_[end.host][end.connection].key,
          .address = hosts_[end.host]->address(range.offset),
          .length = range.length,
          .access = hca::kRemoteWrite | hca::kRemoteRead,
          .window = RKey{key},
          .new_key = RKey{(key & ~0xFFu) | ((key + 1) & 0xFFu)}};
}

// What an operation has to do with windows of its own or of its peer.
void RcWorld::name_window(const End& end, const Operation& op, hca::SendRequest& request) const {
  if (!op.window) return;
  const RKey peers = ends_[1 - end.host][end.connection].windows[*op.window];
  switch (op.opcode) {
    case SendOpcode::kBindWindow:
      request.bind = binding_of(end, *op.window);
      return;
    case SendOpcode::kLocalInvalidate:
      request.invalidate = end.windows[*op.window];
      return;
    case SendOpcode::kSendWithInvalidate:
      request.invalidate = peers;
      return;
    default:
      request.rkey = peers;
  }
}

bool RcWorld::waits_for_window(const End& end) {
  const auto& operations = end.plan->operations;
  return end.posted < operations.size() && end.arrived < operations[end.posted].after_arrivals;
}

bool RcWorld::is_bound(const End& end, std::size_t window) const {
  const Range& range = end.plan->windows[window].range;
  hca::RegionPin pin(hosts_[end.host]->memory_table());
  return pin.resolve(end.windows[window].value(), ConnectedHost::kPd,
                     hosts_[end.host]->address(range.offset), range.length, hca::kRemoteWrite,
                     end.qpn) != nullptr;
}

}  // namespace weft::sim::test
