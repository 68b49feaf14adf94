// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hca/raw_rule.h"

namespace weft::fabric {

using hca::Everything;
using hca::OtherGids;
using hca::OtherLids;
using hca::RawRule;

}  // namespace weft::fabric
