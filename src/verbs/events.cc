// SPDX-License-Identifier: Apache-2.0
// Completion channels and asynchronous events.
#include <atomic>

#include "verbs/guard.h"
#include "verbs/objects.h"
#include "verbs/queue_pair.h"

using namespace weft;
using namespace weft::verbs;

namespace {

// Functions that wait return -1 and set errno, as read() does.
int minus_one(const Error& error) {
  report(error);
  return -1;
}

ibv_event_type type_of(host::AsyncEventType type) {
  switch (type) {
    case host::AsyncEventType::kCqError:
      return IBV_EVENT_CQ_ERR;
    case host::AsyncEventType::kQpFatal:
      return IBV_EVENT_QP_FATAL;
    case host::AsyncEventType::kSqDrained:
      return IBV_EVENT_SQ_DRAINED;
    case host::AsyncEventType::kCommunicationEstablished:
      return IBV_EVENT_COMM_EST;
    case host::AsyncEventType::kPathMigrated:
      return IBV_EVENT_PATH_MIG;
    case host::AsyncEventType::kPathMigrationFailed:
      return IBV_EVENT_PATH_MIG_ERR;
    case host::AsyncEventType::kInvalidRequest:
      return IBV_EVENT_QP_REQ_ERR;
    case host::AsyncEventType::kAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case host::AsyncEventType::kLastWqe:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
    case host::AsyncEventType::kSrqLimit:
      return IBV_EVENT_SRQ_LIMIT_REACHED;
    case host::AsyncEventType::kPortActive:
      return IBV_EVENT_PORT_ACTIVE;
    case host::AsyncEventType::kPortError:
      return IBV_EVENT_PORT_ERR;
    case host::AsyncEventType::kGidChange:
      return IBV_EVENT_GID_CHANGE;
    case host::AsyncEventType::kLidChange:
      return IBV_EVENT_LID_CHANGE;
    case host::AsyncEventType::kPKeyChange:
      return IBV_EVENT_PKEY_CHANGE;
    case host::AsyncEventType::kSmChange:
      return IBV_EVENT_SM_CHANGE;
    case host::AsyncEventType::kClientReregister:
      return IBV_EVENT_CLIENT_REREGISTER;
    case host::AsyncEventType::kDeviceFatal:
      return IBV_EVENT_DEVICE_FATAL;
  }
  return IBV_EVENT_DEVICE_FATAL;
}

ibv_async_event translate(const host::AsyncEvent& event) {
  ibv_async_event out{};
  out.event_type = type_of(event.type);
  if (event.queue != nullptr) {
    out.element.cq = static_cast<Cq*>(event.queue->user())->abi();
  } else if (event.queue_pair != nullptr) {
    out.element.qp = &handle_of(*event.queue_pair).qp_base;
  } else if (event.shared_queue != nullptr) {
    out.element.srq = static_cast<Srq*>(event.shared_queue->user());
  } else if (event.type != host::AsyncEventType::kDeviceFatal) {
    out.element.port_num = event.port;
  }
  return out;
}

}  // namespace

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return guard_pointer([&]() -> ibv_comp_channel* {
    auto channel = std::make_unique<Channel>();
    auto host = host::CompletionChannel::create();
    if (!host) return refuse(host.error());
    channel->host = std::move(*host);
    channel->context = context;
    channel->fd = channel->host->fd();
    return channel.release();
  });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (std::atomic_ref<int>(channel->refcnt).load(std::memory_order_acquire) != 0) {
    return report(EBUSY);
  }
  const std::unique_ptr<Channel> gone(&Channel::of(channel));
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  const auto queue = Channel::of(channel).host->next_event();
  if (!queue) return minus_one(queue.error());
  Cq& delivered = *static_cast<Cq*>((*queue)->user());
  *cq = delivered.abi();
  *cq_context = delivered.cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int nevents) {
  Cq::of(cq).host->acknowledge_events(nevents);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const auto next = OpenDevice::of(context).host->async_events().next_event();
  if (!next) return minus_one(next.error());
  *event = translate(*next);
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      Cq::of(event->element.cq).host->acknowledge_async_event();
      break;
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      Srq::of(event->element.srq).host->event_acknowledged();
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_SQ_DRAINED:
      Qp::of(event->element.qp).host->event_acknowledged();
      break;
    default:
      break;  // nothing waits for the acknowledgement of an event about the device
  }
}
