// SPDX-License-Identifier: Apache-2.0
#include "rc_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace weft::sim::test {
namespace {

using hca::SendOpcode;

constexpr std::size_t kRedZone = 64;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kLentWindows = 6;  // of an end, to its peer
constexpr std::size_t kOwnWindows = 3;   // that the peer never hears of

std::uint64_t load(Bytes memory, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, memory.data() + offset, kWord);
  return value;
}

void store(std::vector<std::byte>& memory, std::size_t offset, std::uint64_t value) {
  std::memcpy(memory.data() + offset, &value, kWord);
}

class Planner {
 public:
  Planner(Plan& plan, Random random)
      : plan_(plan),
        options_(plan.options),
        windows_(options_.windows && options_.service == hca::QpType::kRc),
        random_(random) {}

  void run() {
    for (int host = 0; host < 2; ++host) {
      Range words = take(host, "shared words", kSharedWords * kWord);
      plan_.hosts[host].shared_words = words;
      for (std::size_t i = 0; i < options_.connections; ++i)
        plan_.ends[host].push_back(make_end(host, i));
    }
    for (auto& host : plan_.hosts)
      host.expected = host.initial;
    for (std::size_t i = 0; i < options_.connections; ++i) {
      program(0, i);
      if (options_.both_ways) program(1, i);
    }
  }

 private:
  // New memory between red zones, all of random content.
  Range take(int host, const std::string& name, std::size_t length) {
    HostPlan& plan = plan_.hosts[host];
    const std::size_t offset = plan.initial.size() + kRedZone;
    plan.areas.emplace_back(name, Range{offset, length});
    const std::size_t end = (offset + length + kRedZone + kWord - 1) / kWord * kWord;
    for (std::size_t at = plan.initial.size(); at < end; at += kWord) {
      plan.initial.resize(at + kWord);
      store(plan.initial, at, random_.next());
    }
    // Memory that is taken once the programs are being made.
    if (!plan.expected.empty()) {
      plan.expected.insert(plan.expected.end(),
                           plan.initial.begin() + static_cast<std::ptrdiff_t>(plan.expected.size()),
                           plan.initial.end());
    }
    return {offset, length};
  }

  [[nodiscard]] std::size_t longest() const {
    return std::max<std::size_t>(options_.longest, options_.longest_rare);
  }
  [[nodiscard]] std::size_t area_size() const { return longest() + 4096; }

  EndPlan make_end(int host, std::size_t i) {
    EndPlan end;
    end.source = take(host, fmt::format("source {}", i), area_size());
    end.target = take(host, fmt::format("target {}", i), area_size());
    end.words = take(host, fmt::format("words {}", i), kWords * kWord);
    if (!windows_) return end;
    for (std::size_t n = 0; n < kLentWindows + kOwnWindows; ++n) {
      const std::size_t cut = random_.below(area_size() - longest() + 1);
      const std::size_t from = random_.below(cut + 1);
      // Those of the first host, whose program is made first, are bound by that.
      const bool bound = host == 1 && n < kLentWindows;
      end.windows.push_back({.range = {end.target.offset + from, end.target.length - cut},
                             .bound_at_start = bound,
                             .bound_at_end = bound});
    }
    return end;
  }

  std::uint64_t some_length() {
    if (options_.longest_rare != 0 && random_.chance(0.05)) {
      return random_.between(options_.longest, options_.longest_rare);
    }
    switch (random_.below(6)) {
      case 0:
        return random_.below(9);
      case 1: {  // around the borders of packets
        const std::uint64_t packets = random_.below(options_.longest / options_.mtu + 1);
        const std::uint64_t length = packets * options_.mtu + random_.below(9);
        return std::min<std::uint64_t>(length < 4 ? 0 : length - 4, options_.longest);
      }
      case 2:
        return random_.below(options_.longest + 1);
      default:
        return random_.below(std::min(options_.longest, options_.mtu) + 1);
    }
  }

