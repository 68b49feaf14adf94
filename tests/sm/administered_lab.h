// SPDX-License-Identifier: Apache-2.0
// A managed lab with its administrator, which any node can ask.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "managed_lab.h"
#include "sm/sa/administrator.h"
#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {

struct Answer {
  bool came = false;
  std::uint16_t status = 0;
  wire::MadMethod method{};
  wire::SaAttribute attribute{};
  std::size_t record_size = 0;
  std::vector<std::vector<std::byte>> records{};  // one, where it is no table
};

class AdministeredLab {
 public:
  explicit AdministeredLab(fabric::Lab lab, const std::string& node, ManagerOptions manager = {},
                           const AdministratorOptions& options = {}, SubnetStore* store = nullptr)
      : lab(std::move(lab), node, std::move(manager), store),
        at_(*this->lab.running.fabric.find_node(node)) {
    begin(options, store);
    sweep();
  }

  // Manager and administrator end, and others begin at the same node, which know what is in the
  // store of before, or nothing.
  void restart(SubnetStore* store = nullptr) {
    administrator.reset();
    restart_manager();
    groups_generation_ = guids_generation_ = 0;
    begin({}, store);
    sweep();
  }
  // The same of the manager alone, until the next sweep().
  void restart_manager() {
    lab.stop(0);
    lab.start(0);
    revision_ = 0;
    listen();
  }

  void sweep() {
    lab.sweep();
    publish();
    settle();
  }

