// SPDX-License-Identifier: Apache-2.0
#include "port/udp/source_choice.h"

#include "io/clock.h"

namespace weft::port {

bool SourceChoice::must_name_source(const hca::Path& path, RoutedSources& sources) {
  if (path.dgid.is_multicast()) return true;
  if (path.sgid != source_ || path.dgid != destination_ || path.scope_id != scope_id_) {
    // A first datagram is not worth the question: the next may be for somebody else.
    source_ = path.sgid;
    destination_ = path.dgid;
    scope_id_ = path.scope_id;
    asked_ = false;
    must_name_ = true;
    return true;
  }
  if (asked_ && ++sends_ % kPerLook != 0) return must_name_;
  if (const Time now = io::now(); !asked_ || now - asked_at_ >= kBelieved) {
    must_name_ = sources.to(path.dgid, path.scope_id, now) != path.sgid;
    asked_ = true;
    asked_at_ = now;
  }
  return must_name_;
}

}  // namespace weft::port
