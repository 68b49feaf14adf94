// SPDX-License-Identifier: Apache-2.0
// A router between its subnet and two sites under whatever packets may come from either side, and
// whatever a subnet administrator may answer: what goes on has the LRH of a path that was answered
// or of a multicast group that the subnet has, or one hop less and the site of its prefix or one
// that wanted it; all else is counted once; the packets that wait, the questions and what sites
// want stay within their bounds; and when all has ended nothing is kept.
#include "wan/router/router.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/gid_prefix.h"
#include "input.h"
#include "link/direct_link.h"
#include "steps.h"
#include "wire/bth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

namespace {

constexpr std::uint64_t kOwn = 0xFD00'0000'0000'0001;
constexpr std::size_t kSites = 2;
constexpr MulticastRoutes::Options kGroupLimits{.groups = 5};
constexpr LocalPaths::Options kLimits{.paths = 6, .questions = 3, .waiting = 8, .waiting_each = 4};

// At the other end of a link to a site.
struct Far final : link::PortOwner {
  explicit Far(bool& woken) : woken(woken), port({.data_vls = 15}, *this) {}
  void received(link::Port&, link::PacketPtr packet, Time) override {
    came.push_back(std::move(packet));
  }
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port&) override { woken = true; }
  bool& woken;
  std::vector<link::PacketPtr> came;
  link::Port port;
};