  SendOpcode some_opcode() {
    if (options_.service == hca::QpType::kUc) {
      return random_.chance(0.6) ? SendOpcode::kSendWithImmediate
                                 : SendOpcode::kRdmaWriteWithImmediate;
    }
    if (windows_ && random_.chance(0.2)) return window_opcode();
    constexpr SendOpcode kPlain[] = {SendOpcode::kSend, SendOpcode::kSendWithImmediate,
                                     SendOpcode::kRdmaWrite, SendOpcode::kRdmaWriteWithImmediate};
    constexpr SendOpcode kReading[] = {SendOpcode::kRdmaRead, SendOpcode::kRdmaRead,
                                       SendOpcode::kCompareSwap, SendOpcode::kFetchAdd};
    return options_.reads && random_.chance(0.4) ? kReading[random_.below(4)]
                                                 : kPlain[random_.below(4)];
  }

  // What may come next in the lives of the windows; else a message.
  SendOpcode window_opcode() {
    switch (random_.below(3)) {
      case 0:
        return lent_.empty() ? SendOpcode::kSend : SendOpcode::kSendWithInvalidate;
      case 1:
        return own_bound_.empty() ? SendOpcode::kSend : SendOpcode::kLocalInvalidate;
      default:
        return to_bind_.empty() ? SendOpcode::kSend : SendOpcode::kBindWindow;
    }
  }

  std::size_t take_one(std::vector<std::size_t>& from) {
    const std::size_t place = random_.below(from.size());
    const std::size_t taken = from[place];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
    return taken;
  }

  // A range of `length` bytes within `area`.
  Range somewhere(const Range& area, std::size_t length) {
    return {area.offset + random_.below(area.length - length + 1), length};
  }

