// SPDX-License-Identifier: Apache-2.0
// The options of the network control protocols: IPV6CP (RFC 5072), IPCP (RFC 1332) and MPLSCP
// (RFC 3032, 4), which has none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/entropy.h"
#include "wan/line/ppp/control_protocol.h"

namespace weft::wan {

struct NetworkOptions {
  std::uint64_t interface_identifier = 0;  // IPV6CP: 0: one that is drawn
  std::uint32_t address = 0;               // IPCP: 0: one that the other end gives
  std::uint32_t remote_address = 0;        // IPCP: given where the other end asks for one
};

// A protocol with one option of a number, which either end wants to have for itself: of IPV6CP an
// interface identifier, which must not be that of the other end, of IPCP an address.
class NetworkControl final : public ControlPolicy {
 public:
  // `protocol`: one of the three.
  NetworkControl(PppProtocol protocol, const NetworkOptions& options, Entropy& entropy);

  // A new negotiation.
  void begin();
  // What was agreed on, once opened; 0: nothing.
  [[nodiscard]] std::uint64_t own() const { return own_; }
  [[nodiscard]] std::uint64_t remote() const { return remote_; }

  [[nodiscard]] std::vector<std::byte> request() override;
  [[nodiscard]] Verdict judge(Bytes options, bool patient) override;
  void agreed(Bytes options) override;
  void wished(Bytes options) override;
  void rejected(Bytes options) override;
  void layer_up(Time) override {}
  void layer_down() override {}

 private:
  // Octets of the option; 0: there is none.
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::uint8_t type() const;
  [[nodiscard]] std::uint64_t number_of(const ControlOption& option) const;
  void put(std::vector<std::byte>& options, std::uint64_t number) const;
  [[nodiscard]] std::uint64_t draw_identifier();
  [[nodiscard]] std::optional<std::uint64_t> better_than(std::uint64_t theirs);

  const PppProtocol protocol_;
  const NetworkOptions options_;
  Entropy& entropy_;
  bool asks_ = true;
  std::uint64_t own_ = 0;
  std::uint64_t remote_ = 0;
  std::uint64_t last_wish_ = 0;  // for the other end
};

}  // namespace weft::wan
