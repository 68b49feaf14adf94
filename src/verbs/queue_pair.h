// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "verbs/objects.h"

namespace weft::verbs {

// Creates what both ibv_create_qp() and the extended form create; nullptr and errno on failure.
// `attributes` gets the capabilities that the queue pair really has.
std::unique_ptr<Qp> create_queue_pair(ibv_pd* pd, ibv_qp_init_attr& attributes);

// Sets the functions of the work request interface for a queue pair that has a builder.
void install_work_requests(Qp& qp);

}  // namespace weft::verbs
