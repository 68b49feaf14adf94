// SPDX-License-Identifier: Apache-2.0
// Polling as the extended interface does it: one completion at a time, read field by field. A
// completion is taken from the host's queue only when the program moves on to it, so that
// ibv_poll_cq() and notification see every other one.
#include "verbs/completion_queue_ex.h"

#include "io/clock.h"
#include "verbs/errno_keeper.h"
#include "verbs/work_completion.h"

namespace weft::verbs {
namespace {

const hca::Completion& current(ibv_cq_ex* cq) {
  return Cq::of(cq).current;
}

int take(Cq& cq) {
  const ErrnoKeeper keeper;
  if (cq.host->poll(std::span(&cq.current, 1)) == 0) return ENOENT;
  cq.wr_id = cq.current.wr_id;
  cq.status = status_of(cq.current.status);
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  if (attributes->comp_mask != 0) return EINVAL;
  Cq& queue = Cq::of(cq);
  if (!queue.single_threaded) queue.polling.lock();
  const int result = take(queue);
  // end_poll() follows a successful start_poll() only.
  if (result != 0 && !queue.single_threaded) queue.polling.unlock();
  return result;
}

int next_poll(ibv_cq_ex* cq) {
  return take(Cq::of(cq));
}

void end_poll(ibv_cq_ex* cq) {
  Cq& queue = Cq::of(cq);
  if (!queue.single_threaded) queue.polling.unlock();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) {
  return opcode_of(current(cq).opcode);
}
std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
  return vendor_error_of(current(cq));
}
std::uint32_t read_byte_len(ibv_cq_ex* cq) {
  return current(cq).byte_length;
}
__be32 read_imm_data(ibv_cq_ex* cq) {
  return current(cq).immediate;
}
std::uint32_t read_qp_num(ibv_cq_ex* cq) {
  return current(cq).qpn.value();
}
std::uint32_t read_src_qp(ibv_cq_ex* cq) {
  return current(cq).source_qpn.value();
}
unsigned read_wc_flags(ibv_cq_ex* cq) {
  return flags_of(current(cq));
}
std::uint32_t read_slid(ibv_cq_ex* cq) {
  return current(cq).slid.value();
}
std::uint8_t read_sl(ibv_cq_ex* cq) {
  return current(cq).sl;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* cq) {
  return current(cq).path_bits;
}

std::uint64_t read_completion_ts(ibv_cq_ex* cq) {
  return static_cast<std::uint64_t>(current(cq).at.time_since_epoch().count());
}

// The wall clock now, less the time since the completion: right even when the clock was set
// between the two.
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) {
  return static_cast<std::uint64_t>((io::wall_clock() - (io::now() - current(cq).at)).count());
}

std::uint16_t no_cvlan(ibv_cq_ex*) {
  return 0;
}
std::uint32_t no_flow_tag(ibv_cq_ex*) {
  return 0;
}
void no_tm_info(ibv_cq_ex*, ibv_wc_tm_info* info) {
  *info = {};
}
std::uint64_t no_time(ibv_cq_ex*) {
  return 0;
}

}  // namespace

void install_readers(Cq& cq, std::uint64_t wc_flags) {
  const bool ticks = (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0;
  const bool wall = (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0;
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = read_byte_len;
  cq.read_imm_data = read_imm_data;
  cq.read_qp_num = read_qp_num;
  cq.read_src_qp = read_src_qp;
  cq.read_wc_flags = read_wc_flags;
  cq.read_slid = read_slid;
  cq.read_sl = read_sl;
  cq.read_dlid_path_bits = read_dlid_path_bits;
  cq.read_completion_ts = ticks ? read_completion_ts : no_time;
  cq.read_cvlan = no_cvlan;
  cq.read_flow_tag = no_flow_tag;
  cq.read_tm_info = no_tm_info;
  cq.read_completion_wallclock_ns = wall ? read_completion_wallclock_ns : no_time;
}

}  // namespace weft::verbs
