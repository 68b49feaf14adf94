// SPDX-License-Identifier: Apache-2.0
// The options of LCP over SONET/SDH (RFC 1661, 6; RFC 2615, 5), Echo, and loops.
//
//   Maximum-Receive-Unit   asked for where it is not 1500; taken from 128 on
//   Magic-Number           always asked for; one's own coming back means that the line is looped
//   all others             rejected: address, control and protocol fields stay as they are, the FCS
//                          is what both ends are set to, nobody is authenticated
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/entropy.h"
#include "wan/line/ppp/control_protocol.h"

namespace weft::wan {

inline constexpr std::uint16_t kPppLeastUnit = 128;

// Who is told what LCP finds out.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual void link_up(Time now) = 0;
  virtual void link_down() = 0;
  // The other end does not know this protocol: whether the link can do without it.
  [[nodiscard]] virtual bool can_do_without(PppProtocol protocol) = 0;
  // An Echo-Reply to the request of that number.
  virtual void echoed(std::uint8_t identifier) = 0;
  // One's own magic number was heard while the link was opened.
  virtual void looped() = 0;
};

class LinkControl final : public ControlPolicy {
 public:
  // `receive_unit`: octets of information that are taken in here.
  LinkControl(std::size_t receive_unit, Entropy& entropy, LinkOwner& owner, ControlLine& line,
              PppCounters& counters);

  // Of the present negotiation; 0: the other end will not have one.
  [[nodiscard]] std::uint32_t magic() const { return uses_magic_ ? magic_ : 0; }
  // Octets of information that the other end takes in.
  [[nodiscard]] std::size_t send_unit() const { return send_unit_; }
  // The last request that was heard was one's own, and so were the two before: the line leads back.
  [[nodiscard]] bool is_looped() const { return loops_ >= kSureOfLoop; }
  // A new negotiation: what was said of options before is forgotten.
  void begin();

  [[nodiscard]] std::vector<std::byte> request() override;
  [[nodiscard]] Verdict judge(Bytes options, bool patient) override;
  void agreed(Bytes options) override;
  void wished(Bytes options) override;
  void rejected(Bytes options) override;
  void layer_up(Time now) override { owner_.link_up(now); }
  void layer_down() override { owner_.link_down(); }
  [[nodiscard]] std::optional<ControlEvent> other(const ControlPacket& packet) override;
  void answer(const ControlPacket& packet) override;

 private:
  static constexpr unsigned kSureOfLoop = 3;

  void draw_magic();
  void judge_unit(const ControlOption& option, bool patient, Verdict& verdict) const;
  void judge_magic(const ControlOption& option, Verdict& verdict);

  const std::uint16_t receive_unit_;
  Entropy& entropy_;
  LinkOwner& owner_;
  ControlLine& line_;
  PppCounters& counters_;
  std::uint32_t magic_ = 0;
  std::uint16_t wished_unit_;  // that is asked for
  bool uses_magic_ = true;
  bool uses_unit_ = true;
  std::size_t send_unit_ = kPppDefaultUnit;
  unsigned loops_ = 0;
};

}  // namespace weft::wan
