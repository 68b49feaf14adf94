// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>

#include "hca/types.h"
#include "verbs/abi.h"

namespace weft::verbs {

inline ibv_wc_status status_of(hca::CompletionStatus status) {
  switch (status) {
    case hca::CompletionStatus::kSuccess:
      return IBV_WC_SUCCESS;
    case hca::CompletionStatus::kLocalLengthError:
      return IBV_WC_LOC_LEN_ERR;
    case hca::CompletionStatus::kLocalQpOperationError:
      return IBV_WC_LOC_QP_OP_ERR;
    case hca::CompletionStatus::kLocalProtectionError:
      return IBV_WC_LOC_PROT_ERR;
    case hca::CompletionStatus::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case hca::CompletionStatus::kGeneralError:
      return IBV_WC_GENERAL_ERR;
    case hca::CompletionStatus::kMemoryWindowBindError:
      return IBV_WC_MW_BIND_ERR;
    case hca::CompletionStatus::kBadResponse:
      return IBV_WC_BAD_RESP_ERR;
    case hca::CompletionStatus::kLocalAccessError:
      return IBV_WC_LOC_ACCESS_ERR;
    case hca::CompletionStatus::kRemoteInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case hca::CompletionStatus::kRemoteAccessError:
      return IBV_WC_REM_ACCESS_ERR;
    case hca::CompletionStatus::kRemoteOperationError:
      return IBV_WC_REM_OP_ERR;
    case hca::CompletionStatus::kTransportRetryExceeded:
      return IBV_WC_RETRY_EXC_ERR;
    case hca::CompletionStatus::kRnrRetryExceeded:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case hca::CompletionStatus::kRemoteAborted:
      return IBV_WC_REM_ABORT_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

inline ibv_wc_opcode opcode_of(hca::CompletionOpcode opcode) {
  constexpr ibv_wc_opcode kOpcodes[]{
      IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
      IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_BIND_MW,
      IBV_WC_LOCAL_INV, IBV_WC_RECV,       IBV_WC_RECV_RDMA_WITH_IMM};
  static_assert(std::size(kOpcodes) ==
                static_cast<std::size_t>(hca::CompletionOpcode::kReceiveRdmaWithImmediate) + 1);
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

inline unsigned flags_of(const hca::Completion& completion) {
  return (completion.with_grh ? unsigned{IBV_WC_GRH} : 0U) |
         (completion.with_immediate ? unsigned{IBV_WC_WITH_IMM} : 0U) |
         (completion.with_invalidate ? unsigned{IBV_WC_WITH_INV} : 0U);
}

// Zero for success; otherwise this library's own number of the reason, which is all that a vendor
// error can be here.
inline std::uint32_t vendor_error_of(const hca::Completion& completion) {
  return static_cast<std::uint32_t>(completion.status);
}

inline void write_completion(const hca::Completion& from, ibv_wc& to) {
  to.wr_id = from.wr_id;
  to.status = status_of(from.status);
  to.opcode = opcode_of(from.opcode);
  to.vendor_err = vendor_error_of(from);
  to.byte_len = from.byte_length;
  to.imm_data = from.immediate;
  to.qp_num = from.qpn.value();
  to.src_qp = from.source_qpn.value();
  to.wc_flags = flags_of(from);
  to.pkey_index = from.pkey_index;
  to.slid = from.slid.value();
  to.sl = from.sl;
  to.dlid_path_bits = from.path_bits;
}

}  // namespace weft::verbs
