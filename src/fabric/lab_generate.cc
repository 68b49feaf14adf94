// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "fabric/lab_builder.h"

namespace weft::fabric {
namespace {

constexpr std::size_t kMaxDimensions = 6;
constexpr std::size_t kMaxLevels = 6;

using Numbers = std::vector<unsigned>;

// Never more than would be refused anyway.
std::size_t product(const Numbers& numbers) {
  std::size_t all = 1;
  for (const unsigned number : numbers)
    all = std::min<std::size_t>(all * number, std::size_t{1} << 32);
  return all;
}

class Generator {
 public:
  Generator(std::string_view shape, const Numbers& size, const std::string& name)
      : title_(fmt::format("{} {}", shape, fmt::join(size, "x"))), builder_(title_) {
    builder_.set_name(name);
  }

  [[nodiscard]] tl::unexpected<Error> wrong(const std::string& message) const {
    return builder_.wrong({}, message);
  }

  void add_switch(const std::string& name, unsigned ports) { add(name, NodeKind::kSwitch, ports); }
  void link(const std::string& a, unsigned a_port, const std::string& b, unsigned b_port) {
    LabBuilder::LinkText text;
    text.ends = {LabBuilder::EndText{a, a_port}, LabBuilder::EndText{b, b_port}};
    builder_.add_link(std::move(text), {});
  }
  // Nodes h1, h2, … on ports `first` and following of a switch.
  void add_hosts(const std::string& on, unsigned first, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const std::string name = fmt::format("h{}", ++hosts_);
      add(name, NodeKind::kChannelAdapter, 1);
      link(name, 1, on, first + i);
    }
  }
  [[nodiscard]] Expected<Lab> finish() {
    if (error_) return tl::unexpected(*error_);
    return builder_.finish();
  }

 private:
  void add(const std::string& name, NodeKind kind, unsigned ports) {
    LabNode node;
    node.name = name;
    node.kind = kind;
    node.ports = static_cast<std::uint8_t>(ports);
    const auto added = builder_.add_node(std::move(node), {});
    if (!added && !error_) error_ = added.error();
  }

  std::string title_;
  LabBuilder builder_;
  std::optional<Error> error_;
  unsigned hosts_ = 0;
};

// Counts through all points of a grid, the first coordinate fastest.
void for_each_point(const Numbers& sizes, const std::function<void(const Numbers&)>& visit) {
  Numbers point(sizes.size(), 0);
  for (;;) {
    visit(point);
    std::size_t axis = 0;
    while (axis < point.size() && ++point[axis] == sizes[axis])
      point[axis++] = 0;
    if (axis == point.size()) return;
  }
}

// Switches and nodes together may not exceed the LIDs there are; counted before any is made.
bool fits(std::size_t switches, std::size_t hosts) {
  return switches <= kMaxLids && hosts <= kMaxLids && switches + hosts <= kMaxLids;
}

std::string grid_name(const Numbers& point) {
  return fmt::format("s{}", fmt::join(point, "-"));
}

// A switch of a tree: which one of its level, by one digit for each other level. Digits of lower
// levels tell which of the parallel trees it is of, those of higher levels below which ancestors.
std::string tree_name(std::size_t level, const Numbers& digits) {
  std::string name = fmt::format("l{}", level);
  for (const unsigned digit : digits)
    name += fmt::format("-{}", digit);
  return name;
}

}  // namespace

std::optional<std::vector<unsigned>> parse_size(std::string_view text) {
  Numbers numbers;
  while (numbers.size() < 16) {
    unsigned value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || value < 1 || value > 0xFFFF) return std::nullopt;
    numbers.push_back(value);
    if (end == last) return numbers;
    if (*end != 'x') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  return std::nullopt;
}

Expected<Lab> generate_fat_tree(const std::vector<unsigned>& down, const std::string& name) {
  Generator lab("fat-tree", down, name);
  const std::size_t levels = down.size();
  if (levels < 1 || levels > kMaxLevels) {
    return lab.wrong("the size is how many are below a switch, level by level, as in 18x36");
  }
  std::size_t switches = 0;
  for (std::size_t level = 1; level <= levels; ++level) {
    const unsigned ports = down[level - 1] * (level < levels ? 2 : 1);
    if (ports > kMaxPorts) {
      return lab.wrong(fmt::format("a switch of level {} would need {} ports; {} is the most",
                                   level, ports, kMaxPorts));
    }
    switches += product(down) / down[level - 1];
  }
  if (!fits(switches, product(down))) {
    return lab.wrong(fmt::format("{} switches and {} nodes: a subnet has {} LIDs", switches,
                                 product(down), kMaxLids));
  }
  for (std::size_t level = 1; level <= levels; ++level) {
    const unsigned below = down[level - 1];
    Numbers sizes = down;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(level) - 1);
    for_each_point(sizes, [&](const Numbers& digits) {
      const std::string self = tree_name(level, digits);
      lab.add_switch(self, level < levels ? 2 * below : below);
      if (level == 1) return lab.add_hosts(self, 1, below);
      // Down: the child's digit of this level says which child, and its digit of the level below,
      // which a child has not, says which of the child's parents this is.
      const unsigned which_parent = digits[level - 2];
      for (unsigned child = 0; child < below; ++child) {
        Numbers child_digits = digits;
        child_digits[level - 2] = child;
        lab.link(tree_name(level - 1, child_digits), down[level - 2] + 1 + which_parent, self,
                 child + 1);
      }
    });
  }
  return lab.finish();
}

