// SPDX-License-Identifier: Apache-2.0
// The names at version IBVERBS_1.0, which programs linked before 2007 ask for. That ABI had other
// structures, and nothing in use needs it: the names resolve, the device list is empty and says
// why, and without a device nothing else is reached.
#include "verbs/abi.h"
#include "verbs/guard.h"

#pragma GCC visibility push(default)

extern "C" {

void* first_abi_ibv_get_device_list(int* count);
void first_abi_ibv_register_driver();

void* first_abi_ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  return weft::verbs::refuse(
      weft::Error{std::errc::function_not_supported,
                  "this program was linked against libibverbs 1.0 (before 2007): link it again"});
}
void first_abi_ibv_register_driver() {
}

asm(".symver first_abi_ibv_get_device_list, ibv_get_device_list@IBVERBS_1.0");
asm(".symver first_abi_ibv_register_driver, ibv_register_driver@IBVERBS_1.1");

#define WEFT_FIRST_ABI(type, name, result) \
  type first_abi_##name(...) {             \
    return result;                         \
  }                                        \
  asm(".symver first_abi_" #name ", " #name "@IBVERBS_1.0");
#define WEFT_FIRST_ABI_POINTER(name) WEFT_FIRST_ABI(void*, name, weft::verbs::refuse(EOPNOTSUPP))
#define WEFT_FIRST_ABI_NUMBER(name) WEFT_FIRST_ABI(int, name, weft::verbs::report(EOPNOTSUPP))

WEFT_FIRST_ABI_POINTER(ibv_alloc_pd)
WEFT_FIRST_ABI_POINTER(ibv_create_ah)
WEFT_FIRST_ABI_POINTER(ibv_create_cq)
WEFT_FIRST_ABI_POINTER(ibv_create_qp)
WEFT_FIRST_ABI_POINTER(ibv_create_srq)
WEFT_FIRST_ABI_POINTER(ibv_get_device_name)
WEFT_FIRST_ABI_POINTER(ibv_open_device)
WEFT_FIRST_ABI_POINTER(ibv_reg_mr)
WEFT_FIRST_ABI_NUMBER(ibv_ack_async_event)
WEFT_FIRST_ABI_NUMBER(ibv_ack_cq_events)
WEFT_FIRST_ABI_NUMBER(ibv_attach_mcast)
WEFT_FIRST_ABI_NUMBER(ibv_close_device)
WEFT_FIRST_ABI_NUMBER(ibv_dealloc_pd)
WEFT_FIRST_ABI_NUMBER(ibv_dereg_mr)
WEFT_FIRST_ABI_NUMBER(ibv_destroy_ah)
WEFT_FIRST_ABI_NUMBER(ibv_destroy_cq)
WEFT_FIRST_ABI_NUMBER(ibv_destroy_qp)
WEFT_FIRST_ABI_NUMBER(ibv_destroy_srq)
WEFT_FIRST_ABI_NUMBER(ibv_detach_mcast)
WEFT_FIRST_ABI_NUMBER(ibv_free_device_list)
WEFT_FIRST_ABI_NUMBER(ibv_get_async_event)
WEFT_FIRST_ABI_NUMBER(ibv_get_cq_event)
WEFT_FIRST_ABI_NUMBER(ibv_get_device_guid)
WEFT_FIRST_ABI_NUMBER(ibv_modify_qp)
WEFT_FIRST_ABI_NUMBER(ibv_modify_srq)
WEFT_FIRST_ABI_NUMBER(ibv_query_device)
WEFT_FIRST_ABI_NUMBER(ibv_query_gid)
WEFT_FIRST_ABI_NUMBER(ibv_query_pkey)
WEFT_FIRST_ABI_NUMBER(ibv_query_port)
WEFT_FIRST_ABI_NUMBER(ibv_query_qp)
WEFT_FIRST_ABI_NUMBER(ibv_query_srq)
WEFT_FIRST_ABI_NUMBER(ibv_resize_cq)

#undef WEFT_FIRST_ABI_NUMBER
#undef WEFT_FIRST_ABI_POINTER
#undef WEFT_FIRST_ABI

}  // extern "C"

#pragma GCC visibility pop
