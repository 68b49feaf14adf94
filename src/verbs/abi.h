// SPDX-License-Identifier: Apache-2.0
// The C ABI that this folder provides, from the distribution's public headers. The tree is built
// with hidden visibility; what verbs.h declares is what the library exports, so its declarations
// are made visible here, and the macros that stand before exported functions are taken away.
#pragma once

#include <errno.h>
#include <linux/types.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <limits>

#pragma GCC visibility push(default)
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {

// Exported by the distribution's library and used by librdmacm, though no public header has them.
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);

const char* ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, size_t size);

// The type of a GID as sysfs words it: 0 is "IB/RoCE v1", 1 is "RoCE v2".
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };
int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index,
                       ibv_gid_type_sysfs* type);

}  // extern "C"
#pragma GCC visibility pop

// What ibv_query_port writes when it is called as a function: the layout before port_cap_flags2
// was appended. The public header only declares the name.
struct _compat_ibv_port_attr {
  ibv_port_state state;
  ibv_mtu max_mtu;
  ibv_mtu active_mtu;
  int gid_tbl_len;
  uint32_t port_cap_flags;
  uint32_t max_msg_sz;
  uint32_t bad_pkey_cntr;
  uint32_t qkey_viol_cntr;
  uint16_t pkey_tbl_len;
  uint16_t lid;
  uint16_t sm_lid;
  uint8_t lmc;
  uint8_t max_vl_num;
  uint8_t sm_sl;
  uint8_t subnet_timeout;
  uint8_t init_type_reply;
  uint8_t active_width;
  uint8_t active_speed;
  uint8_t phys_state;
  uint8_t link_layer;
  uint8_t flags;
};

namespace weft::verbs {

// The layouts that programs compiled against rdma-core 44 have built in (x86-64, LP64).
static_assert(sizeof(_compat_ibv_port_attr) == 48);
static_assert(sizeof(ibv_port_attr) == 52);
static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(ibv_context) == 328);
static_assert(sizeof(verbs_context) == 648);
static_assert(offsetof(verbs_context, context) + sizeof(ibv_context) == sizeof(verbs_context));
static_assert(offsetof(verbs_context, sz) + sizeof(size_t) == offsetof(verbs_context, context));
static_assert(sizeof(ibv_device_attr_ex) == 400);
static_assert(sizeof(ibv_qp) == 160 && sizeof(ibv_qp_ex) == 352);
static_assert(sizeof(ibv_cq) == 128 && sizeof(ibv_cq_ex) == 288);
static_assert(sizeof(ibv_wc) == 48);
static_assert(sizeof(ibv_send_wr) == 128);

}  // namespace weft::verbs
