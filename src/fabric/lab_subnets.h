// SPDX-License-Identifier: Apache-2.0
// Which subnet of a lab each port is in, where a lab has several: a subnet is what switches and
// links join, and it is its manager's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/lab.h"

namespace weft::fabric {

class LabSubnets {
 public:
  // Of a lab whose links have their ports.
  explicit LabSubnets(const Lab& lab);

  // The index of its manager: 0 is Lab::management, 1 the first of Lab::more_subnets. One that no
  // manager reaches is of the first. `port`: from 1; of a switch any.
  [[nodiscard]] std::size_t of(std::size_t node, std::uint8_t port) const {
    return subnet_[vertex(node, port)];
  }
  [[nodiscard]] std::size_t of(const Lab& lab, const LabPort& port) const {
    return of(static_cast<std::size_t>(lab.find_node(port.node) - lab.nodes.data()), port.port);
  }
  // Two managers that reach each other, by their indices; equal ones: there are none.
  [[nodiscard]] std::pair<std::size_t, std::size_t> shared() const { return shared_; }

 private:
  // A switch is one vertex, and so is each port of another node.
  [[nodiscard]] std::size_t vertex(std::size_t node, std::uint8_t port) const {
    return first_[node] + (is_switch_[node] ? 0U : port - 1U);
  }

  std::vector<bool> is_switch_;
  std::vector<std::size_t> first_;
  std::vector<std::size_t> subnet_;
  std::pair<std::size_t, std::size_t> shared_{};
};

// Whether a service joins subnets: a router; or one that works elsewhere, which is none of the
// lab's to know, at ports of one node that are in several.
[[nodiscard]] bool joins_subnets(const Lab& lab, const LabSubnets& subnets,
                                 const LabService& service);

}  // namespace weft::fabric