  struct Query {
    wire::MadMethod method = wire::MadMethod::kGetTable;
    wire::SaAttribute attribute{};
    std::uint64_t mask = 0;
    std::vector<std::byte> data{};
    std::uint64_t sm_key = 0;
    std::uint32_t modifier = 0;
  };
  // Nobody answers within a second: `came` is false.
  Answer ask(const std::string& from, const Query& query) {
    ask_later(from, query);
    run_for(1s);
    return std::exchange(answer_, {});
  }
  void ask_later(const std::string& from, const Query& query) {
    Asker& asker = asker_at(from);
    std::vector<std::byte> mad(wire::SaHeader::kDataOffset);
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = query.method,
                    .transaction_id = ++cookie_,
                    .attribute_id = static_cast<std::uint16_t>(query.attribute),
                    .attribute_modifier = query.modifier}
        .write(mad);
    wire::SaHeader{.sm_key = query.sm_key, .component_mask = query.mask}.write(mad);
    mad.insert(mad.end(), query.data.begin(), query.data.end());
    const wire::PortInfo info = asker.node->port(1).port_info();
    const auto sent = asker.node->management().mad_port(1).send(
        asker.agent,
        {.to = {.lid = info.master_sm_lid, .qpn = kQp1, .qkey = kGsiQKey},
         .mad = mad,
         .timeout = 200ms,
         .retries = 2,
         .cookie = cookie_},
        lab.running.now);
    EXPECT_TRUE(sent) << sent.error().message;
    asker.node->management_used();
  }

  // As the manager's own, with the administrator's time in it. Where the manager runs by itself,
  // the administrator learns at once what a sweep has found.
  void run_for(Duration time) {
    const Time end = lab.running.now + time;
    for (;;) {
      settle();
      Time next = lab.running.fabric.deadline().value_or(Time::max());
      next = std::min(next, administrator->deadline().value_or(Time::max()));
      if (runs_manager) next = std::min(next, lab.manager->deadline().value_or(Time::max()));
      if (next > end) break;
      lab.running.now = std::max(lab.running.now, next);
    }
    lab.running.now = end;
    settle();
  }
  void settle() {
    for (int round = 0; round < 1000; ++round) {
      lab.running.settle();
      const auto before = done();
      if (runs_manager) lab.manager->run(lab.running.now);
      if (runs_manager) publish();
      administrator->run(lab.running.now);
      at_.management_used();
      exchange();
      const auto deadline = lab.running.fabric.deadline();
      const bool due = deadline && *deadline <= lab.running.now;
      if (!due && done() == before) return;
    }
    FAIL() << "never comes to rest";
  }

  // The administrator learns what the manager has done.
  void publish() {
    if (lab.manager->revision() == revision_) return;
    revision_ = lab.manager->revision();
    administrator->subnet_changed(lab.manager->subnet(), lab.manager->routes(), kPrefix,
                                  lab.running.now);
  }

  [[nodiscard]] Gid gid(const std::string& node) {
    return make_gid(kPrefix, lab.running.fabric.find_node(node)->guids(1, 0).guids[0]);
  }
  [[nodiscard]] Gid gid_of_switch(const std::string& node) {
    return make_gid(kPrefix, lab.running.fabric.find_node(node)->guids(0, 0).guids[0]);
  }
  // Notices that a node was told, and the GIDs of those who have issued them.
  [[nodiscard]] std::vector<wire::Notice>& notices(const std::string& node) {
    return asker_at(node).notices;
  }
  [[nodiscard]] std::vector<Gid>& issuers(const std::string& node) {
    return asker_at(node).issuers;
  }

  static constexpr std::uint64_t kPrefix = 0xFE80'0000'0000'0000;
  ManagedLab lab;
  std::unique_ptr<Administrator> administrator;
  bool runs_manager = false;  // else it sweeps when it is told to
  std::size_t left_out = 0;   // of what the store had

 private:
  // A node that asks; agents have the same numbers at all ports.
  struct Asker final : mgmt::MadClient {
    Asker(AdministeredLab& lab, const std::string& name)
        : lab(lab), node(lab.lab.running.fabric.find_node(name)) {}
    void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
      lab.received(*this, mad);
    }
    void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

    AdministeredLab& lab;
    fabric::Node* node;
    mgmt::AgentId agent{};
    std::vector<wire::Notice> notices{};
    std::vector<Gid> issuers{};
  };

  Asker& asker_at(const std::string& name) {
    const auto [found, is_new] = askers_.try_emplace(name, *this, name);
    Asker& asker = found->second;
    if (!is_new) return asker;
    mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                               .class_version = wire::kSaClassVersion,
                               .rmpp = true};
    // At the administrator's own node it has the methods.
    if (asker.node != &at_) {
      request.methods.set(static_cast<std::size_t>(wire::MadMethod::kReport));
    }
    asker.agent = *asker.node->management().mad_port(1).add_agent(request, asker);
    return asker;
  }
  // What both have done so far.
  [[nodiscard]] std::uint64_t done() const {
    return administrator->counters().get(SaCounter::kQueries) + lab.manager->smps().sent +
           lab.manager->revision();
  }
  // The manager learns what the administrator has given out, and writes it.
  void exchange() {
    const bool groups = administrator->groups().generation() != groups_generation_;
    const bool guids = administrator->guids_generation() != guids_generation_;
    if (!groups && !guids) return;
    groups_generation_ = administrator->groups().generation();
    guids_generation_ = administrator->guids_generation();
    if (groups) lab.manager->set_groups(administrator->groups().forwarding());
    if (guids) lab.manager->set_guids(administrator->guids());
    for (std::uint64_t before = ~std::uint64_t{0}; before != lab.manager->smps().sent;) {
      before = lab.manager->smps().sent;
      lab.manager->run(lab.running.now);
      at_.management_used();
      lab.running.settle();
    }
    publish();
  }
  void received(Asker& asker, const mgmt::ReceivedMad& mad) {
    const auto header = *wire::MadHeader::parse(mad.mad);
    const Bytes data = mad.mad.subspan(wire::SaHeader::kDataOffset);
    if (!mad.cookie) return take_report(asker, mad, header);
    if (*mad.cookie != cookie_) return;
    answer_ = {.came = true,
               .status = header.status,
               .method = header.method,
               .attribute = static_cast<wire::SaAttribute>(header.attribute_id)};
    answer_.record_size = std::size_t{wire::SaHeader::parse(mad.mad)->attribute_offset} * 8;
    const bool table = header.method == wire::MadMethod::kGetTableResponse ||
                       header.method == wire::MadMethod::kGetMultiResponse;
    if (!table) {
      answer_.records.emplace_back(data.begin(), data.end());
      return;
    }
    const std::size_t size = answer_.record_size;
    for (std::size_t at = 0; size > 0 && at + size <= data.size(); at += size) {
      const Bytes record = data.subspan(at, size);
      answer_.records.emplace_back(record.begin(), record.end());
    }
  }
  void take_report(Asker& asker, const mgmt::ReceivedMad& mad, const wire::MadHeader& header) {
    if (header.method != wire::MadMethod::kReport) return;
    const Bytes data = mad.mad.subspan(wire::SaHeader::kDataOffset);
    asker.notices.push_back(*wire::Notice::parse(data));
    asker.issuers.push_back(wire::load_gid(data.data() + wire::Notice::kSize));
    wire::MadBuffer back{};
    std::copy(mad.mad.begin(), mad.mad.end(), back.begin());
    wire::MadHeader confirm = header;
    confirm.method = wire::MadMethod::kReportResponse;
    confirm.write(back);
    EXPECT_TRUE(asker.node->management().mad_port(1).send(
        asker.agent, {.to = mad.from, .mad = back}, lab.running.now));
    asker.node->management_used();
  }

  void begin(const AdministratorOptions& options, SubnetStore* store) {
    administrator = std::make_unique<Administrator>(at_.management().mad_port(1), options);
    if (store != nullptr) left_out = administrator->restore(store->load(), lab.running.now);
    administrator->record_to(store);
    EXPECT_TRUE(administrator->start());
    administrator->set_multicast_source(
        [this]() -> const Subnet& { return lab.manager->subnet(); });
    listen();
  }
  void listen() {
    lab.manager->on_trap([this](const ReceivedTrap& trap) { administrator->take_trap(trap); });
  }

  fabric::Node& at_;
  std::map<std::string, Asker> askers_;
  std::uint64_t cookie_ = 0;
  Answer answer_;
  std::uint64_t revision_ = 0;
  std::uint64_t groups_generation_ = 0;
  std::uint64_t guids_generation_ = 0;
};

}  // namespace weft::sm
