// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/endian.h"
#include "wire/sm/node_info.h"
#include "wire/sm/port_info.h"
#include "wire/sm/switch_info.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

using wire::SaLayout;

// IBA 15.4.1: in the modifier of a question for PortInfoRecords, that ports are wanted which have
// at least the capabilities that it names.
constexpr std::uint32_t kCapabilityMaskMatch = 1u << 31;
constexpr std::uint64_t kHasCapabilityMask = 1u << 7;

constexpr std::size_t kWide = 8;    // where a table's block begins in its record
constexpr std::size_t kNarrow = 4;  // and an attribute that describes a node or port

// One question and its answer, while records are looked for.
class Search {
 public:
  Search(const SubnetView& view, const SaRequest& request, const SaLayout& layout, SaReply& reply)
      : view_(view),
        request_(request),
        layout_(layout),
        reply_(reply),
        mask_(request.sa.component_mask) {}

  void run(void (*records_of)(Search&, std::uint32_t node)) {
    // The LID is the first component of all of these records: it names the node.
    if (request_.has(1)) {
      const Lid lid{wire::load_be16(request_.data.data())};
      const std::uint32_t end = view_.end_of(lid);
      if (end != SubnetView::kNobody) records_of(*this, view_.ends()[end].at.node);
      return;
    }
    for (std::uint32_t node = 0; node < view_.subnet().nodes.size() && !reply_.full(); ++node)
      records_of(*this, node);
  }

  void nodes(std::uint32_t node);
  void ports(std::uint32_t node);
  void switches(std::uint32_t node);
  void links(std::uint32_t node);
  void linear(std::uint32_t node);
  void multicast(std::uint32_t node);
  void pkeys(std::uint32_t node);
  void guids(std::uint32_t node);
  void levels(std::uint32_t node);
  void arbitration(std::uint32_t node);

 private:
  template <class Write>
  void offer(Write&& write) {
    const MutableBytes record = reply_.add(layout_.size);
    write(record);
    if (!wire::matches(layout_, mask_, request_.data, record)) reply_.drop_last();
  }
  // Of an adapter each port that has a LID, of a switch port 0 for all of them.
  template <class Each>
  void each_end(std::uint32_t node, Each&& each) {
    const SubnetNode& at = view_.subnet().nodes[node];
    const std::size_t last = at.is_switch() ? 0 : at.ports.size() - 1;
    for (std::size_t port = at.is_switch() ? 0 : 1; port <= last; ++port) {
      const PortRef ref{node, static_cast<std::uint8_t>(port)};
      const Lid lid = view_.lid_of(ref);
      if (lid != Lid{}) each(ref, lid);
    }
  }

  template <class Each>
  void each_port(std::uint32_t node, Each&& each);

  const SubnetView& view_;
  const SaRequest& request_;
  const SaLayout& layout_;
  SaReply& reply_;
  std::uint64_t mask_;  // what is compared bit for bit
};

void put_lid(MutableBytes record, Lid lid) {
  wire::store_be16(record.data(), lid.value());
}

void Search::nodes(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  each_end(node, [&](const PortRef& port, Lid lid) {
    offer([&](MutableBytes record) {
      put_lid(record, lid);
      wire::NodeInfo info = at.info;
      info.port_guid = at.ports[port.port].guid;
      info.local_port = at.is_switch() ? std::uint8_t{0} : port.port;
      info.write(record.subspan(kNarrow));
      wire::NodeDescription(at.description).write(record.subspan(kNarrow + wire::NodeInfo::kSize));
    });
  });
}

// Of a switch also its external ports, under the LID of port 0.
void Search::ports(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  std::uint32_t least = 0;
  if ((request_.header.attribute_modifier & kCapabilityMaskMatch) != 0 &&
      request_.has(kHasCapabilityMask)) {
    least = wire::PortInfo::parse(request_.data.subspan(kNarrow))->capability_mask;
    mask_ &= ~kHasCapabilityMask;
  }
  for (std::size_t number = at.is_switch() ? 0 : 1; number < at.ports.size(); ++number) {
    const SubnetPort& port = at.ports[number];
    const PortRef ref{node, static_cast<std::uint8_t>(number)};
    const Lid lid = view_.lid_of(ref);
    if (!port.info || lid == Lid{} || (port.info->capability_mask & least) != least) continue;
    offer([&](MutableBytes record) {
      put_lid(record, lid);
      wire::store_u8(record.data() + 2, ref.port);
      wire::PortInfo info = *port.info;
      if (!request_.trusted) info.mkey = 0;
      info.write(record.subspan(kNarrow));
    });
  }
}

void Search::switches(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  const Lid lid = view_.lid_of({node, 0});
  if (!at.switch_info || lid == Lid{}) return;
  offer([&](MutableBytes record) {
    put_lid(record, lid);
    at.switch_info->write(record.subspan(kNarrow));
  });
}

void Search::links(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  for (std::size_t number = 1; number < at.ports.size(); ++number) {
    const auto& peer = at.ports[number].peer;
    const PortRef ref{node, static_cast<std::uint8_t>(number)};
    const Lid from = view_.lid_of(ref);
    const Lid to = peer ? view_.lid_of(*peer) : Lid{};
    if (from == Lid{} || to == Lid{}) continue;
    offer([&](MutableBytes record) {
      put_lid(record, from);
      wire::store_u8(record.data() + 2, ref.port);
      wire::store_u8(record.data() + 3, peer->port);
      wire::store_be16(record.data() + 4, to.value());
    });
  }
}

