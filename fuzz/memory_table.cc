// SPDX-License-Identifier: Apache-2.0
// Regions and windows registered, changed, bound, invalidated and looked up in any order, beside a
// model of them that searches lists. Whatever the table says must be what the model says, and keys
// must name one thing only.
#include "hca/memory_table.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::hca;
using fuzz::Input;
using fuzz::require;

constexpr std::uint32_t kRemote = kRemoteRead | kRemoteWrite | kRemoteAtomic;
constexpr std::errc kInvalid = std::errc::invalid_argument;
constexpr std::errc kBusy = std::errc::device_or_resource_busy;

struct Region {
  MemoryRegion is;
  bool alive = true;
};

struct Window {
  RKey any_key;
  WindowType type{};
  PdHandle pd = 0;
  bool alive = true;
  bool bound = false;
  RKey key{};
  Qpn qpn{};
  std::size_t region = 0;  // index
  std::uint64_t address = 0;
  std::uint64_t first = 0;  // the address that peers use for it
  std::uint64_t length = 0;
  std::uint32_t access = 0;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {}

  void step() {
    switch (input_.one_of(12)) {
      case 0:
        return add();
      case 1:
        return remove();
      case 2:
        return change();
      case 3:
        return add_window();
      case 4:
        return remove_window();
      case 5:
      case 6:
        return bind();
      case 7:
        return invalidate();
      case 8:
        return input_.rarely() ? forget_queue_pair() : held_.release();
      default:
        return look_up();
    }
  }

  void finish() {
    held_.release();
    for (Window& window : windows_) {
      if (!window.alive) continue;
      require(table_.remove_window(window.any_key).has_value());
      window.alive = window.bound = false;
    }
    for (const Region& region : regions_) {
      if (!region.alive) continue;
      require(table_.remove(region.is.key).has_value());
    }
    require(table_.size() == 0 && table_.window_count() == 0);
  }

 private:
  static bool fits(const MemoryRegion& r) {
    const std::uint64_t base = std::bit_cast<std::uintptr_t>(r.base);
    const bool wraps = r.iova + r.length < r.iova || base + r.length < base;
    const bool rights =
        (r.access & (kRemoteWrite | kRemoteAtomic)) == 0 || (r.access & kLocalWrite) != 0;
    return !wraps && rights && r.access < 1u << 6;
  }
  PdHandle pd() { return input_.byte() >= 0xE0 ? 2 : 1; }
  Qpn qpn() { return Qpn{input_.byte() >= 0xC0 ? 6u : 5u}; }
  // Mostly what lets something happen.
  std::uint32_t access() {
    const std::uint8_t which = input_.byte();
    if (which < 160) return kLocalWrite | kRemoteRead | kRemoteWrite | kWindowBind;
    return which & 0x7F;
  }
  std::uint64_t address() {
    return input_.rarely() ? ~std::uint64_t{0} - input_.byte() : input_.one_of(16) * 8u;
  }
  std::uint64_t length() { return input_.rarely() ? ~std::uint64_t{0} : input_.one_of(9) * 8u; }
  MemoryRegion describe() {
    MemoryRegion region{.base = memory_.data(),
                        .iova = address() & ~std::uint64_t{63},
                        .length = length() * 4,
                        .access = access(),
                        .pd = pd()};
    if ((region.access & kZeroBased) != 0) region.iova = 0;
    return region;
  }
  // Mostly one that there is or was.
  enum class Kind : std::uint8_t { kRegion, kWindow, kAny };
  std::uint32_t some_key(Kind kind = Kind::kAny) {
    const std::uint8_t which = input_.byte();
    if (kind == Kind::kAny) kind = which % 2 == 0 ? Kind::kRegion : Kind::kWindow;
    if (kind == Kind::kRegion && !regions_.empty()) {
      return regions_[which / 2u % regions_.size()].is.key;
    }
    if (kind == Kind::kWindow && !windows_.empty()) {
      const Window& window = windows_[which / 2u % windows_.size()];
      return window.bound ? window.key.value() : window.any_key.value();
    }
    return input_.number();
  }
  Region* region_of(std::uint32_t key) {
    for (Region& region : regions_)
      if (region.alive && region.is.key == key) return &region;
    return nullptr;
  }
  Window* window_of(std::uint32_t key) {
    for (Window& window : windows_)
      if (window.alive && window.any_key.value() >> 8 == key >> 8) return &window;
    return nullptr;
  }
  bool is_busy(const Region& region) const {
    for (const Window& window : windows_)
      if (window.bound && &regions_[window.region] == &region) return true;
    return false;
  }

