// SPDX-License-Identifier: Apache-2.0
// The symbols that provider libraries (libmlx5, libefa, …) import from libibverbs at the version
// node IBVERBS_PRIVATE_34. perftest, libfabric and UCX link those providers, so they must load;
// they never drive a Weft device, so what would talk to a kernel says that it cannot.
#include <cstdarg>
#include <cstdio>

#include "verbs/abi.h"
#include "verbs/guard.h"

#pragma GCC visibility push(default)

extern "C" {

// Whether a device that the kernel took away may be destroyed; providers read it.
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;

void __verbs_log(verbs_context*, uint32_t level, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// Providers offer themselves when they are loaded. None is wanted.
void verbs_register_driver_34(const void*) {
}
void verbs_set_ops(verbs_context*, const void*) {
}
void verbs_init_cq(ibv_cq*, ibv_context*, ibv_comp_channel*, void*) {
}
void verbs_uninit_context(verbs_context*) {
}
void* _verbs_init_and_alloc_context(ibv_device*, int, size_t, verbs_context*, uint32_t) {
  return weft::verbs::refuse(EOPNOTSUPP);
}
ibv_context* verbs_open_device(ibv_device*, void*) {
  return weft::verbs::refuse(EOPNOTSUPP);
}

// How many attributes a command will have; none is ever sent.
unsigned int __ioctl_final_num_attrs(unsigned int count, void*) {
  return count;
}
int execute_ioctl(ibv_context*, void*) {
  return weft::verbs::report(EOPNOTSUPP);
}
int ibv_read_ibdev_sysfs_file(char*, size_t, void*, const char*, ...) {
  weft::verbs::report(EOPNOTSUPP);
  return -1;
}

// Providers number their levels from 0, the most urgent; theirs are notes to us.
void __verbs_log(verbs_context*, uint32_t, const char* format, ...) {
  if (weft::verbs::log_level() < weft::verbs::LogLevel::kInfo) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  weft::verbs::log(weft::verbs::LogLevel::kInfo, line);
}

#define WEFT_NO_COMMAND(name)               \
  int name(...) {                           \
    return weft::verbs::report(EOPNOTSUPP); \
  }

WEFT_NO_COMMAND(ibv_cmd_advise_mr)
WEFT_NO_COMMAND(ibv_cmd_alloc_dm)
WEFT_NO_COMMAND(ibv_cmd_alloc_mw)
WEFT_NO_COMMAND(ibv_cmd_alloc_pd)
WEFT_NO_COMMAND(ibv_cmd_attach_mcast)
WEFT_NO_COMMAND(ibv_cmd_close_xrcd)
WEFT_NO_COMMAND(ibv_cmd_create_ah)
WEFT_NO_COMMAND(ibv_cmd_create_counters)
WEFT_NO_COMMAND(ibv_cmd_create_cq)
WEFT_NO_COMMAND(ibv_cmd_create_cq_ex)
WEFT_NO_COMMAND(ibv_cmd_create_flow)
WEFT_NO_COMMAND(ibv_cmd_create_flow_action_esp)
WEFT_NO_COMMAND(ibv_cmd_create_qp)
WEFT_NO_COMMAND(ibv_cmd_create_qp_ex)
WEFT_NO_COMMAND(ibv_cmd_create_qp_ex2)
WEFT_NO_COMMAND(ibv_cmd_create_rwq_ind_table)
WEFT_NO_COMMAND(ibv_cmd_create_srq)
WEFT_NO_COMMAND(ibv_cmd_create_srq_ex)
WEFT_NO_COMMAND(ibv_cmd_create_wq)
WEFT_NO_COMMAND(ibv_cmd_dealloc_mw)
WEFT_NO_COMMAND(ibv_cmd_dealloc_pd)
WEFT_NO_COMMAND(ibv_cmd_dereg_mr)
WEFT_NO_COMMAND(ibv_cmd_destroy_ah)
WEFT_NO_COMMAND(ibv_cmd_destroy_counters)
WEFT_NO_COMMAND(ibv_cmd_destroy_cq)
WEFT_NO_COMMAND(ibv_cmd_destroy_flow)
WEFT_NO_COMMAND(ibv_cmd_destroy_flow_action)
WEFT_NO_COMMAND(ibv_cmd_destroy_qp)
WEFT_NO_COMMAND(ibv_cmd_destroy_rwq_ind_table)
WEFT_NO_COMMAND(ibv_cmd_destroy_srq)
WEFT_NO_COMMAND(ibv_cmd_destroy_wq)
WEFT_NO_COMMAND(ibv_cmd_detach_mcast)
WEFT_NO_COMMAND(ibv_cmd_free_dm)
WEFT_NO_COMMAND(ibv_cmd_get_context)
WEFT_NO_COMMAND(ibv_cmd_modify_cq)
WEFT_NO_COMMAND(ibv_cmd_modify_flow_action_esp)
WEFT_NO_COMMAND(ibv_cmd_modify_qp)
WEFT_NO_COMMAND(ibv_cmd_modify_qp_ex)
WEFT_NO_COMMAND(ibv_cmd_modify_srq)
WEFT_NO_COMMAND(ibv_cmd_modify_wq)
WEFT_NO_COMMAND(ibv_cmd_open_qp)
WEFT_NO_COMMAND(ibv_cmd_open_xrcd)
WEFT_NO_COMMAND(ibv_cmd_poll_cq)
WEFT_NO_COMMAND(ibv_cmd_post_recv)
WEFT_NO_COMMAND(ibv_cmd_post_send)
WEFT_NO_COMMAND(ibv_cmd_post_srq_recv)
WEFT_NO_COMMAND(ibv_cmd_query_context)
WEFT_NO_COMMAND(ibv_cmd_query_device_any)
WEFT_NO_COMMAND(ibv_cmd_query_mr)
WEFT_NO_COMMAND(ibv_cmd_query_port)
WEFT_NO_COMMAND(ibv_cmd_query_qp)
WEFT_NO_COMMAND(ibv_cmd_query_srq)
WEFT_NO_COMMAND(ibv_cmd_read_counters)
WEFT_NO_COMMAND(ibv_cmd_reg_dm_mr)
WEFT_NO_COMMAND(ibv_cmd_reg_dmabuf_mr)
WEFT_NO_COMMAND(ibv_cmd_reg_mr)
WEFT_NO_COMMAND(ibv_cmd_req_notify_cq)
WEFT_NO_COMMAND(ibv_cmd_rereg_mr)
WEFT_NO_COMMAND(ibv_cmd_resize_cq)

#undef WEFT_NO_COMMAND

}  // extern "C"

#pragma GCC visibility pop
