#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rxe.sh [ARGUMENT OF rxe/rxe_test.py ...]: against the Linux kernel's rdma_rxe in a guest.
set -euo pipefail
source "$(dirname "$0")/rxe_lib.sh"
with_guests "$0" rxe_test.py "$@"
