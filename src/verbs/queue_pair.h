// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "verbs/objects.h"

namespace weft::verbs {

// Creates what both ibv_create_qp() and the extended form create, but for XRC targets; nullptr and
// errno on failure. `attributes` gets the capabilities that the queue pair really has.
std::unique_ptr<Qp> create_queue_pair(ibv_pd* pd, ibv_qp_init_attr& attributes);

// A queue pair around `host`, for the program to hold.
std::unique_ptr<Qp> wrap_queue_pair(ibv_context* context, ibv_qp_type type,
                                    std::shared_ptr<host::QueuePair> host);

// The operations of the work request interface that a queue pair of this type has:
// IBV_QP_EX_WITH_*.
std::uint64_t send_operations(ibv_qp_type type);
// Sets the functions of the work request interface for a queue pair that has a builder.
void install_work_requests(Qp& qp, std::uint64_t operations);

// XRC targets: one more handle goes to, or one handle leaves, the queue pair of a domain.
std::unique_ptr<Qp> create_xrc_target(ibv_context* context, ibv_xrcd* xrcd);
void release_xrc_target(Qp& qp);

// The handle that an asynchronous event of `queue_pair` names.
Qp& handle_of(host::QueuePair& queue_pair);

}  // namespace weft::verbs
