// SPDX-License-Identifier: Apache-2.0
// Protection domains and memory regions.
#include "verbs/guard.h"
#include "verbs/objects.h"

using namespace weft;
using namespace weft::verbs;

namespace {

static_assert(static_cast<int>(hca::kLocalWrite) == IBV_ACCESS_LOCAL_WRITE);
static_assert(static_cast<int>(hca::kRemoteWrite) == IBV_ACCESS_REMOTE_WRITE);
static_assert(static_cast<int>(hca::kRemoteRead) == IBV_ACCESS_REMOTE_READ);
static_assert(static_cast<int>(hca::kRemoteAtomic) == IBV_ACCESS_REMOTE_ATOMIC);
static_assert(static_cast<int>(hca::kWindowBind) == IBV_ACCESS_MW_BIND);

constexpr unsigned kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
// A hint about page size: pages are not looked at here.
constexpr unsigned kHints = unsigned{IBV_ACCESS_HUGETLB} | unsigned{IBV_ACCESS_OPTIONAL_RANGE};

ibv_mr* register_region(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                        unsigned access) {
  return guard_pointer([&]() -> ibv_mr* {
    access &= ~kHints;
    if ((access & IBV_ACCESS_ON_DEMAND) != 0) return refuse(EOPNOTSUPP);
    const bool zero_based = (access & IBV_ACCESS_ZERO_BASED) != 0;
    access &= ~static_cast<unsigned>(IBV_ACCESS_ZERO_BASED);
    if ((access & ~kRights) != 0) return refuse(EINVAL);

    auto mr = std::make_unique<Mr>();
    mr->host = Pd::of(pd).host;
    auto region =
        mr->host->register_memory(pd->handle, address, length, zero_based ? 0 : iova, access);
    if (!region) return refuse(region.error());
    mr->region = *region;
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = address;
    mr->length = length;
    mr->handle = region->key;
    mr->lkey = region->key;
    mr->rkey = region->key;
    return mr.release();
  });
}

}  // namespace

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
    if (const auto released = Pd::of(pd).host->release_pd(pd->handle); !released) {
      return report(released.error());
    }
    const std::unique_ptr<Pd> gone(&Pd::of(pd));
    return 0;
  });
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return register_region(pd, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  return register_region(pd, addr, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                         unsigned int access) {
  return register_region(pd, addr, length, iova, access);
}

int ibv_dereg_mr(ibv_mr* mr) {
  return guard_errno([&] {
    Mr& region = Mr::of(mr);
    if (const auto gone = region.host->deregister_memory(region.region); !gone) {
      return report(gone.error());
    }
    const std::unique_ptr<Mr> owner(&region);
    return 0;
  });
}
