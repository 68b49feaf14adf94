// SPDX-License-Identifier: Apache-2.0
// Protection domains, and the parent and thread domains that programs may wrap them in.
#include "verbs/context_operations.h"
#include "verbs/guard.h"

using namespace weft;
using namespace weft::verbs;

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return guard_pointer([&]() -> ibv_pd* {
    auto pd = std::make_unique<Pd>();
    pd->host = OpenDevice::of(context).host;
    const auto handle = pd->host->allocate_pd();
    if (!handle) return refuse(handle.error());
    pd->context = context;
    pd->handle = *handle;
    return pd.release();
  });
}

int ibv_dealloc_pd(ibv_pd* pd) {
  return guard_errno([&] {
    Pd& domain = Pd::of(pd);
    if (domain.parent) {
      domain.host->unuse_pd(pd->handle);
    } else if (const auto released = domain.host->release_pd(pd->handle); !released) {
      return report(released.error());
    }
    const std::unique_ptr<Pd> gone(&domain);
    return 0;
  });
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
    auto pd = std::make_unique<Pd>();
    pd->host = Pd::of(attributes->pd).host;
    pd->context = context;
    pd->handle = attributes->pd->handle;
    pd->parent = true;
    pd->host->use_pd(pd->handle);
    return pd.release();
  });
}

}  // namespace weft::verbs
