#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rxe_sites.sh: two machines with rdma_rxe, in guests, at two sites that extenders join.
set -euo pipefail
source "$(dirname "$0")/rxe_lib.sh"
with_guests "$0" sites_test.py
