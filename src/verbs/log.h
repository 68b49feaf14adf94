// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/log.h"

namespace weft::verbs {

using io::log;
using io::log_level;
using io::LogLevel;
using io::report;

}  // namespace weft::verbs