Expected<Lab> generate_torus(const std::vector<unsigned>& sizes, unsigned hosts,
                             const std::string& name) {
  Generator lab("torus", sizes, name);
  if (sizes.empty() || sizes.size() > kMaxDimensions) {
    return lab.wrong(fmt::format("the size has 1 to {} dimensions, as in 4x4x4", kMaxDimensions));
  }
  const unsigned links = static_cast<unsigned>(2 * sizes.size());
  if (hosts > kMaxPorts - links) {
    return lab.wrong(fmt::format("at most {} nodes on a switch", kMaxPorts - links));
  }
  if (!fits(product(sizes), product(sizes) * hosts)) {
    return lab.wrong(fmt::format("{} switches with {} nodes each: a subnet has {} LIDs",
                                 product(sizes), hosts, kMaxLids));
  }
  for_each_point(sizes, [&](const Numbers& point) {
    lab.add_switch(grid_name(point), links + hosts);
    lab.add_hosts(grid_name(point), links + 1, hosts);
  });
  for_each_point(sizes, [&](const Numbers& point) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const bool last = point[axis] + 1 == sizes[axis];
      if (last && sizes[axis] <= 2) continue;
      Numbers next = point;
      next[axis] = last ? 0 : point[axis] + 1;
      const unsigned back = static_cast<unsigned>(2 * axis + 1);
      lab.link(grid_name(point), back + 1, grid_name(next), back);
    }
  });
  return lab.finish();
}

Expected<Lab> generate_dragonfly(const std::vector<unsigned>& size, const std::string& name) {
  Generator lab("dragonfly", size, name);
  if (size.size() != 3) {
    return lab.wrong(
        "the size is nodes of a switch, switches of a group, and links of a switch to "
        "other groups, as in 2x4x2");
  }
  const unsigned hosts = size[0], switches = size[1], global = size[2];
  const std::size_t ports = std::size_t{hosts} + switches - 1 + global;
  if (ports > kMaxPorts) {
    return lab.wrong(fmt::format("a switch would need {} ports; {} is the most", ports, kMaxPorts));
  }
  const unsigned groups = switches * global + 1;
  const std::size_t all = std::size_t{groups} * switches;
  if (!fits(all, all * hosts)) {
    return lab.wrong(
        fmt::format("{} switches with {} nodes each: a subnet has {} LIDs", all, hosts, kMaxLids));
  }
  const auto switch_name = [](unsigned group, unsigned which) {
    return fmt::format("g{}-s{}", group, which);
  };
  // Global link `i` of a group, 0 to a*h-1: the switch that has it, and its port there.
  const unsigned first_global = hosts + switches;
  for (unsigned group = 0; group < groups; ++group) {
    for (unsigned self = 0; self < switches; ++self) {
      lab.add_switch(switch_name(group, self), static_cast<unsigned>(ports));
      lab.add_hosts(switch_name(group, self), 1, hosts);
      for (unsigned other = 0; other < self; ++other) {
        lab.link(switch_name(group, other), hosts + self, switch_name(group, self),
                 hosts + 1 + other);
      }
    }
    // Group g's link i leads to the i-th of the other groups in order.
    for (unsigned other = 0; other < group; ++other) {
      const unsigned here = other, there = group - 1;
      lab.link(switch_name(other, there / global), first_global + there % global,
               switch_name(group, here / global), first_global + here % global);
    }
  }
  return lab.finish();
}

Expected<Lab> generate_line(const std::vector<unsigned>& size, unsigned hosts,
                            const std::string& name) {
  Generator lab("line", size, name);
  if (size.size() != 1) return lab.wrong("the size is one number, of switches");
  if (hosts > kMaxPorts - 2)
    return lab.wrong(fmt::format("at most {} nodes on a switch", kMaxPorts - 2));
  if (!fits(size[0], std::size_t{size[0]} * hosts)) {
    return lab.wrong(fmt::format("{} switches with {} nodes each: a subnet has {} LIDs", size[0],
                                 hosts, kMaxLids));
  }
  for (unsigned i = 0; i < size[0]; ++i) {
    lab.add_switch(grid_name({i}), 2 + hosts);
    lab.add_hosts(grid_name({i}), 3, hosts);
    if (i > 0) lab.link(grid_name({i - 1}), 2, grid_name({i}), 1);
  }
  return lab.finish();
}

}  // namespace weft::fabric
