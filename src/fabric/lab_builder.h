// SPDX-License-Identifier: Apache-2.0
// Puts a lab together from what a file says, and refuses what cannot be: each error names the
// file, the line and the key. Lab files, listings and generators all build with it, so that a Lab
// is always one that can run.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "fabric/lab.h"

namespace weft::fabric {

// Where in a file something stands: "lab.toml:7: switch.leaf.ports".
struct Where {
  std::size_t line = 0;  // from 1; 0: no line in particular
  std::string key;       // may be empty
};

// Names stand in commands, in port references after which a colon comes, and in paths.
inline constexpr std::size_t kMaxName = 63;
[[nodiscard]] bool good_name(std::string_view name);

class LabSubnets;

class LabBuilder {
 public:
  // An end of a link as it was written. Without a port, the first that is free when all that are
  // named have been taken.
  struct EndText {
    std::string node;
    std::optional<std::uint64_t> port;
  };
  struct LinkText {
    std::array<EndText, 2> ends;
    LabLink link;  // all but its ends
    bool negotiates = false;
  };

  explicit LabBuilder(std::string file) : file_(std::move(file)) {}
  // To check what is added to a lab that is there.
  LabBuilder(std::string file, Lab lab) : file_(std::move(file)), lab_(std::move(lab)) {}

  void set_name(std::string name) { lab_.name = std::move(name); }
  void set_network(const Ipv4Network& network, Where where) {
    lab_.network = network;
    network_where_ = std::move(where);
  }
  void set_management(LabManagement management, Where where) {
    lab_.management = std::move(management);
    management_where_ = std::move(where);
  }
  // Of one more subnet.
  void add_subnet(LabManagement management, Where where) {
    lab_.more_subnets.push_back(std::move(management));
    subnet_where_.push_back(std::move(where));
  }
  // Before the nodes that are in it.
  [[nodiscard]] Expected<void> add_part(LabPart part, Where where);
  [[nodiscard]] const std::vector<LabPart>& parts() const { return lab_.parts; }
  // GUIDs that are 0 are derived in the end, and so are addresses; an empty description is the
  // node's name.
  [[nodiscard]] Expected<void> add_node(LabNode node, Where where);
  // `node.ports` are for links of the lab: a switch gets one more for each remote.
  [[nodiscard]] Expected<void> add_extender(LabNode node, LabExtender extender, Where where);
  // Each address once.
  [[nodiscard]] Expected<void> add_host(const LabHost& host, const Where& where);
  // Both may come before the nodes that they name.
  [[nodiscard]] Expected<void> add_service(LabService service, Where where);
  void add_policy(LabPolicy policy, Where where);
  // Links may come before their nodes.
  void add_link(LinkText link, Where where);
  [[nodiscard]] bool has_node(const std::string& name) const { return index_.contains(name); }

  void set_policy_file(std::string file) { lab_.data.policy_file = std::move(file); }
  [[nodiscard]] const std::vector<LabPolicy>& policies() const { return lab_.data.policies; }
  // All rules are of a lab that can have them, and each has a name of its own.
  [[nodiscard]] Expected<void> check_policies() const;
  // What a rule names is there.
  [[nodiscard]] Expected<void> check_policy(const LabPolicy& policy, const Where& where) const;
  // Nothing may be called after it.
  [[nodiscard]] Expected<Lab> finish();

  [[nodiscard]] tl::unexpected<Error> wrong(const Where& where, const std::string& message) const;

 private:
  void put_in_order();
  [[nodiscard]] Expected<void> check_guids();
  [[nodiscard]] Expected<void> claim_guid(Guid guid, std::uint32_t node);
  [[nodiscard]] Expected<void> check_size() const;
  [[nodiscard]] Expected<void> check_addresses();
  [[nodiscard]] Expected<void> check_hosts() const;
  [[nodiscard]] Expected<void> draw_addresses();
  [[nodiscard]] Expected<void> resolve_links();
  // lab_builder_extender.cc
  [[nodiscard]] Expected<void> check_remotes(const LabExtender& extender, const Where& where) const;
  [[nodiscard]] Expected<void> check_remote_prefixes(const LabExtender& extender,
                                                     const LabRemote& remote,
                                                     const Where& where) const;
  [[nodiscard]] Expected<void> check_next_hop(const LabExtender& extender, const LabRemote& remote,
                                              const Where& where) const;
  void resolve_extenders();
  [[nodiscard]] Expected<void> check_prefixes() const;

  [[nodiscard]] Expected<LabEnd> resolve_end(const EndText& end, const Where& where) const;
  [[nodiscard]] Expected<void> take_port(const LabEnd& end, std::size_t link, const Where& where);
  [[nodiscard]] Expected<void> take_free_port(LabEnd& end, std::size_t link, const Where& where);
  [[nodiscard]] Expected<void> check_link_names() const;
  [[nodiscard]] Expected<void> check_management() const;
  [[nodiscard]] Expected<void> check_management(const LabManagement& management,
                                                const Where& where) const;
  [[nodiscard]] Expected<void> check_subnets() const;
  [[nodiscard]] Expected<void> check_parts() const;
  [[nodiscard]] Expected<void> check_negotiations() const;
  [[nodiscard]] Expected<void> check_lan() const;
  // lab_builder_service.cc
  [[nodiscard]] Expected<void> check_services() const;
  [[nodiscard]] Expected<void> check_names(const LabService& service, const Where& where) const;
  [[nodiscard]] Expected<void> check_router(const LabService& service, const Where& at) const;
  [[nodiscard]] Expected<void> check_router_pairs(const LabService& service,
                                                  const LabSubnets& subnets, const Where& at) const;
  [[nodiscard]] Expected<void> check_port(const LabPort& port, const Where& where) const;
  [[nodiscard]] Expected<void> check_ends(const LabPolicyEnds& ends, const Where& where,
                                          const std::string& key) const;

  std::string file_;
  Lab lab_;
  Where network_where_{.line = 0, .key = "network"};
  Where management_where_{.line = 0, .key = "sm"};
  std::vector<Where> subnet_where_;  // as Lab::more_subnets
  std::vector<Where> part_where_;
  std::vector<Where> node_where_;
  std::vector<Where> service_where_;
  std::vector<Where> policy_where_;
  std::vector<std::string> extender_names_;  // as Lab::extenders
  std::unordered_map<Ipv4, Where> host_where_;
  std::vector<LinkText> link_texts_;
  std::vector<Where> link_where_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::unordered_map<Guid, std::uint32_t> guid_owner_;
  std::unordered_map<Ipv4, LabEnd> address_owner_;
  std::vector<std::vector<std::size_t>> taken_;  // per node and port: the link, from 1
};

}  // namespace weft::fabric