void Search::linear(std::uint32_t node) {
  const Lid lid = view_.lid_of({node, 0});
  if (lid == Lid{}) return;
  const auto& blocks = view_.subnet().nodes[node].tables.linear;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    if (!blocks[number]) continue;
    offer([&](MutableBytes record) {
      put_lid(record, lid);
      wire::store_be16(record.data() + 2, static_cast<std::uint16_t>(number));
      blocks[number]->write(record.subspan(kWide));
    });
  }
}

void Search::multicast(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  const Lid lid = view_.lid_of({node, 0});
  if (lid == Lid{}) return;
  const std::size_t positions = SwitchTables::positions(at.info.ports);
  const auto& blocks = at.tables.multicast;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i]) continue;
    offer([&](MutableBytes record) {
      put_lid(record, lid);
      wire::store_be16(record.data() + 2,
                       static_cast<std::uint16_t>(i % positions << 12 | i / positions));
      blocks[i]->write(record.subspan(kWide));
    });
  }
}

// Of a switch the tables of all its ports.
template <class Each>
void Search::each_port(std::uint32_t node, Each&& each) {
  const SubnetNode& at = view_.subnet().nodes[node];
  for (std::size_t number = at.is_switch() ? 0 : 1; number < at.ports.size(); ++number) {
    const PortRef ref{node, static_cast<std::uint8_t>(number)};
    const Lid lid = view_.lid_of(ref);
    if (lid != Lid{}) each(at.ports[number].tables, ref.port, lid);
  }
}

void Search::pkeys(std::uint32_t node) {
  each_port(node, [&](const PortTables& tables, std::uint8_t port, Lid lid) {
    for (std::size_t number = 0; number < tables.pkeys.size(); ++number) {
      if (!tables.pkeys[number]) continue;
      offer([&](MutableBytes record) {
        put_lid(record, lid);
        wire::store_be16(record.data() + 2, static_cast<std::uint16_t>(number));
        wire::store_u8(record.data() + 4, port);
        tables.pkeys[number]->write(record.subspan(kWide));
      });
    }
  });
}

void Search::guids(std::uint32_t node) {
  const SubnetNode& at = view_.subnet().nodes[node];
  each_end(node, [&](const PortRef& ref, Lid lid) {
    constexpr std::size_t kBlock = wire::GuidBlock::kEntries;
    const std::size_t entries = at.ports[ref.port].info->guid_cap;
    for (std::size_t number = 0; number * kBlock < entries; ++number) {
      wire::GuidBlock block;
      for (std::size_t i = 0; i < kBlock; ++i)
        block.guids[i] = view_.guid_at(at.ports[ref.port].guid, number * kBlock + i);
      offer([&](MutableBytes record) {
        put_lid(record, lid);
        wire::store_u8(record.data() + 2, static_cast<std::uint8_t>(number));
        block.write(record.subspan(kWide));
      });
    }
  });
}

void Search::levels(std::uint32_t node) {
  each_port(node, [&](const PortTables& tables, std::uint8_t out, Lid lid) {
    for (std::size_t in = 0; in < tables.sl_to_vl.size(); ++in) {
      if (!tables.sl_to_vl[in]) continue;
      offer([&](MutableBytes record) {
        put_lid(record, lid);
        wire::store_u8(record.data() + 2, static_cast<std::uint8_t>(in));
        wire::store_u8(record.data() + 3, out);
        tables.sl_to_vl[in]->write(record.subspan(kWide));
      });
    }
  });
}

void Search::arbitration(std::uint32_t node) {
  each_port(node, [&](const PortTables& tables, std::uint8_t port, Lid lid) {
    for (std::size_t half = 0; half < tables.vl_arbitration.size(); ++half) {
      if (!tables.vl_arbitration[half]) continue;
      offer([&](MutableBytes record) {
        put_lid(record, lid);
        wire::store_u8(record.data() + 2, port);
        wire::store_u8(record.data() + 3, static_cast<std::uint8_t>(half + 1));
        tables.vl_arbitration[half]->write(record.subspan(kWide));
      });
    }
  });
}

template <auto kMember>
void records(Search& search, std::uint32_t node) {
  (search.*kMember)(node);
}

struct Table {
  const SaLayout& layout;
  void (*records_of)(Search&, std::uint32_t node);
};
constexpr std::array kTables{
    Table{wire::kNodeRecord, records<&Search::nodes>},
    Table{wire::kPortInfoRecord, records<&Search::ports>},
    Table{wire::kSwitchInfoRecord, records<&Search::switches>},
    Table{wire::kLinkRecord, records<&Search::links>},
    Table{wire::kLinearRecord, records<&Search::linear>},
    Table{wire::kMulticastRecord, records<&Search::multicast>},
    Table{wire::kPKeyRecord, records<&Search::pkeys>},
    Table{wire::kGuidInfoRecord, records<&Search::guids>},
    Table{wire::kSlToVlRecord, records<&Search::levels>},
    Table{wire::kVlArbitrationRecord, records<&Search::arbitration>},
};

const Table* find(wire::SaAttribute attribute) {
  for (const Table& table : kTables) {
    if (table.layout.attribute == attribute) return &table;
  }
  return nullptr;
}

}  // namespace

const SaLayout* table_layout(wire::SaAttribute attribute) {
  const Table* const table = find(attribute);
  return table == nullptr ? nullptr : &table->layout;
}

void answer_table(const SubnetView& view, const SaRequest& request, SaReply& reply) {
  const Table* const table = find(request.attribute());
  // IBA 15.4.1: P_Keys are told to the trusted alone.
  const bool secret = request.attribute() == wire::SaAttribute::kPKeyRecord && !request.trusted;
  if (table == nullptr || secret) return reply.fail(wire::SaStatus::kRequestInvalid);
  Search(view, request, table->layout, reply).run(table->records_of);
}

}  // namespace weft::sm
