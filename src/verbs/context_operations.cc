// SPDX-License-Identifier: Apache-2.0
#include "verbs/context_operations.h"

namespace weft::verbs {
namespace {

int old_query_port(ibv_context* context, std::uint8_t port_num, _compat_ibv_port_attr* out) {
  return ibv_query_port(context, port_num, out);
}

}  // namespace

void install_operations(OpenDevice& device) {
  device.sz = sizeof(verbs_context);
  device.query_port = query_port;
  device.query_device_ex = query_device_ex;
  device.query_rt_values = query_rt_values;
  device.create_cq_ex = create_cq_ex;
  device.create_qp_ex = create_qp_ex;
  device.open_qp = open_qp;
  device.create_srq_ex = create_srq_ex;
  device.get_srq_num = get_srq_num;
  device.open_xrcd = open_xrcd;
  device.close_xrcd = close_xrcd;
  device.ibv_create_flow = create_flow;
  device.ibv_destroy_flow = destroy_flow;
  device.alloc_td = alloc_td;
  device.dealloc_td = dealloc_td;
  device.alloc_parent_domain = alloc_parent_domain;
  device.advise_mr = advise_mr;
  device.alloc_dm = alloc_dm;
  device.free_dm = free_dm;
  device.reg_dm_mr = reg_dm_mr;

  ibv_context_ops& ops = device.context.ops;
  ops._compat_query_device = ibv_query_device;
  ops._compat_query_port = old_query_port;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
}

}  // namespace weft::verbs
