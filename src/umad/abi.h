// SPDX-License-Identifier: Apache-2.0
// The C ABI that this folder provides, from the distribution's public headers. The tree is built
// with hidden visibility; what these declare is what the library exports.
#pragma once

#include <arpa/inet.h>
#include <endian.h>
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#pragma GCC visibility push(default)
// An array without a length, and an anonymous union.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <infiniband/umad.h>
#include <infiniband/umad_str.h>
#pragma GCC diagnostic pop
#pragma GCC visibility pop
