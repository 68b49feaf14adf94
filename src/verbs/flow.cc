// SPDX-License-Identifier: Apache-2.0
// Flows: which packets of a port come to a queue pair of whole packets.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "hca/raw_rule.h"
#include "verbs/context_operations.h"
#include "verbs/gid_bytes.h"
#include "verbs/guard.h"
#include "verbs/raw_packet.h"

namespace weft::verbs {
namespace {

using Rules = std::vector<hca::RawRule>;

// The flow that a program holds. A flow may be several rules of the port's filter.
struct Flow : ibv_flow {
  Flow() : ibv_flow{} {}
  static Flow& of(ibv_flow* flow) { return *static_cast<Flow*>(flow); }

  Qp* qp = nullptr;
  Rules rules;
};

tl::unexpected<Error> wrong(std::string what) {
  return fail(std::errc::invalid_argument, "flow: " + std::move(what));
}
tl::unexpected<Error> not_served(std::string what) {
  return fail(std::errc::operation_not_supported, "flow: " + std::move(what));
}

// A specification of that kind; nothing when it is shorter than that.
template <class Spec>
const Spec* as(const ibv_flow_spec& spec) {
  if (spec.hdr.size < sizeof(Spec)) return nullptr;
  return reinterpret_cast<const Spec*>(&spec);
}

Expected<Rules> rules_of_lids(const weft_flow_spec_lids* spec) {
  if (spec == nullptr) return wrong("a specification is shorter than its type");
  if (spec->last_lid < spec->first_lid) return wrong("the last LID comes before the first");
  Rules out;
  for (unsigned lid = spec->first_lid; lid <= spec->last_lid; ++lid)
    out.emplace_back(Lid{static_cast<std::uint16_t>(lid)});
  return out;
}

// How many ones a mask begins with; nothing when there are more behind them.
std::optional<unsigned> prefix_length(const std::uint8_t (&mask)[16]) {
  unsigned bits = 0;
  bool ended = false;
  for (const std::uint8_t byte : mask) {
    const auto ones = static_cast<unsigned>(std::countl_one(byte));
    if (static_cast<std::uint8_t>(ended ? byte : byte << ones) != 0) return std::nullopt;
    if (!ended) bits += ones;
    ended = ended || ones < 8;
  }
  return bits;
}

// A GRH is an IPv6 header but for its name.
Expected<Rules> rules_of_gids(const ibv_flow_spec_ipv6* spec) {
  if (spec == nullptr) return wrong("a specification is shorter than its type");
  ibv_flow_ipv6_filter others = spec->mask;
  std::fill(std::begin(others.dst_ip), std::end(others.dst_ip), std::uint8_t{0});
  const ibv_flow_ipv6_filter none{};
  const auto bits = prefix_length(spec->mask.dst_ip);
  if (std::memcmp(others.src_ip, none.src_ip, sizeof none.src_ip) != 0 || others.flow_label != 0 ||
      others.next_hdr != 0 || others.traffic_class != 0 || others.hop_limit != 0 || !bits) {
    return not_served("of a GRH, a prefix of the DGID is looked at alone");
  }
  if (*bits == 0) return wrong("the mask of the DGID is empty");
  ibv_gid gid{};
  std::memcpy(gid.raw, spec->val.dst_ip, sizeof gid.raw);
  return Rules{GidPrefix(gid_of(gid), *bits)};
}

Expected<Rules> rules_of_spec(const ibv_flow_attr& attributes) {
  if (attributes.num_of_specs != 1) return wrong("one specification says which packets it is of");
  const auto& spec = *reinterpret_cast<const ibv_flow_spec*>(&attributes + 1);
  switch (static_cast<unsigned>(spec.hdr.type)) {
    case WEFT_FLOW_SPEC_LIDS:
      return rules_of_lids(as<weft_flow_spec_lids>(spec));
    case WEFT_FLOW_SPEC_OTHER_LIDS:
      return Rules{hca::OtherLids{}};
    case WEFT_FLOW_SPEC_OTHER_GIDS:
      return Rules{hca::OtherGids{}};
    case IBV_FLOW_SPEC_IPV6:
      return rules_of_gids(as<ibv_flow_spec_ipv6>(spec));
    default:
      return not_served("packets are told apart by DLID and DGID alone");
  }
}

Expected<Rules> rules_of(const ibv_flow_attr& attributes) {
  if (attributes.comp_mask != 0 || attributes.flags != 0) return not_served("no flag is known");
  if (attributes.priority != 0) return not_served("the order of rules is the port's");
  const bool has_specs = attributes.num_of_specs != 0;
  switch (attributes.type) {
    case IBV_FLOW_ATTR_NORMAL:
      return rules_of_spec(attributes);
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      if (has_specs) return wrong("what is left has no specification");
      return Rules{hca::OtherLids{}, hca::OtherGids{}};
    case IBV_FLOW_ATTR_SNIFFER:
      if (has_specs) return wrong("a sniffer has no specification");
      return Rules{hca::Everything{}};
    default:
      return not_served("multicast goes to those who have joined its group");
  }
}

// The first so many.
void restore(Qp& qp, const Rules& rules, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<void>(qp.host->restore(rules[i]));
}

}  // namespace

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes) {
  return guard_pointer([&]() -> ibv_flow* {
    Qp& pair = Qp::of(qp);
    if (qp->qp_type != IBV_QPT_RAW_PACKET) {
      return refuse(not_served("is for queue pairs of raw packets").value());
    }
    auto rules = rules_of(*attributes);
    if (!rules) return refuse(rules.error());
    if (attributes->port != pair.host->port()) {
      return refuse(wrong("its port is not that of the queue pair").value());
    }
    auto flow = std::make_unique<Flow>();
    flow->context = qp->context;
    flow->qp = &pair;
    flow->rules = std::move(*rules);
    for (std::size_t i = 0; i < flow->rules.size(); ++i) {
      const auto diverted = pair.host->divert(flow->rules[i]);
      if (diverted) continue;
      restore(pair, flow->rules, i);
      return refuse(diverted.error());
    }
    flow->handle = pair.flows.fetch_add(1) + 1;
    return flow.release();
  });
}

int destroy_flow(ibv_flow* flow) {
  const std::unique_ptr<Flow> gone(&Flow::of(flow));
  return guard_errno([&] {
    restore(*gone->qp, gone->rules, gone->rules.size());
    gone->qp->flows.fetch_sub(1);
    return 0;
  });
}

}  // namespace weft::verbs
