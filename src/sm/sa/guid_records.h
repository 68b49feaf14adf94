// SPDX-License-Identifier: Apache-2.0
// Gives ports GUIDs beside their own, and takes them back: GUIDInfoRecord, Set and Delete, IBA
// 15.2.5.18. What they are for is the asker's business: virtual machines, processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sm/guid_tables.h"
#include "sm/sa/exchange.h"
#include "sm/sa/subnet_view.h"
#include "sm/subnet_store.h"

namespace weft::sm {

class GuidRecords {
 public:
  // A GUID that a port has got, or has no more.
  struct Event {
    bool added = false;
    Guid guid{};
  };

  // Beyond `most` of all ports together, none is given.
  explicit GuidRecords(std::size_t most) : most_(most) {}

  // Of the entries that the components name: a GUID, or 0 for one that is chosen here. In the
  // answer, 0 is what was not accepted: it is another's already, or there is no room. A port may be
  // given GUIDs by itself and by the trusted.
  void set(SubnetView& view, const SaRequest& request, SaReply& reply);
  void remove(SubnetView& view, const SaRequest& request, SaReply& reply);
  // Those of ports that are gone or have no such index, and those that have turned out to be a
  // port's own.
  void forget_missing(SubnetView& view);
  // What another manager has given to a port that was not asked before, as the manager has found it
  // in its table: from now on the port has that, and nothing else, but for what is another port's,
  // which tables() takes out of it, and what was restored where the port has nothing.
  void adopt(SubnetView& view, const ViewEnd& port);
  // What has to be written is to be written anew, be it what it was or not.
  void touch() { ++generation_; }

  // What is given and taken back is recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store) { store_ = store; }
  void record_all(const SubnetView& view) const;
  // One of before. False: it makes no sense, or there is no room for it.
  [[nodiscard]] bool restore(SubnetView& view, const AliasGuid& alias);

  // Grows whenever something has changed.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // What has happened since the last call.
  [[nodiscard]] std::vector<Event> take_events() { return std::exchange(events_, {}); }
  // As the subnet manager writes them.
  [[nodiscard]] std::vector<PortGuids> tables(const SubnetView& view) const;

 private:
  // The block that a question is about.
  struct Block {
    std::uint32_t end = SubnetView::kNobody;
    std::size_t first = 0;    // index of its first entry
    std::size_t entries = 0;  // that the port has there
  };
  [[nodiscard]] static std::optional<Block> block_of(const SubnetView& view,
                                                     const SaRequest& request, SaReply& reply);
  static void answer(const SubnetView& view, const Block& block, std::uint8_t refused,
                     SaReply& reply);
  bool give(SubnetView& view, Guid port, std::size_t index, Guid asked);
  void put(SubnetView& view, Guid port, std::size_t index, Guid guid);

  const std::size_t most_;
  std::set<Guid> restored_;  // ports whose tables were not looked at since
  std::set<Guid> refused_;   // ports whose tables have had something that was not accepted
  std::uint64_t generation_ = 0;
  std::vector<Event> events_;
  SubnetStore* store_ = nullptr;
};

}  // namespace weft::sm
