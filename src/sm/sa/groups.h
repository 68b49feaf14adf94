// SPDX-License-Identifier: Apache-2.0
// Multicast groups: who makes, joins and leaves them, and what they are like. IBA 15.2.5.17 and
// 15.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sm/multicast_tables.h"
#include "sm/sa/exchange.h"
#include "sm/sa/subnet_view.h"
#include "sm/subnet_store.h"
#include "wire/sa/member_record.h"

namespace weft::sm {

struct GroupOptions {
  std::uint8_t mtu = 4;           // of a group whose maker does not say: 2048 bytes
  std::uint8_t rate = 3;          // 10 Gb/s
  std::uint8_t packet_life = 18;  // 4.096 us * 2^n
  std::size_t most_members = std::size_t{1} << 20;  // of all groups together
};

class GroupTable {
 public:
  using Member = GroupMember;
  using Group = GroupState;
  // A group that came to be, or is no more: those who subscribed are told.
  struct Event {
    bool created = false;
    Gid mgid{};
    Lid mlid{};
    PKey pkey{};
  };

  explicit GroupTable(const GroupOptions& options) : options_(options) {}

  // What becomes of groups is recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store) { store_ = store; }
  // Records all that there are.
  void record_all() const;
  // A group of before, before anybody has joined; one without a full member is no more, unless it
  // is to last. False: it makes no sense, or not beside those that there are.
  [[nodiscard]] bool restore(const Group& group);

  // How many MLIDs all switches have tables for.
  void set_mlids(std::size_t count) { mlids_ = count; }
  // Groups that are there without anybody having joined; one that is there already becomes like
  // that. False: there is no MLID left.
  bool add_lasting(const wire::MemberRecord& like);

  void join(const SubnetView& view, const SaRequest& request, SaReply& reply);
  void leave(const SubnetView& view, const SaRequest& request, SaReply& reply);
  void find(const SaRequest& request, SaReply& reply) const;
  [[nodiscard]] const Group* find(const Gid& mgid) const;
  [[nodiscard]] const Group* find(Lid mlid) const;

  // No port has this GID any more.
  void forget(const Gid& port);
  // Ports that are gone are members no more.
  void forget_missing(const SubnetView& view);

  [[nodiscard]] const std::map<Gid, Group>& groups() const { return groups_; }
  // What switches are to forward.
  [[nodiscard]] std::vector<MulticastGroup> forwarding() const;
  // Grows whenever a member came or went.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // What has happened since the last call.
  [[nodiscard]] std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  using Groups = std::map<Gid, Group>;
  wire::SaStatus create(const SubnetView& view, const SaRequest& request,
                        const wire::MemberRecord& asked, const ViewEnd& port,
                        Groups::iterator& made);
  [[nodiscard]] wire::SaStatus check(const SubnetView& view, const SaRequest& request,
                                     const wire::MemberRecord& asked, const ViewEnd& port,
                                     const Group& group) const;
  [[nodiscard]] std::optional<Lid> free_mlid() const;
  [[nodiscard]] Gid free_mgid(const SubnetView& view, std::uint8_t scope);
  Groups::iterator insert(const wire::MemberRecord& like, bool lasting);
  void end_if_empty(Groups::iterator group);

  const GroupOptions options_;
  std::size_t mlids_ = 0;
  std::size_t members_ = 0;
  std::uint64_t generation_ = 0;
  std::uint32_t last_drawn_ = 0;  // of MGIDs that are given here
  Groups groups_;
  std::map<Lid, Gid> by_mlid_;
  std::vector<Event> events_;
  SubnetStore* store_ = nullptr;
};

// A record of a group: of a member, or of the group alone with zeros.
[[nodiscard]] wire::MemberRecord member_record(const GroupTable::Group& group, const Gid& port,
                                               const GroupTable::Member& member);

}  // namespace weft::sm
