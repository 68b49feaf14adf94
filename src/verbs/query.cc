// SPDX-License-Identifier: Apache-2.0
// What a device and its port say about themselves.
#include <endian.h>

#include <algorithm>
#include <cstring>

#include "io/clock.h"
#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/memory_region.h"
#include "verbs/port_rate.h"

namespace weft::verbs {
namespace {

constexpr std::uint64_t kPageSizes = ~std::uint64_t{0xFFF};  // 4 KiB and every larger power of two
constexpr std::uint64_t kClockKhz = 1'000'000;               // completion times are nanoseconds
constexpr std::uint8_t kPhysDisabled = 3;                    // IBA 14.2.5.6: PortPhysicalState
constexpr std::uint8_t kPhysLinkUp = 5;

constexpr unsigned kQueryCapabilities =
    IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
    IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_RC_RNR_NAK_GEN |
    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_MEM_WINDOW |
    IBV_DEVICE_MEM_WINDOW_TYPE_2B | unsigned{IBV_DEVICE_XRC};

// On-demand paging: nothing is ever pinned, so every operation may meet a page that is not there.
constexpr std::uint32_t kDatagramOdp = IBV_ODP_SUPPORT_SEND | unsigned{IBV_ODP_SUPPORT_RECV};
constexpr std::uint32_t kUnreliableOdp = kDatagramOdp | IBV_ODP_SUPPORT_WRITE;
constexpr std::uint32_t kReliableOdp =
    kUnreliableOdp | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

int as_int(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max()));
}

ibv_device_attr device_attributes(OpenDevice& device) {
  const host::DeviceLimits& limits = device.host->limits();
  const host::DeviceInfo& info = device.host->device();
  ibv_device_attr out{};
  const char* const firmware = info.firmware.empty() ? WEFT_VERSION : info.firmware.c_str();
  std::strncpy(out.fw_ver, firmware, sizeof out.fw_ver - 1);
  out.node_guid = htobe64(info.node_guid.value());
  out.sys_image_guid = htobe64(info.system_guid.value());
  out.max_mr_size = limits.max_mr_size;
  out.page_size_cap = kPageSizes;
  out.vendor_id = info.vendor_id;
  out.vendor_part_id = info.part_id;
  out.hw_ver = info.hardware;
  out.max_qp = as_int(limits.max_qp);
  out.max_qp_wr = as_int(limits.max_qp_wr);
  out.device_cap_flags = kQueryCapabilities;
  out.max_sge = as_int(limits.max_sge);
  out.max_cq = as_int(limits.max_cq);
  out.max_cqe = as_int(limits.max_cqe);
  out.max_mr = as_int(limits.max_mr);
  out.max_pd = as_int(limits.max_pd);
  out.max_sge_rd = as_int(limits.max_sge);
  out.max_qp_rd_atom = as_int(limits.max_reads);
  out.max_qp_init_rd_atom = as_int(limits.max_reads);
  out.max_res_rd_atom = as_int(std::uint64_t{limits.max_reads} * limits.max_qp);
  out.atomic_cap = IBV_ATOMIC_HCA;
  out.max_mw = as_int(limits.max_mw);
  out.max_srq = as_int(limits.max_srq);
  out.max_srq_wr = as_int(limits.max_srq_wr);
  out.max_srq_sge = as_int(limits.max_sge);
  out.max_mcast_grp = as_int(limits.max_mcast_grp);
  out.max_mcast_qp_attach = as_int(limits.max_mcast_qp_attach);
  out.max_total_mcast_qp_attach =
      as_int(std::uint64_t{limits.max_mcast_grp} * limits.max_mcast_qp_attach);
  out.max_ah = as_int(limits.max_ah);
  if (device.host->carries_raw()) {
    out.max_raw_ethy_qp = as_int(limits.max_qp);
    out.device_cap_flags |= IBV_DEVICE_MANAGED_FLOW_STEERING;
  }
  out.max_pkeys = static_cast<std::uint16_t>(device.host->pkeys(1).size());
  out.phys_port_cnt = device.host->ports();
  return out;
}

