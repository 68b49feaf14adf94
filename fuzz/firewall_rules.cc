// SPDX-License-Identifier: Apache-2.0
// Rule files, whatever stands in them: an error of one line that begins with the file's name, or
// rules whose tables say of packets what the rules say one by one.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "firewall_random.h"
#include "input.h"
#include "service/firewall/program.h"

namespace {

using namespace weft;
using namespace weft::service::firewall;
using fuzz::require;

class Recorder : public Program::Matches {
 public:
  void matched(std::uint32_t rule) override { rules.push_back(rule); }
  std::vector<std::uint32_t> rules;
};

// A value of a field that rules look at: of a range, or beside it.
void set_near(MatchKey& key, const Condition& condition, Random& random) {
  const Range& range = condition.ranges[random.below(condition.ranges.size())];
  Wide value = random.chance(0.5) ? range.low : range.high;
  if (random.chance(0.2)) value = value.next();
  if (is_wide(condition.field)) {
    key.set(condition.field, value);
  } else {
    key.set(condition.field, value.low);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto rules = RuleSet::parse(text, "file");
  if (!rules) {
    require(rules.error().message.starts_with("file:"));
    require(std::count(rules.error().message.begin(), rules.error().message.end(), '\n') == 0);
    return 0;
  }
  bool limited = false;
  for (const Chain& chain : rules->chains) {
    for (const Rule& rule : chain.rules)
      limited = limited || rule.limit.has_value();
  }
  auto program = Program::compile(std::move(*rules));
  require(program.has_value());  // so short a file needs no large tables
  LinearEvaluator linear(program->rules());
  Random random(size);
  for (unsigned i = 0; i < 20 && !limited; ++i) {
    MatchKey key = random_key(random);
    for (const Chain& chain : program->rules().chains) {
      for (const Rule& rule : chain.rules) {
        for (const Condition& condition : rule.conditions) {
          if (condition.field != Field::state && random.chance(0.3))
            set_near(key, condition, random);
        }
      }
    }
    const LinearOutcome right = linear.evaluate(key);
    Recorder recorder;
    const Program::Outcome outcome = program->evaluate(key, Time{}, recorder);
    require(outcome.action == right.action && outcome.rule == right.rule);
    require(recorder.rules == right.matched);
  }
  return 0;
}
