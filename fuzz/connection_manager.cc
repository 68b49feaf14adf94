// SPDX-License-Identifier: Apache-2.0
// Two connection managers under arbitrary calls of their consumers, on a network that loses, keeps,
// repeats and changes what they send, and where a stranger sends what it likes. They may refuse and
// drop; what they may not do is to crash, to tell a consumer of something that it has given up, to
// tell it things in an order that makes no sense, to leave two ends of a connection with numbers
// that do not fit, to remember more than their limits, or to be left with anything when all is
// destroyed and time has passed.
#include "mgmt/connection_manager.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "cm_stage.h"
#include "input.h"
#include "network.h"
#include "steps.h"
#include "wire/cm_field.h"

namespace {

using namespace weft;
using namespace weft::fuzz::cm_stage;
using fuzz::address;
using fuzz::InFlight;
using fuzz::Input;
using fuzz::Network;
using fuzz::require;
using Mad = std::array<std::byte, kMadSize>;

constexpr std::size_t kHosts = 2;
constexpr std::uint32_t kBacklog = 3;
constexpr ServiceId kService{0x0106'0001};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input)
      : input_(input),
        flags_(input.byte()),
        hosts_{Host(1, flags_, network_), Host(2, flags_, network_)} {}

  void step() {
    const std::uint8_t what = input_.byte();
    Host& host = hosts_[what & 1];
    switch (what >> 1 & 15) {
      case 0:
      case 1:
      case 2:
        deliver();
        break;
      case 3:
        pass_time();
        break;
      case 4:
      case 5:
        forge(host);
        break;
      case 6:
        begin(host);
        break;
      case 7:
      case 8:
        meet(host);
        break;
      case 9:
        change_path(host);
        break;
      case 10:
        if (input_.rarely()) disconnect();
        break;
      default:
        act(host, pick(host));
        break;
    }
    for (Host& each : hosts_)
      require(each.manager.ids() <= kIds);
  }

  void finish() {
    for (Host& host : hosts_) {
      for (const CmId id : host.ids)
        host.manager.destroy(id, now_);
    }
    fuzz::run_off(hosts_, now_, [](Host& host) -> ConnectionManager& { return host.manager; });
    for (Host& host : hosts_)
      require(host.manager.ids() == 0);
  }

 private:
  Host& other(const Host& host) { return hosts_[&host == &hosts_[0] ? 1 : 0]; }

  // One that was given out, the newest of them mostly, or a number.
  CmId pick(const Host& host) {
    const std::uint8_t which = input_.byte();
    if (host.ids.empty() || which == 0xFF) return CmId{which};
    return host.ids[host.ids.size() - 1 - which % std::min<std::size_t>(host.ids.size(), 16)];
  }

  // Up to three bytes of a message become something else.
  void change(Mad& mad) {
    const unsigned changes = input_.one_of(8);
    if (changes > 3) return;
    for (unsigned i = 0; i < changes; ++i)
      mad[input_.byte()] ^= static_cast<std::byte>(input_.byte());
  }

  void hand_in(const InFlight& one, std::size_t size) {
    for (Host& host : hosts_) {
      if (one.to.dgid == host.gid)
        host.manager.receive(Bytes(one.mad).first(size), one.back(), kDefaultPKey, now_);
    }
  }

  void deliver() {
    if (network_.empty()) return;
    const std::size_t which = input_.byte() % network_.size();
    const std::uint8_t fate = input_.byte();
    InFlight one = network_.take(which, (fate & 3) == 0);
    if ((fate & 0x1C) == 4) {  // lost, and the network may say so
      if ((fate & 0x80) != 0) report(one, (fate & 0x60) == 0x60 ? input_.byte() : one.mad.size());
      return;
    }
    if ((fate & 0xE0) == 0x20) change(one.mad);
    if ((fate & 0xE0) == 0x40) one.to.sgid = address(3);
    hand_in(one, (fate & 0xE0) == 0x60 ? input_.byte() : one.mad.size());
  }

  void report(const InFlight& one, std::size_t size) {
    for (Host& host : hosts_) {
      if (one.to.sgid != host.gid) continue;
      host.manager.undelivered(Bytes(one.mad).first(size), one.to.dgid, now_);
    }
  }

  // The network at its worst: nothing arrives, and that is told of everything.
  void disconnect() {
    for (int most = 4; most > 0; --most) {
      while (!network_.empty())
        report(network_.take(0), kMadSize);
      now_ += 10s;
      for (Host& host : hosts_)
        host.manager.expire(now_);
    }
  }

  // The network at its best: what is under way arrives, and what is said because of it.
  void carry() {
    for (int most = 64; most > 0 && !network_.empty(); --most)
      hand_in(network_.take(0), kMadSize);
  }

  void pass_time() {
    const std::uint8_t how = input_.byte();
    now_ += std::chrono::milliseconds{std::int64_t{1} << (how & 15)};
    for (Host& host : hosts_) {
      if ((how & 0x80) != 0 && &host == &hosts_[0]) continue;  // it is late
      host.manager.expire(now_);
      require(!host.manager.deadline() || *host.manager.deadline() > now_);
    }
  }

  static constexpr std::uint8_t kExtended = 0x20;

  // A connection as two consumers make one who want it, as far as `stages` says: chance alone
  // rarely gets there. Both ends are then of one mind.
  void meet(Host& host) {
    Host& peer = other(host);
    const std::uint8_t stages = input_.byte();
    network_.clear();
    const std::size_t known = peer.ids.size();
    const std::uint8_t how = input_.byte();
    const std::optional<CmId> ours = dial(host, peer, how);
    if (!ours) return;
    if ((stages & 7) == 0) return;
    carry();
    if ((stages & 7) == 1 || peer.ids.size() == known) return;
    const CmId theirs = peer.ids.back();
    const bool extended = (how & stages & kExtended) != 0;
    if (!peer.manager.accept(theirs, accepting(stages, extended), now_)) return;
    if ((stages & 7) == 2) return;
    carry();
    if ((stages & 7) == 3 || !host.manager.ready(*ours, {}, now_) || (stages & 7) == 4) return;
    carry();
    require_match(host.manager, *ours, peer.manager, theirs);
    require_match(peer.manager, theirs, host.manager, *ours);
  }

  static void require_match(const ConnectionManager& from, CmId id, const ConnectionManager& to,
                            CmId id_there) {
    using hca::QpState;
    require(from.state(id) == CmState::kEstablished);
    require(from.agreed_extensions(id) == to.agreed_extensions(id_there));
    const auto sends = from.qp_attributes(id, QpState::kRts);
    const auto receives = to.qp_attributes(id_there, QpState::kRtr);
    require(sends->attributes.sq_psn == receives->attributes.rq_psn);
    require(sends->attributes.max_reads_out <= receives->attributes.max_reads_in);
  }

  std::optional<CmId> dial(Host& host, Host& peer, std::uint8_t how) {
    (void)peer.manager.listen({.service_id = kService, .backlog = kBacklog}).map([&](CmId id) {
      peer.ids.push_back(id);
    });
    constexpr std::array kTypes{hca::QpType::kRc, hca::QpType::kUc, hca::QpType::kXrcInitiator,
                                hca::QpType::kRc};
    const hca::Path path{.sgid = host.gid, .dgid = peer.gid};
    const auto id = host.manager.connect(
        {.path = path,
         .alternate_path = (how & 0x10) != 0
                               ? std::optional(hca::Path{.sgid = address(9), .dgid = address(9)})
                               : std::nullopt,
         .service_id = kService,
         .type = kTypes[how & 3],
         .qpn = Qpn{16u + (how >> 2 & 3)},
         .responder_resources = static_cast<std::uint8_t>(how >> 4),
         .initiator_depth = static_cast<std::uint8_t>(how >> 3),
         .max_cm_retries = static_cast<std::uint8_t>(how & 1),
         .extensions = static_cast<std::uint16_t>((how & kExtended) != 0)},
        now_);
    if (!id) return std::nullopt;
    host.ids.push_back(*id);
    return *id;
  }

  static AcceptParameters accepting(std::uint8_t how, bool extended) {
    return {.qpn = Qpn{16u + (how >> 3 & 7)},
            .responder_resources = static_cast<std::uint8_t>(how >> 4),
            .initiator_depth = static_cast<std::uint8_t>(how >> 5),
            .failover_accepted = static_cast<std::uint8_t>(how >> 7),
            .extensions = static_cast<std::uint16_t>(extended)};
  }

  // One end proposes another path and its peer answers, as far as it goes.
  void change_path(Host& host) {
    const CmId id = pick(host);
    const std::uint8_t how = input_.byte();
    const hca::Path path{.sgid = (how & 1) != 0 ? address(9) : host.gid,
                         .dgid = (how & 2) != 0 ? address(9) : other(host).gid};
    if (!host.manager.load_alternate_path(id, {.path = path}, now_) || (how & 0x0C) == 0) return;
    carry();
    Host& peer = other(host);
    const auto status =
        (how & 0x80) != 0 ? AlternatePathStatus::kRejected : AlternatePathStatus::kLoaded;
    if ((how & 0x40) != 0) (void)peer.manager.mra(peer.asked, how & 31, {}, now_);
    if ((how & 0x0C) == 4) return;
    (void)peer.manager.reply_alternate_path(peer.asked, {.status = status}, now_);
    if ((how & 0x0C) == 8) return;
    carry();
    if ((how & 0x10) != 0) (void)host.manager.notify_migrated(id);
    if ((how & 0x20) != 0) (void)peer.manager.notify_migrated(peer.asked);
  }

  // A message of a stranger, or of the peer as it should never send it.
  void forge(Host& host) {
    Mad mad{};
    wire::MadHeader header{.mgmt_class = wire::MgmtClass::kCommMgt,
                           .class_version = wire::kCmClassVersion,
                           .method = wire::MadMethod::kSend,
                           .transaction_id = input_.one_of(4),
                           .attribute_id = static_cast<std::uint16_t>(0x10 + input_.one_of(12))};
    header.write(mad);
    std::byte* body = mad.data() + wire::MadHeader::kSize;
    const Gid from = address(1 + input_.one_of(4));
    if (static_cast<wire::CmMessage>(header.attribute_id) == wire::CmMessage::kReq) {
      const wire::CmReq req{.local_comm_id = wire::CommId{input_.one_of(6)},
                            .service_id = kService,
                            .local_qpn = Qpn{16u + input_.one_of(4)},
                            .transport = static_cast<wire::CmTransport>(input_.one_of(4)),
                            .local_cm_timeout = input_.one_of(32),
                            .path_mtu = input_.one_of(7),
                            .max_cm_retries = 1,
                            .extended_transport = input_.one_of(2),
                            .primary = {.local_gid = from, .remote_gid = host.gid},
                            .alternate = {.remote_gid = input_.one_of(8) == 0 ? host.gid : Gid{}}};
      req.write(MutableBytes(mad).subspan(wire::MadHeader::kSize));
    } else {
      const Bytes rest = input_.some();
      std::copy_n(rest.begin(), std::min<std::size_t>(rest.size(), 16), body + 8);
      wire::store_be32(body, input_.one_of(6));
      wire::store_be32(body + 4, pick(host).value());
      // What a DREQ and a LAP name as our queue pair, and a service.
      if (input_.one_of(2) == 0) wire::store_be24(body + 8, 0x11);
      if (header.attribute_id == 0x17) wire::store_be64(body + 8, kService.value());
    }
    change(mad);
    host.manager.receive(mad, {.sgid = host.gid, .dgid = from}, kDefaultPKey, now_);
  }

  void begin(Host& host) {
    const std::uint8_t how = input_.byte();
    const hca::Path path{.sgid = (how & 0x40) != 0 ? address(9 + (how & 1)) : host.gid,
                         .dgid = (how & 0x80) != 0 ? Gid{} : hosts_[how & 1].gid};
    Expected<CmId> id = CmId{};
    switch (how >> 1 & 3) {
      case 0:
        id = host.manager.listen({.service_id = kService,
                                  .mask = (how & 8) != 0 ? ~std::uint64_t{0} : ~std::uint64_t{0xF},
                                  .address = (how & 16) != 0 ? host.gid : Gid{},
                                  .backlog = (how & 32) != 0 ? kBacklog : how >> 6});
        break;
      case 1:
        id = host.manager.sidr_request({.path = path,
                                        .service_id = kService,
                                        .cm_timeout = input_.one_of(33),
                                        .max_cm_retries = 1,
                                        .private_data = data()},
                                       now_);
        break;
      default:
        id = host.manager.connect(
            {.path = path,
             .alternate_path = (how & 8) != 0 ? std::optional(path) : std::nullopt,
             .service_id = kService,
             .type = static_cast<hca::QpType>(input_.one_of(5)),
             .qpn = Qpn{16u * input_.one_of(4)},
             .path_mtu = 256u * input_.one_of(4),
             .remote_cm_timeout = input_.one_of(33),
             .max_cm_retries = 1,
             .private_data = data(),
             .extensions = static_cast<std::uint16_t>(how >> 4 & 1)},
            now_);
    }
    if (id) host.ids.push_back(*id);
  }

  // Private data: mostly none, now and then more than there may be.
  Bytes data() {
    static constexpr std::array<std::byte, 256> kData{};
    const std::uint8_t how = input_.byte();
    return Bytes(kData).first(how < 0xE0 ? 0 : (how - 0xE0u) * 8);
  }

  void act(Host& host, CmId id) {
    ConnectionManager& cm = host.manager;
    switch (input_.one_of(14)) {
      case 0:
      case 1:
        (void)cm.accept(id,
                        {.qpn = Qpn{8u * input_.one_of(5)},
                         .rnr_retry = input_.one_of(9),
                         .private_data = data(),
                         .extensions = input_.one_of(2)},
                        now_);
        break;
      case 2:
      case 3:
        (void)cm.ready(id, data(), now_);
        break;
      case 4:
        (void)cm.reject(id,
                        {.reason = static_cast<RejectReason>(input_.one_of(36)),
                         .additional_info = data(),
                         .private_data = data()},
                        now_);
        break;
      case 5:
        (void)cm.mra(id, input_.one_of(33), data(), now_);
        break;
      case 6:
        (void)cm.notify_established(id);
        break;
      case 7:
        (void)cm.disconnect(id, data(), now_);
        break;
      case 8:
        (void)cm.load_alternate_path(id,
                                     {.path = {.sgid = host.gid, .dgid = hosts_[0].gid},
                                      .ack_timeout = input_.one_of(33),
                                      .private_data = data()},
                                     now_);
        break;
      case 9:
        (void)cm.reply_alternate_path(id,
                                      {.status = static_cast<AlternatePathStatus>(input_.one_of(3)),
                                       .additional_info = data(),
                                       .private_data = data()},
                                      now_);
        break;
      case 10:
        (void)cm.notify_migrated(id);
        break;
      case 11:
        (void)cm.sidr_reply(id, {.qpn = Qpn{5}, .additional_info = data(), .private_data = data()},
                            now_);
        break;
      case 12:
        (void)cm.set_user(id, 1);
        (void)cm.agreed_extensions(id);
        (void)cm.qp_attributes(id, static_cast<hca::QpState>(input_.one_of(7)));
        break;
      default:
        cm.destroy(id, now_);
        require(!cm.state(id));
        break;
    }
  }

  Input& input_;
  const unsigned flags_;
  Time now_{1s};
  Network network_;
  std::array<Host, kHosts> hosts_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
