// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_node.h"

#include <fmt/format.h>

namespace weft::daemon {

tl::unexpected<Error> no_such_node(const fabric::Fabric& fabric, std::string_view name) {
  const fabric::Lab& lab = fabric.lab();
  const fabric::LabNode* const node = lab.find_node(name);
  if (node == nullptr || !fabric.part()) {
    return fail(std::errc::no_such_device, fmt::format("this lab has no node '{}'", name));
  }
  return fail(std::errc::no_such_device,
              fmt::format("{} is in part {} of the lab, not in part {}", name,
                          lab.parts[node->part].name, lab.parts[*fabric.part()].name));
}

tl::unexpected<Error> no_such_node(const fabric::Fabric& fabric, std::size_t index) {
  return no_such_node(fabric, fabric.lab().nodes[index].name);
}

}  // namespace weft::daemon