class Fuzzer final : RouterUser {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    router_.set_subnet(kOwn);
    for (std::size_t site = 0; site < kSites; ++site) {
      router_.add_site();
      links_[site].join(far_[site].port, router_.site(static_cast<std::uint32_t>(site)), now_);
    }
    router_.prefixes().insert(GidPrefix(kOwn + 1), 0);
    router_.prefixes().insert(GidPrefix(gid(2, 0), 32), 1);
    settle();
    for (Far& far : far_) {
      far.port.set_state(link::PortState::kArmed, now_);
      far.port.set_state(link::PortState::kActive, now_);
    }
    settle();
  }
  ~Fuzzer() override {
    for (std::size_t site = 0; site < kSites; ++site) {
      router_.site(static_cast<std::uint32_t>(site)).connect(nullptr, now_);
      far_[site].port.connect(nullptr, now_);
    }
  }

  void step() {
    switch (input_.one_of(8)) {
      case 0:
      case 1:
        from_subnet();
        break;
      case 2:
      case 3:
      case 4:
        from_site();
        break;
      case 5:
        answer();
        break;
      case 6:
        now_ += Duration(std::int64_t{input_.word()} << input_.one_of(22));
        break;
      default:
        change();
    }
    settle();
    check();
  }

  void finish() {
    router_.paths().drop_waiting(NoPath::kUnanswered);
    settle();
    check();
    require(router_.paths().waiting() == 0);
    require(pool_.in_use() == 0 && payloads_.in_use() == 0);
  }

 private:
  static Gid gid(std::uint16_t subnet, std::uint8_t host) {
    std::array<std::uint8_t, 16> bytes{0xFD};
    bytes[6] = static_cast<std::uint8_t>(subnet >> 8);
    bytes[7] = static_cast<std::uint8_t>(subnet);
    bytes[15] = host;
    return Gid{bytes};
  }
  static Gid group(std::uint8_t number) {
    std::array<std::uint8_t, 16> bytes{0xFF, 0x15};
    bytes[15] = number;
    return Gid{bytes};
  }
  Gid some_dgid() { return input_.one_of(3) == 0 ? group(input_.one_of(8)) : some_gid(); }
  Gid some_gid() {
    if (!input_.rarely()) return gid(input_.one_of(5), input_.one_of(10));
    std::array<std::uint8_t, 16> bytes{};
    for (std::uint8_t& byte : bytes)
      byte = input_.byte();
    return Gid{bytes};
  }

  std::vector<std::byte> packet() {
    if (input_.rarely()) {
      const Bytes some = input_.some();
      return {some.begin(), some.end()};
    }
    const std::size_t words = 8U + input_.one_of(40);
    std::vector<std::byte> bytes(48 + words * 4 + 2);
    const bool global = !input_.rarely();
    wire::Lrh{.next_header = global ? wire::Lnh::iba_global : wire::Lnh{input_.one_of(4)},
              .dlid = Lid{4},
              .packet_words = static_cast<std::uint16_t>(12 + words),
              .slid = Lid{5}}
        .write(bytes);
    wire::Grh{.ip_version = static_cast<std::uint8_t>(input_.rarely() ? input_.byte() : 6),
              .payload_length = static_cast<std::uint16_t>(words * 4 + (input_.rarely() ? 4 : 0)),
              .next_header = static_cast<std::uint8_t>(input_.rarely() ? 17 : 0x1B),
              .hop_limit = input_.one_of(4),
              .sgid = some_gid(),
              .dgid = some_dgid()}
        .write(MutableBytes(bytes).subspan(8));
    wire::Bth{.opcode = wire::Opcode::uc_send_only,
              .pkey = PKey{static_cast<std::uint16_t>(input_.one_of(3))},
              .dest_qp = Qpn{input_.one_of(4)}}
        .write(MutableBytes(bytes).subspan(48));
    wire::seal_link_packet(bytes);
    return bytes;
  }

  // As long as their LRH says, as a link hands them on.
  link::PacketPtr sound_packet() {
    const auto bytes = packet();
    if (bytes.size() < 26 || bytes.size() % 4 != 2) return nullptr;
    auto made = pool_.copy(bytes);
    const bool sound = made != nullptr && made->lrh().packet_bytes() == bytes.size() - 2;
    return sound ? std::move(made) : nullptr;
  }
  void from_subnet() {
    auto made = sound_packet();
    if (made == nullptr) return;
    ++given_;
    router_.from_subnet(std::move(made), now_);
  }
  // What a site says of groups, as it should be and not.
  void interest(std::size_t site) {
    GroupInterest said{.hold = std::chrono::seconds(input_.one_of(4)), .groups = {}};
    for (unsigned i = input_.one_of(8); i > 0; --i)
      said.groups.push_back(input_.rarely() ? some_gid() : group(input_.one_of(8)));
    auto bytes = said.write();
    if (input_.rarely()) bytes[12 + input_.one_of(4)] = std::byte{input_.byte()};
    wire::seal_link_packet(bytes);
    const auto read = GroupInterest::parse(bytes);
    if (read) wanted_[site].insert(wanted_[site].end(), read->groups.begin(), read->groups.end());
    far_[site].port.transmit(pool_.copy(bytes), Vl{0}, now_);
  }
  void from_site() {
    const std::size_t site = input_.one_of(kSites);
    if (input_.one_of(4) == 0) return interest(site);
    Far& far = far_[site];
    if (auto made = sound_packet()) far.port.transmit(std::move(made), Vl{0}, now_);
  }
  void answer() {
    if (asked_.empty() || input_.rarely()) return router_.paths().absent(input_.byte(), now_);
    auto question = asked_.begin();
    std::advance(question, input_.one_of(static_cast<unsigned>(asked_.size())));
    const std::uint64_t number = question->first;
    const std::uint8_t kind = input_.one_of(4);
    const Gid dgid = question->second.dgid;
    asked_.erase(question);
    if (kind == 0) return router_.paths().absent(number, now_);
    if (kind == 1) return router_.paths().unanswered(number, now_);
    const Lid dlid{static_cast<std::uint16_t>(100 + input_.byte())};
    known_[dlid.value()].push_back(dgid);
    router_.paths().found(
        number, {.port = 1, .slid = Lid{77}, .dlid = dlid, .sl = Sl{input_.byte()}}, now_);
  }
  void change() {
    switch (input_.one_of(5)) {
      case 4: {
        local_.clear();
        for (unsigned i = input_.one_of(8); i > 0; --i)
          local_.push_back({.mgid = input_.rarely() ? some_gid() : group(input_.one_of(8)),
                            .port = 1,
                            .slid = Lid{77},
                            .mlid = Lid{static_cast<std::uint16_t>(0xC000 + input_.byte())}});
        return router_.set_groups(local_, now_);
      }
      case 0:
        return router_.paths().forget();
      case 1:
        reachable_ = !reachable_;
        return;
      case 2: {
        const std::size_t site = input_.one_of(kSites);
        return links_[site].set_plugged(!links_[site].plugged(), now_);
      }
      default:
        for (Far& far : far_) {
          far.port.set_state(link::PortState::kArmed, now_);
          far.port.set_state(link::PortState::kActive, now_);
        }
    }
  }

  // RouterUser
  bool ask(std::uint64_t number, const PathQuestion& question, Time) override {
    if (!reachable_) return false;
    require(GidPrefix(kOwn).covers(question.dgid));
    require(asked_.emplace(number, question).second);
    return true;
  }
  void into_subnet(link::PacketPtr packet, std::uint8_t port, Time) override {
    const wire::Lrh lrh = packet->lrh();
    const auto grh = wire::Grh::parse(packet->header().subspan(8));
    require(port == 1 && lrh.slid == Lid{77} && grh.has_value() && packet->vcrc_good());
    if (grh->dgid.is_multicast()) return require_group(*grh, lrh.dlid);
    const auto& of_lid = known_.at(lrh.dlid.value());
    require(std::ranges::find(of_lid, grh->dgid) != of_lid.end());
    require(grh->hop_limit > 0 && !GidPrefix(kOwn).covers(grh->sgid));
    ++in_;
  }
  void require_group(const wire::Grh& grh, Lid mlid) {
    require(is_routed_group(grh.dgid) && grh.hop_limit > 0 && !GidPrefix(kOwn).covers(grh.sgid));
    require(std::ranges::any_of(local_, [&](const LocalGroup& each) {
      return each.mgid == grh.dgid && each.mlid == mlid;
    }));
    ++in_;
  }
  void wake() override { woken_ = true; }

  void settle() {
    for (int rounds = 0; woken_ || due(); ++rounds) {
      require(rounds < 10'000);
      woken_ = false;
      for (Far& far : far_)
        far.port.run(now_);
      router_.run(now_);
    }
    for (std::size_t site = 0; site < kSites; ++site) {
      for (const link::PacketPtr& packet : far_[site].came)
        look_at_routed(*packet, site);
      out_ += far_[site].came.size();
      far_[site].came.clear();
    }
  }
  bool due() const {
    const auto passed = [this](std::optional<Time> when) { return when && *when <= now_; };
    return passed(router_.deadline()) ||
           std::ranges::any_of(far_, [&](const Far& far) { return passed(far.port.deadline()); });
  }
  void look_at_routed(const link::Packet& packet, std::size_t site) const {
    if (is_group_interest(packet.header())) {
      std::vector<std::byte> bytes(packet.size());
      packet.copy_to(bytes);
      return require(GroupInterest::parse(bytes).has_value());
    }
    const auto grh = wire::Grh::parse(packet.header().subspan(8));
    require(grh.has_value() && packet.vcrc_good());
    require(grh->hop_limit >= 1 && GidPrefix(kOwn).covers(grh->sgid));
    require(!GidPrefix(kOwn).covers(grh->dgid));
    if (grh->dgid.is_multicast()) {
      return require(std::ranges::find(wanted_[site], grh->dgid) != wanted_[site].end());
    }
    require(GidPrefix(kOwn + 1).covers(grh->dgid) == (site == 0));
  }

  std::uint64_t count(RouterCounter counter) const { return router_.counters().get(counter); }
  void check() const {
    require(router_.paths().size() <= kLimits.paths);
    require(router_.paths().questions() <= kLimits.questions);
    require(router_.paths().waiting() <= kLimits.waiting);
    std::uint64_t came = given_;
    for (std::uint32_t site = 0; site < kSites; ++site)
      came += router_.site(site).counters().get(link::PortCounter::kRxPackets);
    std::uint64_t settled = router_.paths().waiting();
    for (std::size_t i = 0; i < static_cast<std::size_t>(RouterCounter::kAsked); ++i)
      settled += count(static_cast<RouterCounter>(i));
    require(came == settled);
    require(count(RouterCounter::kIn) + count(RouterCounter::kGroupIn) == in_);
    require(count(RouterCounter::kOut) + count(RouterCounter::kCopies) +
                count(RouterCounter::kTold) >=
            out_);
    require(router_.groups().local_size() <= kGroupLimits.groups);
    for (std::uint32_t site = 0; site < kSites; ++site)
      require(router_.groups().wanted_size(site) <= kGroupLimits.groups);
  }

  Input& input_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 500};
  link::PacketPool pool_{1000, payloads_};
  Time now_{1s};
  bool woken_ = true;
  bool reachable_ = true;
  std::uint64_t given_ = 0;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::vector<LocalGroup> local_;
  std::array<std::vector<Gid>, kSites> wanted_;  // ever
  std::map<std::uint64_t, PathQuestion> asked_;
  std::map<std::uint16_t, std::vector<Gid>> known_;
  std::array<link::DirectLink, kSites> links_{link::DirectLink(pool_), link::DirectLink(pool_)};
  std::array<Far, kSites> far_{Far(woken_), Far(woken_)};
  Router router_{
      {.port = {.data_vls = 15}, .paths = kLimits, .groups = kGroupLimits}, pool_, *this};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
