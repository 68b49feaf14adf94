// SPDX-License-Identifier: Apache-2.0
#include "verbs/context_operations.h"

#include "verbs/guard.h"

namespace weft::verbs {
namespace {

int refuse_srq_receive(ibv_srq*, ibv_recv_wr* list, ibv_recv_wr** bad) {
  if (bad != nullptr) *bad = list;
  return report(EOPNOTSUPP);
}
int refuse_bind_window(ibv_qp*, ibv_mw*, ibv_mw_bind*) {
  return report(EOPNOTSUPP);
}
int refuse_free_window(ibv_mw*) {
  return report(EOPNOTSUPP);
}
int refuse_close_xrcd(ibv_xrcd*) {
  return report(EOPNOTSUPP);
}

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
  device.close_xrcd = refuse_close_xrcd;

  ibv_context_ops& ops = device.context.ops;
  ops._compat_query_device = ibv_query_device;
  ops._compat_query_port = old_query_port;
  ops.bind_mw = refuse_bind_window;
  ops.dealloc_mw = refuse_free_window;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = refuse_srq_receive;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
}

}  // namespace weft::verbs
