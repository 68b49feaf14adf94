// SPDX-License-Identifier: Apache-2.0
#include "daemon/ring_mappings.h"

#include <utility>

namespace weft::daemon {

using carrier::RingMemory;

Expected<RingMappings> RingMappings::map(const io::UniqueFd& ours, const io::UniqueFd& theirs) {
  RingMappings rings;
  auto written = io::SharedMapping::map(ours.get(), sizeof(RingMemory), io::Access::kWrite);
  if (!written) return tl::unexpected(written.error());
  auto read = io::SharedMapping::map(theirs.get(), sizeof(RingMemory), io::Access::kRead);
  if (!read) return tl::unexpected(read.error());
  if (auto done = io::end_writing(ours.get()); !done) return tl::unexpected(done.error());
  if (auto done = io::end_sealing(ours.get()); !done) return tl::unexpected(done.error());
  rings.ours_ = std::move(*written);
  rings.theirs_ = std::move(*read);
  return rings;
}

Expected<RingMappings> RingMappings::make(std::vector<io::UniqueFd>& files) {
  files.clear();
  for (std::size_t i = 0; i < kFiles; ++i) {
    auto file = io::make_shared_file("weft-link", sizeof(RingMemory));
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return map(files[0], files[1]);
}

Expected<RingMappings> RingMappings::take(std::span<const io::UniqueFd> files) {
  if (files.size() != kFiles) return fail(std::errc::bad_message, "not the memory of two rings");
  return map(files[1], files[0]);
}

}  // namespace weft::daemon