  // Pieces that make up `length` bytes, each at another place of `area`.
  std::vector<Range> gather(const Range& area, std::size_t length) {
    std::vector<Range> pieces;
    const std::uint64_t count = random_.below(options_.max_pieces) + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t part = i + 1 == count ? length : random_.below(length + 1);
      pieces.push_back(somewhere(area, part));
      length -= part;
    }
    return pieces;
  }

  // One range of new memory, in pieces.
  std::vector<Range> scatter(int host, const std::string& name, std::size_t length) {
    std::vector<Range> pieces;
    std::uint64_t count = random_.below(options_.max_pieces) + 1;
    for (; count > 0; --count) {
      const std::size_t part = count == 1 ? length : random_.below(length + 1);
      pieces.push_back(take(host, name, part));
      length -= part;
    }
    return pieces;
  }

  [[nodiscard]] std::vector<std::byte> bytes_of(int host, const std::vector<Range>& pieces) const {
    std::vector<std::byte> all;
    for (const Range& piece : pieces) {
      const auto from =
          plan_.hosts[host].expected.begin() + static_cast<std::ptrdiff_t>(piece.offset);
      all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(piece.length));
    }
    return all;
  }

  void put(int host, const std::vector<Range>& pieces, Bytes bytes) {
    for (const Range& piece : pieces) {
      const std::size_t part = std::min(piece.length, bytes.size());
      if (part != 0) {
        std::memcpy(plan_.hosts[host].expected.data() + piece.offset, bytes.data(), part);
      }
      bytes = bytes.subspan(part);
    }
  }

  void program(int host, std::size_t i) {
    reads_since_fence_.clear();
    window_reads_.clear();
    lent_.clear();
    own_bound_.clear();
    to_bind_.clear();
    const std::vector<Window>& theirs = plan_.ends[1 - host][i].windows;
    const std::size_t heard = plan_.ends[host][i].arrivals.size();
    for (std::size_t n = 0; n < theirs.size(); ++n)
      if (theirs[n].bound_at_end && n < kLentWindows && theirs[n].announced <= heard) {
        lent_.push_back(n);
      }
    const std::vector<Window>& mine = plan_.ends[host][i].windows;
    for (std::size_t n = 0; n < mine.size(); ++n)
      if (host == 0 || n >= kLentWindows) to_bind_.push_back(n);
    for (std::uint64_t n = 0; n < options_.messages; ++n)
      plan_.ends[host][i].operations.push_back(operation(host, i, n));
    // So that the end of the program can be seen.
    plan_.ends[host][i].operations.back().signaled = true;
  }

  Operation operation(int host, std::size_t i, std::uint64_t n) {
    Operation op;
    op.opcode = some_opcode();
    op.signaled = random_.chance(options_.signaled);
    op.solicited = random_.chance(0.3);
    op.fence = options_.reads && random_.chance(0.1);
    switch (op.opcode) {
      case SendOpcode::kRdmaRead:
        op.solicited = false;
        read(host, i, op);
        break;
      case SendOpcode::kCompareSwap:
      case SendOpcode::kFetchAdd:
        op.solicited = false;
        atomic(host, i, op);
        break;
      case SendOpcode::kBindWindow:
      case SendOpcode::kLocalInvalidate:
        op.solicited = false;
        act_on_own_window(host, i, op);
        break;
      default:
        send_or_write(host, i, n, op);
        break;
    }
    if (op.fence) window_reads_.clear();
    if (op.opcode == SendOpcode::kRdmaRead && op.window) window_reads_.push_back(*op.window);
    if (op.fence) {
      const bool reads = op.opcode == SendOpcode::kRdmaRead;
      reads_since_fence_.erase(reads_since_fence_.begin(), reads_since_fence_.end() - reads);
    }
    return op;
  }

  // A read may be carried out again as long as it is not complete, after later writes (IBA 9.4.5
  // promises nothing else without a fence).
  void fence_after_reads(Operation& op, const Range& written) {
    for (const Range& read : reads_since_fence_) {
      if (read.offset < written.offset + written.length &&
          written.offset < read.offset + read.length) {
        op.fence = true;
      }
    }
  }

  void act_on_own_window(int host, std::size_t i, Operation& op) {
    const bool binds = op.opcode == SendOpcode::kBindWindow;
    EndPlan& mine = plan_.ends[host][i];
    op.window = take_one(binds ? to_bind_ : own_bound_);
    Window& window = mine.windows[*op.window];
    window.bound_at_end = binds;
    window.announced = plan_.ends[1 - host][i].arrivals.size() + 1;
    if (!binds) {
      to_bind_.push_back(*op.window);
    } else if (*op.window >= kLentWindows) {
      own_bound_.push_back(*op.window);
    }
  }

  // After the reads of it: one that is not complete may be carried out again, and would fail then.
  void take_back(int host, std::size_t i, Operation& op) {
    op.window = take_one(lent_);
    Window& window = plan_.ends[1 - host][i].windows[*op.window];
    window.bound_at_end = false;
    op.after_arrivals = window.announced;
    if (std::count(window_reads_.begin(), window_reads_.end(), *op.window) != 0) op.fence = true;
  }

  // The part of the peer's target that it is to touch, through a window or without one.
  Range place_for(int host, std::size_t i, Operation& op) {
    const EndPlan& theirs = plan_.ends[1 - host][i];
    if (lent_.empty() || random_.chance(0.5)) return theirs.target;
    op.window = lent_[random_.below(lent_.size())];
    op.after_arrivals = theirs.windows[*op.window].announced;
    return theirs.windows[*op.window].range;
  }

  void send_or_write(int host, std::size_t i, std::uint64_t n, Operation& op) {
    EndPlan& mine = plan_.ends[host][i];
    EndPlan& theirs = plan_.ends[1 - host][i];
    op.length = some_length();
    op.inline_data = op.length <= options_.max_inline && random_.chance(0.5);
    op.pieces = gather(mine.source, op.length);
    if (op.opcode == SendOpcode::kSendWithInvalidate) take_back(host, i, op);
    op.immediate = static_cast<std::uint32_t>(n);
    const bool write =
        op.opcode == SendOpcode::kRdmaWrite || op.opcode == SendOpcode::kRdmaWriteWithImmediate;
    const bool immediate = op.opcode == SendOpcode::kSendWithImmediate ||
                           op.opcode == SendOpcode::kRdmaWriteWithImmediate;
    const std::vector<std::byte> content = bytes_of(host, op.pieces);
    if (write) {
      const Range to = somewhere(place_for(host, i, op), op.length);
      fence_after_reads(op, to);
      op.remote = to.offset;
      put(1 - host, {to}, content);
      if (!immediate) {
        op.solicited = false;
        return;
      }
    }
    theirs.arrivals.push_back({.opcode = write ? hca::CompletionOpcode::kReceiveRdmaWithImmediate
                                               : hca::CompletionOpcode::kReceive,
                               .with_immediate = immediate,
                               .solicited = op.solicited,
                               .immediate = op.immediate,
                               .length = op.length,
                               .source = op.pieces,
                               .invalidated = write ? std::nullopt : op.window});
    // Where any message may end up in any receive, all of them have room for the longest.
    const bool any = options_.shared_receives || options_.service == hca::QpType::kUc;
    const std::size_t room = any ? longest() : op.length + random_.below(100);
    std::vector<Receive>& receives =
        options_.shared_receives ? plan_.hosts[1 - host].shared_receives : theirs.receives;
    receives.push_back(
        {scatter(1 - host, fmt::format("receive {} of {}", receives.size(), i), room)});
    if (!write && !options_.shared_receives) put(1 - host, receives.back().pieces, content);
  }

  void read(int host, std::size_t i, Operation& op) {
    op.length = some_length();
    op.pieces = scatter(host, fmt::format("read result of {}", i), op.length);
    const Range from = somewhere(place_for(host, i, op), op.length);
    op.remote = from.offset;
    put(host, op.pieces, bytes_of(1 - host, {from}));
    reads_since_fence_.push_back(from);
  }

  void atomic(int host, std::size_t i, Operation& op) {
    op.length = kWord;
    op.pieces = {take(host, fmt::format("atomic result of {}", i), kWord)};
    op.shared = random_.chance(0.4);
    if (op.shared) return shared_atomic(host, op);
    std::vector<std::byte>& memory = plan_.hosts[1 - host].expected;
    op.remote = plan_.ends[1 - host][i].words.offset + random_.below(kWords) * kWord;
    const std::uint64_t before = load(memory, op.remote);
    if (op.opcode == SendOpcode::kFetchAdd) {
      op.compare_add = random_.next();
      store(memory, op.remote, before + op.compare_add);
    } else {
      op.compare_add = random_.chance(0.7) ? before : random_.next();
      op.swap = random_.next();
      if (op.compare_add == before) store(memory, op.remote, op.swap);
    }
    store(plan_.hosts[host].expected, op.pieces[0].offset, before);
  }

  void shared_atomic(int host, Operation& op) {
    const HostPlan& theirs = plan_.hosts[1 - host];
    const bool add = op.opcode == SendOpcode::kFetchAdd;
    const std::size_t word = random_.below(kSharedWords / 2) + (add ? 0 : kSharedWords / 2);
    op.remote = theirs.shared_words.offset + word * kWord;
    if (add) {
      op.compare_add = random_.between(1, 1u << 20);
      return;
    }
    // A value that the word has at the start, or will have if an earlier swap succeeds.
    auto& values = swapped_[1 - host][word];
    if (values.empty()) values.push_back(load(theirs.initial, op.remote));
    op.compare_add =
        values[values.size() - 1 - random_.below(std::min<std::size_t>(values.size(), 2))];
    op.swap = random_.next();
    values.push_back(op.swap);
  }

  Plan& plan_;
  const PlanOptions& options_;
  const bool windows_;
  Random random_;
  std::vector<Range> reads_since_fence_;
  std::vector<std::size_t> window_reads_;  // since a fence, the peer's windows that were read
  std::vector<std::size_t> lent_;          // the peer's windows that may be used
  std::vector<std::size_t> own_bound_;     // own ones that the peer does not hear of
  std::vector<std::size_t> to_bind_;       // own ones that are bound to nothing
  std::map<std::size_t, std::vector<std::uint64_t>> swapped_[2];
};

