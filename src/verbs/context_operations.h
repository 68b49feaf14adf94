// SPDX-License-Identifier: Apache-2.0
// The functions that programs reach through pointers in their context, not by symbol.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/objects.h"

namespace weft::verbs {

// Fills `sz` and every slot of the operation tables that this library serves. The others stay
// null, which the inline functions of verbs.h turn into EOPNOTSUPP, or get a function that refuses
// where verbs.h does not look for null.
void install_operations(OpenDevice& device);

// Each has the signature of its slot and the error convention of its verb.
int query_port(ibv_context* context, std::uint8_t port_num, ibv_port_attr* attributes,
               std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
              std::uint32_t count);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);

int poll_cq(ibv_cq* cq, int count, ibv_wc* out);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);

}  // namespace weft::verbs
