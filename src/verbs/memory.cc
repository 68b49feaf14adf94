// SPDX-License-Identifier: Apache-2.0
// Memory regions. Nothing is pinned: a page is looked at when it is used, which is what on-demand
// paging promises.
#include <algorithm>
#include <span>

#include "verbs/access.h"
#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/memory_region.h"

namespace weft::verbs {
namespace {

// ibv_reg_mr(pd, NULL, SIZE_MAX, ON_DEMAND) asks for a region of all that the process has or will
// have mapped, its "implicit" region: from the first page that can be mapped to the end of what a
// program gets without asking for more (47 bits on x86-64).
constexpr std::uintptr_t kFirstPage = 4096;
constexpr std::uintptr_t kUserSpaceEnd = std::uintptr_t{1} << 47;

bool is_implicit(const RegionRequest& request) {
  return request.address == nullptr && request.length == SIZE_MAX;
}
RegionRequest whole_address_space(unsigned access) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the first address that a program can map
  return {reinterpret_cast<void*>(kFirstPage), kUserSpaceEnd - kFirstPage, kFirstPage, access};
}

}  // namespace

ibv_mr* register_region(ibv_pd* pd, const RegionRequest& request) {
  return guard_pointer([&]() -> ibv_mr* {
    const bool implicit = is_implicit(request);
    if (implicit && (request.access & IBV_ACCESS_ON_DEMAND) == 0) return refuse(EINVAL);
    const RegionRequest real = implicit ? whole_address_space(request.access) : request;
    const auto access = access_of(request.access, kRegionRights);
    if (!access) return refuse(EINVAL);
    auto mr = std::make_unique<Mr>();
    mr->host = Pd::of(pd).host;
    auto region =
        mr->host->register_memory(pd->handle, real.address, real.length, real.iova, *access);
    if (!region) return refuse(region.error());
    mr->context = pd->context;
    mr->pd = pd;
    mr->handle = region->key;
    mr->lkey = region->key;
    mr->rkey = region->key;
    mr->region = *region;
    mr->addr = request.address;
    mr->length = request.length;
    return mr.release();
  });
}

// A program that says which pages it will need soon: they are touched when they are used. Those
// that it names must be of its own regions all the same.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t, ibv_sge* list,
              std::uint32_t count) {
  return guard_errno([&] {
    if (static_cast<unsigned>(advice) > unsigned{IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}) {
      return report(EOPNOTSUPP);
    }
    const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    hca::RegionPin pin(Pd::of(pd).host->memory());
    for (const ibv_sge& sge : std::span(list, count)) {
      const std::uint32_t access = write ? std::uint32_t{hca::kLocalWrite} : 0U;
      if (pin.resolve(sge.lkey, pd->handle, sge.addr, sge.length, access) == nullptr) {
        return report(EFAULT);
      }
    }
    return 0;
  });
}

}  // namespace weft::verbs

using namespace weft;
using namespace weft::verbs;

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return register_region(
      pd, {addr, length, reinterpret_cast<std::uintptr_t>(addr), static_cast<unsigned>(access)});
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  return register_region(pd, {addr, length, iova, static_cast<unsigned>(access)});
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                         unsigned int access) {
  return register_region(pd, {addr, length, iova, access});
}

// What is refused leaves the region as it was: IBV_REREG_MR_ERR_INPUT says so.
int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  const int error = guard_errno([&] {
    constexpr int kKnown = IBV_REREG_MR_FLAGS_SUPPORTED;
    if (flags == 0 || (flags & ~kKnown) != 0) return report(EINVAL);
    Mr& region = Mr::of(mr);
    const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    const bool other_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
    hca::RegionChange change;
    if (moves) {
      if (length == 0 || addr == nullptr || region.device_memory != nullptr) return report(EINVAL);
      change.range = {static_cast<std::byte*>(addr), reinterpret_cast<std::uintptr_t>(addr),
                      length};
    }
    if (other_pd) {
      if (pd == nullptr) return report(EINVAL);
      change.pd = pd->handle;
    }
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
      change.access = access_of(static_cast<unsigned>(access), kRegionRights);
      if (!change.access) return report(EINVAL);
    }
    if (other_pd) region.host->use_pd(pd->handle);
    const auto changed = region.host->memory().change(mr->lkey, change);
    if (!changed) {
      if (other_pd) region.host->unuse_pd(pd->handle);
      return report(changed.error());
    }
    if (other_pd) {
      region.host->unuse_pd(region.region.pd);
      mr->pd = pd;
    }
    region.region = *changed;
    if (moves) {
      mr->addr = addr;
      mr->length = length;
    }
    return 0;
  });
  return error != 0 ? IBV_REREG_MR_ERR_INPUT : 0;
}

int ibv_dereg_mr(ibv_mr* mr) {
  return guard_errno([&] {
    Mr& region = Mr::of(mr);
    if (const auto gone = region.host->deregister_memory(region.region); !gone) {
      return report(gone.error());
    }
    const std::unique_ptr<Mr> owner(&region);
    if (owner->device_memory) owner->device_memory->regions.fetch_sub(1);
    return 0;
  });
}

// The region that a handle names, once more. Its address is not known to whoever imports it.
ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  return guard_pointer([&]() -> ibv_mr* {
    const auto regions = Pd::of(pd).host->memory().snapshot();
    const auto found = std::ranges::find(regions, handle, &hca::MemoryRegion::key);
    if (found == regions.end() || found->pd != pd->handle) return refuse(ENOENT);
    auto mr = std::make_unique<Mr>();
    mr->host = Pd::of(pd).host;
    mr->region = *found;
    mr->context = pd->context;
    mr->pd = pd;
    mr->length = static_cast<std::size_t>(found->length);
    mr->handle = handle;
    mr->lkey = handle;
    mr->rkey = handle;
    return mr.release();
  });
}

void ibv_unimport_mr(ibv_mr* mr) {
  const std::unique_ptr<Mr> gone(&Mr::of(mr));
}
