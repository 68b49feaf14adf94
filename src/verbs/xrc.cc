// SPDX-License-Identifier: Apache-2.0
// XRC (IBA annex A14): domains, and the queue pairs that receive for them.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/log.h"
#include "verbs/queue_pair.h"

namespace weft::verbs {
namespace {

// Domains that are named by one file are one, within an opening of the device: another process, or
// a device that is opened twice, has its own. With the opening's mutex held.
std::shared_ptr<XrcDomain> find_or_create(Opening& opening, int fd, int flags) {
  std::shared_ptr<XrcDomain> domain;
  Opening::FileId id{};
  if (fd != -1) {
    struct stat file {};
    if (::fstat(fd, &file) != 0) return refuse(errno);
    id = {file.st_dev, file.st_ino};
    const auto known = opening.xrc_domains.find(id);
    if (known != opening.xrc_domains.end()) domain = known->second.lock();
    if (domain && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return refuse(EEXIST);
    if (!domain && (flags & O_CREAT) == 0) return refuse(ENOENT);
    if (domain) return domain;
  }
  domain = std::make_shared<XrcDomain>(opening.host);
  const auto handle = opening.host->allocate_xrc_domain();
  if (!handle) return refuse(handle.error());
  domain->handle = *handle;
  if (fd != -1) {
    std::erase_if(opening.xrc_domains, [](const auto& entry) { return entry.second.expired(); });
    opening.xrc_domains[id] = domain;
  }
  return domain;
}

// A handle to `target`, with the domain's mutex held.
std::unique_ptr<Qp> make_handle(ibv_context* context, const std::shared_ptr<XrcTarget>& target) {
  auto qp = wrap_queue_pair(context, IBV_QPT_XRC_RECV, target->host);
  qp->target = target;
  qp->qp_base.qp_num = target->host->qpn().value();
  qp->qp_base.handle = qp->qp_base.qp_num;
  qp->qp_base.state = static_cast<ibv_qp_state>(target->host->query().state);
  target->handles.push_back(qp.get());
  target->events_to.store(target->handles.front());
  return qp;
}

}  // namespace

XrcDomain::~XrcDomain() {
  if (handle == 0) return;
  if (const auto released = host->release_xrc_domain(handle); !released) report(released.error());
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes) {
  return guard_pointer([&]() -> ibv_xrcd* {
    constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if (attributes->comp_mask != kNeeded) return refuse(EINVAL);
    if ((attributes->oflags & ~(O_CREAT | O_EXCL)) != 0) return refuse(EINVAL);
    const auto& opening = OpenDevice::of(context).opening;
    auto xrcd = std::make_unique<Xrcd>();
    xrcd->opening = opening;
    const std::lock_guard guard(opening->mutex);
    xrcd->domain = find_or_create(*opening, attributes->fd, attributes->oflags);
    if (!xrcd->domain) return nullptr;
    ++xrcd->domain->opened;
    xrcd->context = context;
    return xrcd.release();
  });
}

// The domain goes when nobody has a handle to it; what is in it must have gone before the last one.
int close_xrcd(ibv_xrcd* xrcd) {
  return guard_errno([&] {
    Xrcd& closing = Xrcd::of(xrcd);
    const auto opening = closing.opening.lock();
    if (!opening) return report(EINVAL);
    const std::lock_guard guard(opening->mutex);
    // Every handle, receive queue and target queue pair holds one reference.
    const bool last_handle = closing.domain->opened == 1;
    if (last_handle && closing.domain.use_count() > 1) return report(EBUSY);
    --closing.domain->opened;
    const std::unique_ptr<Xrcd> gone(&closing);
    return 0;
  });
}

std::unique_ptr<Qp> create_xrc_target(ibv_context* context, ibv_xrcd* xrcd) {
  const auto& domain = Xrcd::of(xrcd).domain;
  auto target = std::make_shared<XrcTarget>();
  target->domain = domain;
  host::QueuePairConfig config;
  config.type = hca::QpType::kXrcTarget;
  config.xrc_domain = domain->handle;
  config.user = target.get();
  auto host = OpenDevice::of(context).host->create_queue_pair(config);
  if (!host) return refuse(host.error());
  target->host = std::move(*host);
  const std::lock_guard guard(domain->mutex);
  domain->targets[target->host->qpn().value()] = target;
  return make_handle(context, target);
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  return guard_pointer([&]() -> ibv_qp* {
    constexpr std::uint32_t kNeeded =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | unsigned{IBV_QP_OPEN_ATTR_TYPE};
    constexpr std::uint32_t kKnown = kNeeded | unsigned{IBV_QP_OPEN_ATTR_CONTEXT};
    if ((attributes->comp_mask & kNeeded) != kNeeded || (attributes->comp_mask & ~kKnown) != 0 ||
        attributes->xrcd == nullptr || attributes->qp_type != IBV_QPT_XRC_RECV) {
      return refuse(EINVAL);
    }
    XrcDomain& domain = *Xrcd::of(attributes->xrcd).domain;
    const std::lock_guard guard(domain.mutex);
    const auto found = domain.targets.find(attributes->qp_num);
    if (found == domain.targets.end()) return refuse(ENOENT);
    auto qp = make_handle(context, found->second.lock());
    if ((attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) {
      qp->qp_base.qp_context = attributes->qp_context;
    }
    return &qp.release()->qp_base;
  });
}

void release_xrc_target(Qp& qp) {
  const std::shared_ptr<XrcTarget> target = qp.target;
  {
    const std::lock_guard guard(target->domain->mutex);
    std::erase(target->handles, &qp);
    if (!target->handles.empty()) {
      target->events_to.store(target->handles.front());
      return;
    }
    target->domain->targets.erase(target->host->qpn().value());
  }
  target->host->destroy();
}

}  // namespace weft::verbs