  void add() {
    if (regions_.size() == kMost) return;
    const MemoryRegion wanted = describe();
    const auto added = table_.add(wanted);
    require(added.has_value() == fits(wanted));
    if (!added) return;
    require(region_of(added->key) == nullptr && window_of(added->key) == nullptr);
    require(added->key != 0 && added->iova == wanted.iova);
    regions_.push_back({*added});
  }
  void remove() {
    held_.release();  // it would be waited for
    const std::uint32_t key = some_key();
    Region* const region = region_of(key);
    const auto removed = table_.remove(key);
    if (region == nullptr) return require(!removed && removed.error().code == kInvalid);
    if (is_busy(*region)) return require(!removed && removed.error().code == kBusy);
    require(removed.has_value());
    region->alive = false;
  }
  void change() {
    held_.release();
    const std::uint32_t key = some_key();
    Region* const region = region_of(key);
    const MemoryRegion other = describe();
    const std::uint8_t what = input_.byte();
    RegionChange change;
    MemoryRegion wanted = region != nullptr ? region->is : MemoryRegion{};
    if ((what & 1) != 0) {
      change.range = {other.base, other.iova, other.length};
      wanted.iova = other.iova;
      wanted.length = other.length;
    }
    if ((what & 2) != 0) change.pd = wanted.pd = other.pd;
    if ((what & 4) != 0) change.access = wanted.access = other.access;
    if ((wanted.access & kZeroBased) != 0) wanted.iova = 0;
    const auto changed = table_.change(key, change);
    const bool may = region != nullptr && fits(wanted) && !is_busy(*region);
    require(changed.has_value() == may);
    if (may) region->is = wanted;
  }
  void add_window() {
    if (windows_.size() == kMost) return;
    const auto type = input_.one_of(2) == 0 ? WindowType::kType1 : WindowType::kType2;
    const PdHandle domain = pd();
    const RKey key = *table_.add_window(type, domain);
    require(window_of(key.value()) == nullptr && key.value() != 0);
    for (const Region& region : regions_)
      require(!region.alive || region.is.key >> 8 != key.value() >> 8);
    windows_.push_back({.any_key = key, .type = type, .pd = domain});
  }
  void remove_window() {
    const std::uint32_t key = some_key();
    Window* const window = window_of(key);
    require(table_.remove_window(RKey{key}).has_value() == (window != nullptr));
    if (window != nullptr) window->alive = window->bound = false;
  }
  bool may_bind(const WindowBinding& b, const Window& window, const Region* region,
                PdHandle domain) {
    if (window.pd != domain || b.new_key.value() >> 8 != window.any_key.value() >> 8) return false;
    if (b.access >= 1u << 6) return false;
    const bool first = window.type == WindowType::kType1;
    if (first && (b.access & kZeroBased) != 0) return false;
    if (b.length == 0) return first;
    if (!first && window.bound) return false;
    if (region == nullptr || region->is.pd != domain) return false;
    const MemoryRegion& r = region->is;
    if ((r.access & kZeroBased) != 0 || (r.access & kWindowBind) == 0) return false;
    const bool writes = (b.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    if (writes && (r.access & kLocalWrite) == 0) return false;
    return b.address >= r.iova && b.address + b.length >= b.address &&
           b.address + b.length <= r.iova + r.length;
  }
  void bind() {
    WindowBinding b{.region_lkey = some_key(input_.rarely() ? Kind::kAny : Kind::kRegion),
                    .address = address(),
                    .length = length(),
                    .access = access() & ~(input_.rarely() ? 0u : kWindowBind),
                    .window = RKey{some_key(input_.rarely() ? Kind::kAny : Kind::kWindow)}};
    Window* const window = window_of(b.window.value());
    b.new_key = RKey{(b.window.value() & ~0xFFu) | input_.byte()};
    if (input_.rarely()) b.new_key = RKey{input_.number()};
    if (window != nullptr && input_.one_of(4) == 0) {
      b.new_key = *table_.draw_window_key(b.window);
      require(window_of(b.new_key.value()) == window);
    }
    const PdHandle domain = pd();
    const Qpn by = qpn();
    const Region* const region = region_of(b.region_lkey);
    const bool may = window != nullptr && may_bind(b, *window, region, domain);
    require(table_.bind_window(b, domain, by) == (may ? std::errc{} : kInvalid));
    if (!may) return;
    window->bound = b.length != 0;
    if (!window->bound) return;
    window->key = b.new_key;
    window->qpn = by;
    window->region = static_cast<std::size_t>(region - regions_.data());
    window->address = b.address;
    window->first = (b.access & kZeroBased) != 0 ? 0 : b.address;
    window->length = b.length;
    window->access = b.access & kRemote;
  }
  void invalidate() {
    const RKey key{some_key(input_.rarely() ? Kind::kAny : Kind::kWindow)};
    const PdHandle domain = pd();
    const Qpn by = qpn();
    Window* const window = window_of(key.value());
    const bool may = window != nullptr && window->bound && window->type == WindowType::kType2 &&
                     window->key == key && window->pd == domain && window->qpn == by;
    require(table_.invalidate(key, domain, by) == (may ? std::errc{} : kInvalid));
    if (may) window->bound = false;
  }
  void forget_queue_pair() {
    const Qpn gone = qpn();
    table_.unbind_windows_of(gone);
    for (Window& window : windows_)
      if (window.type == WindowType::kType2 && window.qpn == gone) window.bound = false;
  }

  std::byte* wanted(std::uint32_t key, PdHandle domain, std::uint64_t at, std::uint64_t size,
                    std::uint32_t rights, Qpn by) {
    const auto inside = [&](std::uint64_t first, std::uint64_t most) {
      return at >= first && at + size >= at && at + size <= first + most;
    };
    if (const Region* const region = region_of(key)) {
      const MemoryRegion& r = region->is;
      const bool may = r.pd == domain && (r.access & rights) == rights && inside(r.iova, r.length);
      return may ? r.base + (at - r.iova) : nullptr;
    }
    const Window* const window = window_of(key);
    if (window == nullptr || !window->bound || window->key.value() != key) return nullptr;
    const bool owner = window->type == WindowType::kType1 || window->qpn == by;
    const bool may = owner && (rights & kRemote) != 0 && (window->access & rights) == rights &&
                     window->pd == domain && inside(window->first, window->length);
    const MemoryRegion& r = regions_[window->region].is;
    return may ? r.base + (window->address - r.iova) + (at - window->first) : nullptr;
  }
  void look_up() {
    const std::uint32_t key = some_key();
    const PdHandle domain = pd();
    const std::uint64_t at = address();
    const std::uint64_t size = length();
    const std::uint32_t rights = input_.byte() & 0xF;
    const Qpn by = qpn();
    std::byte* const right = wanted(key, domain, at, size, rights, by);
    RegionPin pin(table_);
    // Twice: from the table, and from what the pin holds.
    require(pin.resolve(key, domain, at, size, rights, by) == right);
    require(pin.resolve(key, domain, at, size, rights, by) == right);
    require(held_.resolve(key, domain, at, size, rights, by) == right);
    require(held_.size() <= regions_.size());
  }

  static constexpr std::size_t kMost = 12;
  Input& input_;
  SeededEntropy entropy_{Random(1)};
  MemoryTable table_{entropy_};
  RegionPinSet held_{table_};
  std::array<std::byte, 1024> memory_{};
  std::vector<Region> regions_;
  std::vector<Window> windows_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