// The adds on one word, by what they found: each found what the one before it had left.
std::string check_adds(std::multimap<std::uint64_t, std::uint64_t> by_original,
                       std::uint64_t initial, std::uint64_t final) {
  std::uint64_t value = initial;
  while (!by_original.empty()) {
    const auto found = by_original.find(value);
    if (found == by_original.end()) {
      return fmt::format("{} adds remain, but none found {:#x}", by_original.size(), value);
    }
    value += found->second;
    by_original.erase(found);
  }
  if (value == final) return {};
  return fmt::format("the adds make {:#x}, the word holds {:#x}", value, final);
}

struct Swap {
  std::uint64_t original, compare, swap;
};

std::string check_swaps(const std::vector<Swap>& swaps, std::uint64_t initial,
                        std::uint64_t final) {
  std::map<std::uint64_t, std::uint64_t> done;
  for (const Swap& swap : swaps) {
    if (swap.original == swap.compare && !done.emplace(swap.compare, swap.swap).second) {
      return fmt::format("two swaps found {:#x}", swap.compare);
    }
  }
  std::vector<std::uint64_t> held{initial};
  while (done.count(held.back()) != 0)
    held.push_back(done[held.back()]);
  if (held.size() != done.size() + 1) return "swaps that succeeded do not form a chain";
  if (held.back() != final) {
    return fmt::format("the swaps make {:#x}, the word holds {:#x}", held.back(), final);
  }
  for (const Swap& swap : swaps) {
    if (std::find(held.begin(), held.end(), swap.original) == held.end()) {
      return fmt::format("a swap found {:#x}, which was never there", swap.original);
    }
  }
  return {};
}

}  // namespace