ibv_mtu mtu_at_most(std::uint32_t bytes) {
  if (bytes >= 4096) return IBV_MTU_4096;
  if (bytes >= 2048) return IBV_MTU_2048;
  if (bytes >= 1024) return IBV_MTU_1024;
  return bytes >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

void describe_ip_port(const port::PortAttributes& port, ibv_port_attr& out) {
  const LinkRate rate = link_rate(port.rate_mbps);
  out.port_cap_flags = IBV_PORT_IP_BASED_GIDS | IBV_PORT_SYS_IMAGE_GUID_SUP;
  out.max_vl_num = 1;
  out.active_width = rate.width;
  out.active_speed = rate.speed;
  out.phys_state = port.link_up ? kPhysLinkUp : kPhysDisabled;
  out.link_layer = IBV_LINK_LAYER_ETHERNET;
}

// The codes and bits are those of PortInfo on both sides.
void describe_fabric_port(const port::PortAttributes& port, std::uint64_t pkey_violations,
                          ibv_port_attr& out) {
  out.port_cap_flags = port.capabilities;
  out.bad_pkey_cntr = static_cast<std::uint32_t>(port.pkey_violations + pkey_violations);
  out.qkey_viol_cntr = port.qkey_violations;
  out.lid = port.lid.value();
  out.lmc = port.lmc;
  out.sm_lid = port.sm_lid.value();
  out.sm_sl = port.sm_sl.value();
  out.max_vl_num = port.vl_cap;
  out.subnet_timeout = port.subnet_timeout;
  out.init_type_reply = port.init_type_reply;
  out.active_width = port.width_active;
  out.active_speed = port.speed_active;
  out.phys_state = port.physical_state;
  out.link_layer = IBV_LINK_LAYER_INFINIBAND;
}

ibv_port_attr port_attributes(host::Context& context, std::uint8_t number) {
  const port::PortAttributes port = context.port_attributes(number);
  ibv_port_attr out{};
  out.state = static_cast<ibv_port_state>(port.state);
  out.max_mtu = mtu_at_most(port.max_mtu);
  out.active_mtu = mtu_at_most(port.active_mtu);
  out.gid_tbl_len = as_int(port.gids.size());
  // A wire of bare datagrams carries nothing longer.
  out.max_msg_sz =
      context.framing() == hca::UdFraming::kBare ? port.max_message : context.limits().max_message;
  out.pkey_tbl_len = static_cast<std::uint16_t>(port.pkeys.size());
  if (port.link_layer == port::LinkLayer::kInfiniband) {
    describe_fabric_port(port, context.pkeys(number).violations(), out);
  } else {
    describe_ip_port(port, out);
  }
  return out;
}

// A program compiled against a newer header passes a larger structure: what this library does not
// know of it is zero.
template <class Value>
void copy_sized(void* to, std::size_t size, const Value& from) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof from));
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port_num, ibv_port_attr* attributes,
               std::size_t size) {
  host::Context& host = *OpenDevice::of(context).host;
  if (!host.has_port(port_num)) return report(EINVAL);
  return guard_errno([&] {
    copy_sized(attributes, size, port_attributes(host, port_num));
    return 0;
  });
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return report(EINVAL);
  if (size < sizeof attributes->orig_attr) return report(EINVAL);
  ibv_device_attr_ex out{};
  out.orig_attr = device_attributes(OpenDevice::of(context));
  out.completion_timestamp_mask = ~std::uint64_t{0};
  out.hca_core_clock = kClockKhz;
  out.odp_caps.general_caps = IBV_ODP_SUPPORT | unsigned{IBV_ODP_SUPPORT_IMPLICIT};
  out.odp_caps.per_transport_caps = {kReliableOdp, kUnreliableOdp, kDatagramOdp};
  out.xrc_odp_caps = kReliableOdp;
  out.max_dm_size = kMaxDeviceMemory;
  out.device_cap_flags_ex = out.orig_attr.device_cap_flags;
  out.phys_port_cnt_ex = out.orig_attr.phys_port_cnt;
  if (OpenDevice::of(context).host->carries_raw()) {
    out.device_cap_flags_ex |= IBV_DEVICE_RAW_SCATTER_FCS;
    out.raw_packet_caps = IBV_RAW_PACKET_CAP_SCATTER_FCS;
  }
  copy_sized(attributes, size, out);
  return 0;
}

// The raw clock is a count of ticks, which providers hand out in tv_nsec alone.
int query_rt_values(ibv_context*, ibv_values_ex* values) {
  const std::uint32_t known = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;
  if (known != 0) {
    values->raw_clock.tv_sec = 0;
    values->raw_clock.tv_nsec = static_cast<long>(io::now().time_since_epoch().count());
  }
  values->comp_mask = known;
  return 0;
}

}  // namespace weft::verbs

using namespace weft::verbs;

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = device_attributes(OpenDevice::of(context));
  return 0;
}

int ibv_query_port(ibv_context* context, uint8_t port_num, _compat_ibv_port_attr* attributes) {
  weft::host::Context& host = *OpenDevice::of(context).host;
  if (!host.has_port(port_num)) return report(EINVAL);
  return guard_errno([&] {
    copy_sized(attributes, sizeof *attributes, port_attributes(host, port_num));
    return 0;
  });
}
