// SPDX-License-Identifier: Apache-2.0
// Paths through a socket of the kernel's IP, which tells by its address from whom a datagram is.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/wan/remote_path.h"
#include "io/destination_options.h"
#include "io/socket_address.h"
#include "wan/encapsulation/options_layer.h"

namespace weft::daemon {

// Where the extender of a remote listens; nothing: it comes here.
[[nodiscard]] std::optional<io::SocketAddress> address_of(const fabric::LabRemote& remote);

// And by other ways.
[[nodiscard]] std::vector<io::SocketAddress> more_addresses_of(const fabric::LabRemote& remote);

// Whether its encapsulation has a layer.
[[nodiscard]] bool has_layer(const fabric::LabRemote& remote, std::string_view name);
// Whether credit goes beside its frames, in IPv6 options.
[[nodiscard]] inline bool has_options(const fabric::LabRemote& remote) {
  return has_layer(remote, "options");
}

// Bytes of the longest frame that gets there whole, with so many bytes between it and the IP
// header.
[[nodiscard]] std::size_t frame_that_fits(const io::SocketAddress& remote, std::size_t headers);

class AddressedPath : public RemotePath {
 public:
  // Without a remote it is whoever comes first, or who can prove that he is: set_remote().
  explicit AddressedPath(const std::optional<io::SocketAddress>& remote, std::size_t place = 0)
      : fixed_(remote.has_value()), remote_(remote), place_(place) {}

  // Nothing: nobody has come.
  [[nodiscard]] const std::optional<io::SocketAddress>& remote() const { return remote_; }
  // Whether it would take whoever sends from there for its remote: that is not fixed, and has not
  // come or is lost.
  [[nodiscard]] bool takes_stranger(const Gid& host) const {
    if (fixed_ || user().claims || !may_be_at(host)) return false;
    return !remote_ || !user().lost || user().lost();
  }
  // Whether its remote may still be at the host where it was.
  [[nodiscard]] bool may_still_be_at(const Gid& host) const { return fixed_ || may_be_at(host); }
  // Whether its remote, being where it was, comes by this one of the sockets: by any, where its
  // address is known.
  [[nodiscard]] bool comes_by(std::size_t place) const { return fixed_ || place == place_; }
  // Whether this may be its remote's, as far as can be told before it is looked at.
  [[nodiscard]] bool owns(Bytes frame) const { return !user().claims || user().claims(frame); }
  // Whether what a stranger has sent may be its remote's, from another place than before.
  [[nodiscard]] bool claims(Bytes frame) const {
    return !fixed_ && user().claims && user().claims(frame);
  }
  // `place`: of the sockets that lead there, which one.
  void set_remote(const io::SocketAddress& remote, std::size_t place, Time now);
  // Carries options where the remote is reached by IPv6, if its socket may send such.
  void carry_options() { carries_options_ = true; }

  [[nodiscard]] std::string remote_text() const override {
    return remote_ ? remote_->to_string() : std::string();
  }
  // wan::Path
  [[nodiscard]] bool established() const override { return remote_.has_value(); }
  // RemotePath
  [[nodiscard]] std::size_t place() const override { return place_; }
  [[nodiscard]] std::size_t options_room() const override {
    return carries_options_ && remote_ && !remote_->is_ipv4() ? wan::OutPacket::kMostOptions : 0;
  }

 protected:
  // The remote is another one, or at another place.
  virtual void moved() = 0;

 private:
  const bool fixed_;
  bool carries_options_ = false;
  std::optional<io::SocketAddress> remote_;
  std::size_t place_;
};

// The header of destination options around those of a frame, as the kernel takes it; empty where
// there are none.
class OptionsHeader {
 public:
  explicit OptionsHeader(Bytes options);
  OptionsHeader(const OptionsHeader&) = delete;
  OptionsHeader& operator=(const OptionsHeader&) = delete;
  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_).first(size_); }

 private:
  const std::size_t size_;
  std::array<std::byte, io::kMostDestinationOptions> bytes_;
};

// Where an extender listens.
[[nodiscard]] std::vector<io::SocketAddress> listens_of(const fabric::LabExtender& extender);
// Of these, from which a way to a remote leaves: the one of its number, if that has the version of
// IP that is around the remote's frames, or the first that has; without any, the first.
[[nodiscard]] std::size_t listen_for(const fabric::LabExtender& extender,
                                     const fabric::LabRemote& remote, std::size_t way);

// Those of one socket, by their addresses. They belong to somebody else.
class PathsByAddress {
 public:
  // Where packets have no ports, by the addresses alone.
  explicit PathsByAddress(bool ports = true) : ports_(ports) {}

  void add(AddressedPath& path) { paths_.push_back(&path); }
  // `place`: of several sockets, by which it came.
  [[nodiscard]] AddressedPath* find(const io::SocketAddress& source, std::size_t place = 0) const;
  // Gives a frame to the path whose remote has sent it; `known` is find(source, place). False: that
  // is a stranger.
  bool receive(AddressedPath* known, const io::SocketAddress& source, Bytes frame, Time now,
               const RemotePath::Beside& beside, std::size_t place = 0) const;

 private:
  [[nodiscard]] AddressedPath* find_for_stranger(const io::SocketAddress& source, Bytes frame,
                                                 std::size_t place, Time now) const;
  const bool ports_;
  std::vector<AddressedPath*> paths_;
};

}  // namespace weft::daemon