Plan::Plan(Random random, const PlanOptions& with) : options(with) {
  Planner(*this, random).run();
}

std::string where(const HostPlan& host, std::size_t offset) {
  for (const auto& [name, range] : host.areas) {
    if (offset >= range.offset && offset < range.offset + range.length) {
      return fmt::format("byte {} of {} of '{}'", offset - range.offset, range.length, name);
    }
  }
  return fmt::format("offset {}, in a red zone", offset);
}

std::string check_shared_words(Plan& plan, Bytes memory0, Bytes memory1) {
  const Bytes memory[2] = {memory0, memory1};
  std::map<std::size_t, std::multimap<std::uint64_t, std::uint64_t>> adds[2];
  std::map<std::size_t, std::vector<Swap>> swaps[2];
  for (int host = 0; host < 2; ++host) {
    for (const EndPlan& end : plan.ends[host]) {
      for (const Operation& op : end.operations) {
        if (!op.shared) continue;
        const std::uint64_t original = load(memory[host], op.pieces[0].offset);
        store(plan.hosts[host].expected, op.pieces[0].offset, original);
        if (op.opcode == SendOpcode::kFetchAdd) {
          adds[1 - host][op.remote].emplace(original, op.compare_add);
        } else {
          swaps[1 - host][op.remote].push_back({original, op.compare_add, op.swap});
        }
      }
    }
  }
  for (int host = 0; host < 2; ++host) {
    HostPlan& mine = plan.hosts[host];
    for (std::size_t word = 0; word < kSharedWords; ++word) {
      const std::size_t at = mine.shared_words.offset + word * kWord;
      const std::uint64_t initial = load(mine.initial, at);
      const std::uint64_t final = load(memory[host], at);
      store(mine.expected, at, final);
      const std::string wrong = word < kSharedWords / 2
                                    ? check_adds(adds[host][at], initial, final)
                                    : check_swaps(swaps[host][at], initial, final);
      if (!wrong.empty()) return fmt::format("host {}, shared word {}: {}", host, word, wrong);
    }
  }
  return {};
}

}  // namespace weft::sim::test
