// SPDX-License-Identifier: Apache-2.0
#include "verbs/path.h"

#include <algorithm>

#include "verbs/gid_bytes.h"

namespace weft::verbs {

Expected<hca::Path> path_of(host::Context& context, const ibv_ah_attr& attributes) {
  hca::Path path;
  path.port = attributes.port_num;
  path.dlid = Lid{attributes.dlid};
  path.source_path_bits = attributes.src_path_bits;
  path.static_rate = attributes.static_rate;
  path.sl = Sl{attributes.sl};
  path.global = attributes.is_global != 0;
  if (path.global) {  // else it may hold anything
    path.dgid = gid_of(attributes.grh.dgid);
    path.flow_label = attributes.grh.flow_label & 0xFFFFF;
    path.sgid_index = attributes.grh.sgid_index;
    path.hop_limit = attributes.grh.hop_limit;
    path.traffic_class = attributes.grh.traffic_class;
  }
  if (auto complete = context.complete_path(path); !complete) {
    return tl::unexpected(complete.error());
  }
  return path;
}

ibv_ah_attr address_vector_of(const hca::Path& path) {
  ibv_ah_attr out{};
  if (path.dgid.is_zero() && !path.by_lid()) return out;
  if (path.global) {
    std::ranges::copy(path.dgid.bytes(), out.grh.dgid.raw);
    out.grh.flow_label = path.flow_label;
    out.grh.sgid_index = path.sgid_index;
    out.grh.hop_limit = path.hop_limit;
    out.grh.traffic_class = path.traffic_class;
    out.is_global = 1;
  }
  out.dlid = path.dlid.value();
  out.src_path_bits = path.source_path_bits;
  out.static_rate = path.static_rate;
  out.sl = path.sl.value();
  out.port_num = path.port;
  return out;
}

}  // namespace weft::verbs
