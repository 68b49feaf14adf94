// SPDX-License-Identifier: Apache-2.0
// Memory windows (IBA 10.6.7).
#include "verbs/memory_window.h"

#include "verbs/access.h"
#include "verbs/context_operations.h"
#include "verbs/guard.h"

namespace weft::verbs {
namespace {

constexpr unsigned kBindFlags = IBV_SEND_SIGNALED | unsigned{IBV_SEND_FENCE};

}  // namespace

std::optional<hca::WindowBinding> binding_of(const ibv_mw& window, const ibv_mw_bind_info& info) {
  if (info.mr == nullptr && (info.addr != 0 || info.length != 0)) return std::nullopt;
  const auto access = access_of(info.mw_access_flags, kWindowRights);
  if (!access) return std::nullopt;
  hca::WindowBinding binding;
  if (info.mr != nullptr) binding.region_lkey = info.mr->lkey;
  binding.address = info.addr;
  binding.length = info.length;
  binding.access = *access;
  binding.window = RKey{window.rkey};
  return binding;
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  return guard_pointer([&]() -> ibv_mw* {
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refuse(EINVAL);
    auto mw = std::make_unique<Mw>();
    mw->host = Pd::of(pd).host;
    const auto key = mw->host->memory().add_window(
        type == IBV_MW_TYPE_1 ? hca::WindowType::kType1 : hca::WindowType::kType2, pd->handle);
    if (!key) return refuse(key.error());
    mw->host->use_pd(pd->handle);
    mw->context = pd->context;
    mw->pd = pd;
    mw->rkey = key->value();
    mw->handle = key->value();
    mw->type = type;
    return mw.release();
  });
}

int dealloc_mw(ibv_mw* mw) {
  return guard_errno([&] {
    Mw& window = Mw::of(mw);
    // By the key that it was allocated with: the program may have written another into mw->rkey.
    if (const auto gone = window.host->memory().remove_window(RKey{mw->handle}); !gone) {
      return report(gone.error());
    }
    const std::unique_ptr<Mw> owner(&window);
    owner->host->unuse_pd(owner->pd->handle);
    return 0;
  });
}

// The verb for windows of type 1. The new key is drawn now and is in `mw->rkey` on return, as
// programs expect; it is worth something from the completion of the bind on.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  return guard_errno([&] {
    const auto binding = binding_of(*mw, bind->bind_info);
    if (!binding || (bind->send_flags & ~kBindFlags) != 0) return report(EINVAL);
    const auto key = Mw::of(mw).host->memory().draw_window_key(RKey{mw->handle});
    if (!key) return report(key.error());
    hca::SendRequest request;
    request.wr_id = bind->wr_id;
    request.opcode = hca::SendOpcode::kBindWindow;
    request.signaled = (bind->send_flags & IBV_SEND_SIGNALED) != 0;
    request.fence = (bind->send_flags & IBV_SEND_FENCE) != 0;
    request.bind = *binding;
    request.bind.new_key = *key;
    const auto error = static_cast<int>(Qp::of(qp).host->post_send(request, false));
    if (error != 0) return report(error);
    mw->rkey = key->value();
    return 0;
  });
}

}  // namespace weft::verbs
