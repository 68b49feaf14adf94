// SPDX-License-Identifier: Apache-2.0
// A lab that runs, or one part of it: its nodes, the links between them, and the worker that runs
// both. A core: it is handed the time, and says when it wants to be handed it again.
//
//   Fabric fabric(lab);
//   fabric.start(now);
//   for (;;) { fabric.run(now); … wait until fabric.deadline() or somebody used a node … }
//
// Of a part, nodes and links have the same numbers as in all other parts, and links to nodes of
// others are halves, which whoever has the other halves gives channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer_pool.h"
#include "base/time.h"
#include "fabric/lab.h"
#include "fabric/node.h"
#include "fabric/queue_pair_table.h"
#include "fabric/worker.h"
#include "link/half_link.h"
#include "link/link.h"
#include "link/packet_pool.h"

namespace weft::fabric {

class ChannelAdapter;
class NegotiatedLink;

// What may be on its way at a time in the whole fabric; more is lost and counted.
struct FabricLimits {
  std::size_t packets = 262'144;
  std::size_t payload_blocks = 131'072;  // of 4096 bytes
  // Where each adapter's queue pair numbers begin. Who draws it spares programs packets that were
  // meant for those of an earlier run.
  Qpn first_qpn = QueuePairTable::kFirst;
};

class Fabric {
 public:
  // `part`: run only this one of Lab::parts.
  explicit Fabric(Lab lab, const FabricLimits& limits = {},
                  std::optional<std::uint16_t> part = std::nullopt);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Plugs in the cables. Call it once, before run().
  void start(Time now);

  // Runs what is ready or due. False: there is more to do, run() again soon.
  bool run(Time now, std::size_t budget = Worker::kBudget);
  // When to run() again: in the past when something is ready. Ask after every run(), and after
  // whatever was done to a node or a link from outside.
  [[nodiscard]] std::optional<Time> deadline() const { return worker_.deadline(); }

  [[nodiscard]] const Lab& lab() const { return lab_; }
  // Nothing: it runs all of the lab.
  [[nodiscard]] std::optional<std::uint16_t> part() const { return part_; }
  // As Lab::nodes and Lab::links count them, those of other parts too.
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] bool has_node(std::size_t index) const { return nodes_[index] != nullptr; }
  [[nodiscard]] Node& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] const Node& node(std::size_t index) const { return *nodes_[index]; }
  // Of a node that is a router.
  [[nodiscard]] ChannelAdapter& router(std::size_t index);
  [[nodiscard]] std::size_t link_count() const { return lab_.links.size(); }
  // Whether one of its ends is here, at least; from start() on.
  [[nodiscard]] bool has_link(std::size_t index) const { return links_[index] != nullptr; }
  [[nodiscard]] link::Link& link(std::size_t index) { return *links_[index]; }
  [[nodiscard]] const link::Link& link(std::size_t index) const { return *links_[index]; }
  // Null: both ends of the link are here, or none.
  [[nodiscard]] link::HalfLink* half_link(std::size_t index);
  // Null: its ports do not negotiate, or are elsewhere.
  [[nodiscard]] NegotiatedLink* negotiated_link(std::size_t index);
  // The port at an end of it, 0 or 1.
  [[nodiscard]] bool has_end(std::size_t link, std::size_t side) const;
  [[nodiscard]] NodePort& end(std::size_t link, std::size_t side);

  // Null: there is none of this name here.
  [[nodiscard]] Node* find_node(std::string_view name);
  // Null: there is none here, or it is a switch or a router.
  [[nodiscard]] ChannelAdapter* find_adapter(std::string_view name);
  // By its name or one of its ends (Lab::find_link), wherever they are.
  [[nodiscard]] std::optional<std::size_t> find_link(std::string_view name) const;

  [[nodiscard]] std::size_t packets_in_use() const { return pool_.in_use(); }
  [[nodiscard]] link::PacketPool& pool() { return pool_; }

 private:
  std::unique_ptr<link::Link> join_here(std::size_t index, Time now);
  std::unique_ptr<link::Link> join_half(std::size_t index, std::size_t side, Time now);

  const Lab lab_;
  const std::optional<std::uint16_t> part_;
  BufferPool payloads_;
  link::PacketPool pool_;
  Worker worker_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string_view, Node*> by_name_;
  // Of links that have one, by their indices; they outlive those.
  std::unordered_map<std::size_t, std::unique_ptr<NegotiatedLink>> negotiations_;
  std::vector<std::unique_ptr<link::Link>> links_;
  Time now_{};
};

}  // namespace weft::fabric
