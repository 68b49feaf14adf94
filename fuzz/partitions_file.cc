// SPDX-License-Identifier: Apache-2.0
// Partition files, whatever stands in them: partitions that hold together, or one line that begins
// with the file's name.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "input.h"
#include "sm/partitions.h"

namespace {

using namespace weft;
using namespace weft::sm;
using fuzz::require;

void check_error(const Error& error) {
  require(error.message.starts_with("file:"));
  require(std::count(error.message.begin(), error.message.end(), '\n') == 0);
}

void check_keys(const Partitions& all, const Partition::Port& port) {
  const Partitions::Keys keys = all.keys_of(port);
  std::set<PKey> seen;
  for (const PKey key : keys.all) {
    require((key.value() & 0x7FFF) != 0);
    require(seen.insert(key).second);
  }
  // Nobody is outside of the default partition.
  require(seen.contains(PKey{0x7FFF}) || seen.contains(kDefaultPKey));
  require(!keys.first || seen.contains(*keys.first));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto all = Partitions::parse(text, "file");
  if (!all) {
    check_error(all.error());
    return 0;
  }
  std::set<std::uint16_t> numbers;
  for (const Partition& partition : all->partitions)
    require(partition.number() != 0 && numbers.insert(partition.number()).second);
  std::set<Gid> groups;
  for (const PartitionGroup& group : all->groups) {
    require(group.mgid.bytes()[0] == 0xFF && groups.insert(group.mgid).second);
    require(group.scope == (group.mgid.bytes()[1] & 0x0F));
    require(numbers.contains(static_cast<std::uint16_t>(group.pkey.value() & 0x7FFF)));
  }
  for (const bool both : {false, true}) {
    all->allow_both = both;
    for (const auto type :
         {wire::NodeType::kChannelAdapter, wire::NodeType::kSwitch, wire::NodeType::kRouter}) {
      check_keys(*all, {.guid = Guid{1}, .type = type, .is_manager = both});
    }
  }
  return 0;
}
