// SPDX-License-Identifier: Apache-2.0
// Exported verbs that this library does not serve. Each says so by its own convention;
// docs/verbs.md lists them with what will bring them.
#include "verbs/guard.h"
#include "verbs/objects.h"

using namespace weft::verbs;

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
  return refuse(EOPNOTSUPP);
}
