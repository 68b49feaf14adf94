// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/key_channel.h"

#include <array>
#include <utility>

#include "io/openssl_aead.h"
#include "io/tcp_socket.h"
#include "io/tls_keys.h"
#include "wan/key_offer.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

constexpr Duration kHandshake = 10s;  // and both have said which ciphers they have
// Probed after, and given up after: of a peer whose machine is gone, TCP would say nothing.
constexpr Duration kKeyChannelSilence = 15s;
constexpr std::string_view kNameLabel = "EXPERIMENTAL weft wan name";
constexpr std::size_t kNameBytes = 7;

// The channel's keys, which need it, and may outlive whoever runs it.
class ChannelKeys final : public AeadKeySource {
 public:
  ChannelKeys(std::shared_ptr<io::TlsChannel> channel, AeadAlgorithm cipher,
              io::TlsDirection direction, std::uint8_t way)
      : channel_(std::move(channel)), keys_(*channel_, cipher, direction, way) {}
  [[nodiscard]] std::optional<AeadKey> key(std::uint32_t epoch) override {
    return keys_.key(epoch);
  }

 private:
  std::shared_ptr<io::TlsChannel> channel_;
  io::TlsKeySource keys_;
};

}  // namespace

KeyChannel::KeyChannel(std::shared_ptr<io::TlsChannel> channel, Config config, io::Reactor& reactor,
                       Time deadline)
    : channel_(std::move(channel)),
      config_(std::move(config)),
      reactor_(reactor),
      deadline_(deadline) {
}

Expected<std::unique_ptr<KeyChannel>> KeyChannel::begin(const io::TlsSite& site,
                                                        io::UniqueFd socket, Config config,
                                                        io::Reactor& reactor, Time now) {
  if (auto noticed = io::notice_silence(socket.get(), kKeyChannelSilence); !noticed) {
    return tl::unexpected(noticed.error());
  }
  const Time deadline = now + kHandshake;
  auto channel = io::TlsChannel::begin(site, std::move(socket),
                                       {.role = config.role,
                                        .trust = config.trust,
                                        .deadline = deadline,
                                        .longest_message = 1024,
                                        .most_queued = 4096});
  if (!channel) return tl::unexpected(channel.error());
  std::unique_ptr<KeyChannel> made(
      new KeyChannel(std::move(*channel), std::move(config), reactor, deadline));
  if (auto watched = made->watch(); !watched) return tl::unexpected(watched.error());
  return made;
}

// For what the channel waits for now.
Expected<void> KeyChannel::watch() {
  if (ended()) {
    watch_.reset();
    return {};
  }
  const std::uint32_t wanted = channel_->events();
  if (watch_ && wanted == std::exchange(watched_, wanted)) return {};
  watched_ = wanted;
  if (watch_) return reactor_.change_events(watch_, wanted);
  auto watch =
      reactor_.watch(channel_->descriptor(), wanted, [this](std::uint32_t) { config_.ready(); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void KeyChannel::run(Time now) {
  if (ended()) return;
  channel_->run(now);
  auto done = talk(now);
  if (done && !ended() && !cipher_ && now >= deadline_) {
    done = fail(std::errc::timed_out, "the other end did not say in time which ciphers it has");
  }
  if (done) done = watch();
  if (done) return;
  error_ = std::move(done.error());
  close();
}

void KeyChannel::close() {
  watch_.reset();
  channel_->close();
}

std::optional<Time> KeyChannel::deadline() const {
  if (cipher_ || ended()) return std::nullopt;
  return deadline_;
}

const std::optional<Error>& KeyChannel::error() const {
  return channel_->error() ? channel_->error() : error_;
}

Expected<void> KeyChannel::offer() {
  offered_ = true;
  return channel_->send(wan::KeyOffer{.ciphers = io::preferred_aeads()}.write());
}

Expected<void> KeyChannel::agree(Bytes message, Time now) {
  const auto heard = wan::KeyOffer::read(message);
  if (!heard) return tl::unexpected(heard.error());
  if (cipher_) return fail(std::errc::protocol_error, "the other end makes a second offer");
  const auto own = io::preferred_aeads();
  const auto cipher = config_.role == io::TlsRole::kClient
                          ? wan::agree_on_cipher(own, heard->ciphers)
                          : wan::agree_on_cipher(heard->ciphers, own);
  if (!cipher) {
    return fail(std::errc::not_supported, "the other end has no cipher that this one has too");
  }
  auto keys = draw_keys(*cipher, 0);
  if (!keys) return tl::unexpected(keys.error());
  keys_ = std::move(*keys);
  cipher_ = cipher;
  agreed_at_ = now;
  return offered_ ? Expected<void>() : offer();
}

Expected<void> KeyChannel::talk(Time now) {
  using State = io::TlsChannel::State;
  if (channel_->state() == State::kOpening) return {};
  if (channel_->state() == State::kOpen && config_.role == io::TlsRole::kClient && !offered_) {
    if (auto said = offer(); !said) return said;
  }
  while (const auto message = channel_->receive()) {
    if (auto agreed = agree(*message, now); !agreed) return agreed;
  }
  return {};
}

Expected<wan::SealKeys> KeyChannel::draw_keys(AeadAlgorithm cipher, std::uint8_t way) const {
  std::array<std::byte, sizeof(std::uint64_t)> name{};
  const MutableBytes low = MutableBytes(name).last(kNameBytes);
  const std::array said{std::byte(way)};
  const Bytes context = way == 0 ? Bytes() : Bytes(said);
  if (auto drawn = channel_->export_secret(kNameLabel, context, low); !drawn) {
    return tl::unexpected(drawn.error());
  }
  const auto keys = [&](io::TlsDirection direction) {
    return std::make_unique<ChannelKeys>(channel_, cipher, direction, way);
  };
  return wan::SealKeys{.name = wire::load_be64(name.data()),
                       .outgoing = keys(io::TlsDirection::kOutgoing),
                       .incoming = keys(io::TlsDirection::kIncoming)};
}

std::optional<wan::SealKeys> KeyChannel::take_keys() {
  return std::exchange(keys_, std::nullopt);
}

std::optional<wan::SealKeys> KeyChannel::keys_of_way(std::uint8_t way) const {
  auto keys = cipher_ ? draw_keys(*cipher_, way) : fail(std::errc::not_connected, "no cipher yet");
  if (!keys) return std::nullopt;
  return std::move(*keys);
}

}  // namespace weft::daemon
