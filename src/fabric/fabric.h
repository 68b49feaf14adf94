// SPDX-License-Identifier: Apache-2.0
// A lab that runs: its nodes, the links between them, and the worker that runs both. A core: it is
// handed the time, and says when it wants to be handed it again.
//
//   Fabric fabric(lab);
//   fabric.start(now);
//   for (;;) { fabric.run(now); … wait until fabric.deadline() or somebody used a node … }
#pragma once

#include <cstddef>
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
#include "link/direct_link.h"
#include "link/packet_pool.h"

namespace weft::fabric {

class ChannelAdapter;

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
  explicit Fabric(Lab lab, const FabricLimits& limits = {});
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
  // As Lab::nodes and Lab::links count them.
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] Node& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] const Node& node(std::size_t index) const { return *nodes_[index]; }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  [[nodiscard]] link::DirectLink& link(std::size_t index) { return *links_[index]; }
  [[nodiscard]] const link::DirectLink& link(std::size_t index) const { return *links_[index]; }
  // The port at an end of it, 0 or 1.
  [[nodiscard]] NodePort& end(std::size_t link, std::size_t side);

  // Null: there is none of this name.
  [[nodiscard]] Node* find_node(std::string_view name);
  // Null: there is none, or it is a switch.
  [[nodiscard]] ChannelAdapter* find_adapter(std::string_view name);
  // By its name or one of its ends (Lab::find_link).
  [[nodiscard]] std::optional<std::size_t> find_link(std::string_view name) const;

  [[nodiscard]] std::size_t packets_in_use() const { return pool_.in_use(); }
  [[nodiscard]] link::PacketPool& pool() { return pool_; }

 private:
  const Lab lab_;
  BufferPool payloads_;
  link::PacketPool pool_;
  Worker worker_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string_view, Node*> by_name_;
  std::vector<std::unique_ptr<link::DirectLink>> links_;
  Time now_{};
};

}  // namespace weft::fabric
