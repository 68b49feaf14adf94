// SPDX-License-Identifier: Apache-2.0
// What the connection manager says, in the words of rdma_cm.
#include <algorithm>
#include <variant>

#include "rdmacm/command_core.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {
namespace {

constexpr std::int32_t kTimedOut = -static_cast<std::int32_t>(std::errc::timed_out);
constexpr std::int32_t kReset = -static_cast<std::int32_t>(std::errc::connection_reset);

template <class Parameters>
Parameters with_private_data(const mgmt::PrivateData& data) {
  Parameters out{};
  const Bytes bytes = data.bytes();
  const std::size_t size = std::min(bytes.size(), sizeof out.private_data);
  std::memcpy(out.private_data, bytes.data(), size);
  out.private_data_len = static_cast<std::uint8_t>(size);
  return out;
}

}  // namespace

void CommandCore::on_event(const mgmt::CmEvent& event) {
  now_ = event.now;
  std::visit([&](const auto& what) { on(event, what); }, event.what);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::ConnectResponse& what) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity == nullptr) return;
  if ((what.extensions & mgmt::kWeftTransport) != 0) {
    signal_.agreed({identity->qpn, what.remote_qpn, identity->path.dgid});
  }
  auto parameters = with_private_data<rdma_ucm_conn_param>(what.private_data);
  parameters.qp_num = what.remote_qpn.value();
  parameters.srq = what.srq ? 1 : 0;
  parameters.responder_resources = what.responder_resources;
  parameters.initiator_depth = what.initiator_depth;
  parameters.flow_control = what.flow_control ? 1 : 0;
  parameters.rnr_retry_count = what.rnr_retry;
  post(*identity, abi::Event::kConnectResponse, 0, parameters);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::Established&) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity != nullptr) post(*identity, abi::Event::kEstablished, 0);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::Rejected& what) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity == nullptr) return;
  post(*identity, abi::Event::kRejected, static_cast<std::int32_t>(what.reason),
       with_private_data<rdma_ucm_conn_param>(what.private_data));
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::Unreachable& what) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity == nullptr || what.message == wire::CmMessage::kLap) return;
  post(*identity, abi::Event::kUnreachable, kTimedOut);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::Disconnected& what) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity == nullptr || identity->state != IdState::kConnected) return;
  identity->state = IdState::kDisconnected;
  using Cause = mgmt::Disconnected::Cause;
  const std::int32_t status = what.cause == Cause::kUnanswered ? kTimedOut
                              : what.cause == Cause::kStale    ? kReset
                                                               : 0;
  post(*identity, abi::Event::kDisconnected, status);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::TimewaitExit&) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity != nullptr) post(*identity, abi::Event::kTimewaitExit, 0);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::SidrReply& what) {
  Identity* const identity = lookup(static_cast<std::uint32_t>(event.user));
  if (identity == nullptr) return;
  if (what.status != mgmt::SidrStatus::kValid) {
    post(*identity, abi::Event::kUnreachable, static_cast<std::int32_t>(what.status));
    return;
  }
  auto parameters = with_private_data<rdma_ucm_ud_param>(what.private_data);
  parameters.qp_num = what.qpn.value();
  parameters.qkey = what.qkey.value();
  parameters.ah_attr = ah_attributes(
      identity->path, identity->device ? identity->device->end.port : std::uint8_t{1});
  post(*identity, abi::Event::kEstablished, 0, parameters);
}

// A program asks for time by itself being slow; it has no use for hearing of it.
void CommandCore::on(const mgmt::CmEvent&, const mgmt::MoreTime&) {
}

// rdma_cm has no way to offer or answer alternate paths.
void CommandCore::on(const mgmt::CmEvent& event, const mgmt::AlternatePathRequest&) {
  mgmt::AlternatePathAnswer answer;
  answer.status = mgmt::AlternatePathStatus::kNotSupported;
  static_cast<void>(manager_.reply_alternate_path(event.id, answer, now_));
}

void CommandCore::on(const mgmt::CmEvent&, const mgmt::AlternatePathReply&) {
}

}  // namespace weft::rdmacm
