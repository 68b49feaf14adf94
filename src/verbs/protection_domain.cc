// SPDX-License-Identifier: Apache-2.0
// Protection domains, and the parent and thread domains that programs may wrap them in.
#include "verbs/context_operations.h"
#include "verbs/guard.h"

using namespace weft;
using namespace weft::verbs;

namespace {

Pd* make_domain(ibv_context* context, hca::PdHandle handle) {
  auto pd = std::make_unique<Pd>();
  pd->opening = OpenDevice::of(context).opening;
  pd->host = OpenDevice::of(context).host;
  pd->context = context;
  pd->handle = handle;
  return pd.release();
}

}  // namespace

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return guard_pointer([&]() -> ibv_pd* {
    const auto& opening = OpenDevice::of(context).opening;
    const auto handle = opening->host->allocate_pd();
    if (!handle) return refuse(handle.error());
    const std::lock_guard guard(opening->mutex);
    opening->protection_domains.insert(*handle);
    return make_domain(context, *handle);
  });
}

int ibv_dealloc_pd(ibv_pd* pd) {
  return guard_errno([&] {
    Pd& domain = Pd::of(pd);
    if (domain.parent) {
      domain.host->unuse_pd(pd->handle);
    } else {
      if (const auto released = domain.host->release_pd(pd->handle); !released) {
        return report(released.error());
      }
      if (const auto opening = domain.opening.lock()) {
        const std::lock_guard guard(opening->mutex);
        opening->protection_domains.erase(pd->handle);
      }
    }
    const std::unique_ptr<Pd> gone(&domain);
    return 0;
  });
}

// The same domain once more: it goes with ibv_dealloc_pd() of one of the two.
ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  return guard_pointer([&]() -> ibv_pd* {
    Opening& opening = *OpenDevice::of(context).opening;
    const std::lock_guard guard(opening.mutex);
    if (!opening.protection_domains.contains(handle)) return refuse(ENOENT);
    return make_domain(context, handle);
  });
}

void ibv_unimport_pd(ibv_pd* pd) {
  const std::unique_ptr<Pd> gone(&Pd::of(pd));
}

namespace weft::verbs {

// Locks here are short and per queue, so knowing that one thread alone uses an object saves
// nothing.
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  return guard_pointer([&]() -> ibv_td* {
    if (attributes->comp_mask != 0) return refuse(EINVAL);
    auto td = std::make_unique<Td>();
    td->context = context;
    return td.release();
  });
}

int dealloc_td(ibv_td* td) {
  const std::unique_ptr<Td> gone(&Td::of(td));
  return 0;
}

// A program's allocators are for buffers that a device reads. There are none here, so they are
// accepted and never called.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  return guard_pointer([&]() -> ibv_pd* {
    constexpr std::uint32_t kKnown =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | unsigned{IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT};
    if ((attributes->comp_mask & ~kKnown) != 0 || attributes->pd == nullptr) return refuse(EINVAL);
    if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0 &&
        (attributes->alloc == nullptr || attributes->free == nullptr)) {
      return refuse(EINVAL);
    }
    Pd* const pd = make_domain(context, attributes->pd->handle);
    pd->parent = true;
    pd->host->use_pd(pd->handle);
    return pd;
  });
}

}  // namespace weft::verbs
