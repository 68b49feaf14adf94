// SPDX-License-Identifier: Apache-2.0
#include "verbs/qp_attributes.h"

#include <bit>

#include "verbs/access.h"
#include "verbs/path.h"

namespace weft::verbs {
namespace {

// Which of hca's attributes stand for which bits of a modify.
constexpr struct {
  unsigned abi;
  hca::QpAttr core;
} kAttributes[]{
    {IBV_QP_STATE, hca::kAttrState},
    {IBV_QP_CUR_STATE, hca::kAttrCurrentState},
    {IBV_QP_EN_SQD_ASYNC_NOTIFY, hca::kAttrSqdNotify},
    {IBV_QP_ACCESS_FLAGS, hca::kAttrAccess},
    {IBV_QP_PKEY_INDEX, hca::kAttrPKeyIndex},
    {IBV_QP_PORT, hca::kAttrPort},
    {IBV_QP_QKEY, hca::kAttrQKey},
    {IBV_QP_AV, hca::kAttrPath},
    {IBV_QP_PATH_MTU, hca::kAttrPathMtu},
    {IBV_QP_TIMEOUT, hca::kAttrAckTimeout},
    {IBV_QP_RETRY_CNT, hca::kAttrRetryCount},
    {IBV_QP_RNR_RETRY, hca::kAttrRnrRetry},
    {IBV_QP_RQ_PSN, hca::kAttrRqPsn},
    {IBV_QP_MAX_QP_RD_ATOMIC, hca::kAttrMaxReadsOut},
    {IBV_QP_ALT_PATH, hca::kAttrAlternatePath},
    {IBV_QP_MIN_RNR_TIMER, hca::kAttrRnrTimer},
    {IBV_QP_SQ_PSN, hca::kAttrSqPsn},
    {IBV_QP_MAX_DEST_RD_ATOMIC, hca::kAttrMaxReadsIn},
    {IBV_QP_PATH_MIG_STATE, hca::kAttrPathMigration},
    {IBV_QP_DEST_QPN, hca::kAttrPeer},
};

std::uint32_t core_mask(unsigned mask) {
  std::uint32_t out = 0;
  for (const auto& [abi, core] : kAttributes) {
    if ((mask & abi) != 0) out |= core;
    mask &= ~abi;
  }
  if (mask != 0) out |= hca::kAttrOther;
  return out;
}

// The numbers of the states are the same on both sides.
static_assert(static_cast<int>(hca::QpState::kReset) == IBV_QPS_RESET);
static_assert(static_cast<int>(hca::QpState::kInit) == IBV_QPS_INIT);
static_assert(static_cast<int>(hca::QpState::kRtr) == IBV_QPS_RTR);
static_assert(static_cast<int>(hca::QpState::kRts) == IBV_QPS_RTS);
static_assert(static_cast<int>(hca::QpState::kSqd) == IBV_QPS_SQD);
static_assert(static_cast<int>(hca::QpState::kSqe) == IBV_QPS_SQE);
static_assert(static_cast<int>(hca::QpState::kErr) == IBV_QPS_ERR);
static_assert(static_cast<int>(hca::PathMigration::kMigrated) == IBV_MIG_MIGRATED);
static_assert(static_cast<int>(hca::PathMigration::kRearm) == IBV_MIG_REARM);
static_assert(static_cast<int>(hca::PathMigration::kArmed) == IBV_MIG_ARMED);

constexpr std::uint32_t kSmallestMtu = 256;  // bytes: IBV_MTU_256, each further one doubles it
constexpr std::uint32_t kMaxQpn = 0xFFFFFF;

std::uint32_t bytes_of(ibv_mtu mtu) {
  return kSmallestMtu << (static_cast<unsigned>(mtu) - unsigned{IBV_MTU_256});
}
ibv_mtu mtu_of(std::uint32_t bytes) {
  if (bytes < kSmallestMtu) return ibv_mtu{};
  return static_cast<ibv_mtu>(std::bit_width(bytes / kSmallestMtu));
}

// For a value of an enumeration that the ABI passes as a number.
template <class Enum>
Expected<void> check_range(const char* name, Enum value, Enum first, Enum last) {
  const auto number = static_cast<unsigned>(value);
  if (number >= static_cast<unsigned>(first) && number <= static_cast<unsigned>(last)) return {};
  return fail(std::errc::invalid_argument,
              std::string(name) + " " + std::to_string(number) + ": must be " +
                  std::to_string(static_cast<unsigned>(first)) + " to " +
                  std::to_string(static_cast<unsigned>(last)));
}

Expected<void> check_values(const ibv_qp_attr& from, unsigned mask) {
  const auto asked = [mask](ibv_qp_attr_mask bit) { return (mask & bit) != 0; };
  Expected<void> fine;
  if (asked(IBV_QP_STATE)) {
    fine = check_range("qp_state", from.qp_state, IBV_QPS_RESET, IBV_QPS_ERR);
  }
  if (fine && asked(IBV_QP_CUR_STATE)) {
    fine = check_range("cur_qp_state", from.cur_qp_state, IBV_QPS_RESET, IBV_QPS_ERR);
  }
  if (fine && asked(IBV_QP_PATH_MTU)) {
    fine = check_range("path_mtu", from.path_mtu, IBV_MTU_256, IBV_MTU_4096);
  }
  if (fine && asked(IBV_QP_PATH_MIG_STATE)) {
    fine = check_range("path_mig_state", from.path_mig_state, IBV_MIG_MIGRATED, IBV_MIG_ARMED);
  }
  if (fine && asked(IBV_QP_DEST_QPN)) {
    fine = check_range("dest_qp_num", from.dest_qp_num, 0U, kMaxQpn);
  }
  return fine;
}

}  // namespace

Expected<QpChange> change_of(host::Context& context, const ibv_qp_attr& from, unsigned mask) {
  if (auto fine = check_values(from, mask); !fine) return tl::unexpected(fine.error());
  const auto asked = [mask](ibv_qp_attr_mask bit) { return (mask & bit) != 0; };
  QpChange change;
  change.mask = core_mask(mask);
  hca::QpAttributes& to = change.attributes;
  // Fields that the mask does not name may hold anything, and nobody looks at their translation.
  to.state = static_cast<hca::QpState>(from.qp_state);
  to.current_state = static_cast<hca::QpState>(from.cur_qp_state);
  to.sqd_notify = from.en_sqd_async_notify != 0;
  to.pkey_index = from.pkey_index;
  to.port = from.port_num;
  to.qkey = QKey{from.qkey};
  to.sq_psn = Psn{from.sq_psn};
  to.rq_psn = Psn{from.rq_psn};
  to.peer = Qpn{from.dest_qp_num};
  to.max_reads_out = from.max_rd_atomic;
  to.max_reads_in = from.max_dest_rd_atomic;
  to.rnr_timer = from.min_rnr_timer;
  to.ack_timeout = from.timeout;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.migration = static_cast<hca::PathMigration>(from.path_mig_state);
  if (asked(IBV_QP_PATH_MTU)) to.path_mtu = bytes_of(from.path_mtu);
  if (asked(IBV_QP_ACCESS_FLAGS)) {
    const auto access = access_of(from.qp_access_flags, kQueuePairRights);
    if (!access) {
      return fail(std::errc::invalid_argument,
                  "qp_access_flags: unknown bits in " + std::to_string(from.qp_access_flags));
    }
    to.access = *access;
  }
  if (asked(IBV_QP_AV)) {
    auto path = path_of(context, from.ah_attr);
    if (!path) return tl::unexpected(path.error());
    to.path = *path;
  }
  if (asked(IBV_QP_ALT_PATH)) {
    auto path = path_of(context, from.alt_ah_attr);
    if (!path) return tl::unexpected(path.error());
    to.alternate_path = *path;
    to.alternate_pkey_index = from.alt_pkey_index;
    to.alternate_port = from.alt_port_num;
    to.alternate_ack_timeout = from.alt_timeout;
  }
  return change;
}

ibv_qp_attr attributes_of(const hca::QpAttributes& from) {
  ibv_qp_attr to{};
  to.qp_state = static_cast<ibv_qp_state>(from.state);
  to.cur_qp_state = to.qp_state;
  to.path_mtu = mtu_of(from.path_mtu);
  to.path_mig_state = static_cast<ibv_mig_state>(from.migration);
  to.qkey = from.qkey.value();
  to.rq_psn = from.rq_psn.value();
  to.sq_psn = from.sq_psn.value();
  to.dest_qp_num = from.peer.value();
  to.qp_access_flags = from.access;
  to.ah_attr = address_vector_of(from.path);
  to.alt_ah_attr = address_vector_of(from.alternate_path);
  to.pkey_index = from.pkey_index;
  to.alt_pkey_index = from.alternate_pkey_index;
  to.en_sqd_async_notify = from.sqd_notify ? 1 : 0;
  to.max_rd_atomic = from.max_reads_out;
  to.max_dest_rd_atomic = from.max_reads_in;
  to.min_rnr_timer = from.rnr_timer;
  to.port_num = from.port;
  to.timeout = from.ack_timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  to.alt_port_num = from.alternate_port;
  to.alt_timeout = from.alternate_ack_timeout;
  return to;
}

}  // namespace weft::verbs
