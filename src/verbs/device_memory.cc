// SPDX-License-Identifier: Apache-2.0
// Device memory: programs that put small hot data into the memory of their adapter find the same
// interface here, with its rules of alignment, and memory of the process behind it.
#include <algorithm>
#include <bit>
#include <cstring>

#include "verbs/context_operations.h"
#include "verbs/guard.h"
#include "verbs/memory_region.h"

namespace weft::verbs {
namespace {

constexpr std::size_t kGranularity = 4;  // bytes: offsets and lengths are multiples of it
constexpr std::uint32_t kMaxLogAlignment = 12;

// Whether [offset, offset + length) is within and aligned.
bool reaches(const DeviceMemory& memory, std::uint64_t offset, std::size_t length) {
  return offset % kGranularity == 0 && length % kGranularity == 0 && offset <= memory.length &&
         length <= memory.length - offset;
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  const DeviceMemory& memory = *Dm::of(dm).memory;
  if (!reaches(memory, offset, length)) return report(EINVAL);
  std::memcpy(memory.bytes.get() + offset, from, length);
  return 0;
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  const DeviceMemory& memory = *Dm::of(dm).memory;
  if (!reaches(memory, offset, length)) return report(EINVAL);
  std::memcpy(to, memory.bytes.get() + offset, length);
  return 0;
}

ibv_dm* wrap(ibv_context* context, std::uint32_t handle, std::shared_ptr<DeviceMemory> memory) {
  auto dm = std::make_unique<Dm>();
  dm->memory = std::move(memory);
  dm->opening = OpenDevice::of(context).opening;
  dm->context = context;
  dm->memcpy_to_dm = copy_to;
  dm->memcpy_from_dm = copy_from;
  dm->handle = handle;
  return dm.release();
}

}  // namespace

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  return guard_pointer([&]() -> ibv_dm* {
    if (attributes->comp_mask != 0 || attributes->length == 0 ||
        attributes->log_align_req > kMaxLogAlignment) {
      return refuse(EINVAL);
    }
    if (attributes->length > kMaxDeviceMemory) return refuse(ENOMEM);
    const std::size_t alignment =
        std::max<std::size_t>(alignof(std::max_align_t), 1U << attributes->log_align_req);
    const std::size_t size = (attributes->length + alignment - 1) / alignment * alignment;
    auto memory = std::make_shared<DeviceMemory>();
    memory->bytes.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, size)));
    if (!memory->bytes) return refuse(ENOMEM);
    std::memset(memory->bytes.get(), 0, size);
    memory->length = attributes->length;
    Opening& opening = *OpenDevice::of(context).opening;
    const std::lock_guard guard(opening.mutex);
    const std::uint32_t handle = opening.next_device_memory++;
    opening.device_memory[handle] = memory;
    return wrap(context, handle, std::move(memory));
  });
}

int free_dm(ibv_dm* dm) {
  return guard_errno([&] {
    Dm& freeing = Dm::of(dm);
    if (freeing.memory->regions.load() != 0) return report(EBUSY);
    const std::unique_ptr<Dm> gone(&freeing);
    if (const auto opening = freeing.opening.lock()) {
      const std::lock_guard guard(opening->mutex);
      opening->device_memory.erase(dm->handle);
    }
    return 0;
  });
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
  const auto& memory = Dm::of(dm).memory;
  // Its address says nothing to the program, so work requests count from the region's beginning.
  if ((access & IBV_ACCESS_ZERO_BASED) == 0) return refuse(EINVAL);
  if (!reaches(*memory, offset, length)) return refuse(EINVAL);
  ibv_mr* const mr = register_region(pd, {memory->bytes.get() + offset, length, 0, access});
  if (mr == nullptr) return nullptr;
  Mr::of(mr).device_memory = memory;
  memory->regions.fetch_add(1);
  mr->addr = nullptr;
  return mr;
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  return guard_pointer([&]() -> ibv_dm* {
    Opening& opening = *OpenDevice::of(context).opening;
    const std::lock_guard guard(opening.mutex);
    const auto known = opening.device_memory.find(handle);
    auto memory = known != opening.device_memory.end() ? known->second.lock() : nullptr;
    if (!memory) return refuse(ENOENT);
    return wrap(context, handle, std::move(memory));
  });
}

void ibv_unimport_dm(ibv_dm* dm) {
  const std::unique_ptr<Dm> gone(&Dm::of(dm));
}
