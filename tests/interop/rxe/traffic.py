# SPDX-License-Identifier: Apache-2.0
"""What crosses the guest's network, as qemu writes it down, judged piece by piece."""
import ipaddress
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_crc  # noqa: E402 (found by the path above)
import check_standard  # noqa: E402 (likewise)

FILE_HEADER, RECORD_HEADER = 24, 16
PORTS = [(check_crc.ROCE_PORT, check_crc.ROCE_PORT)]


class Traffic:
    """A capture that grows. `senders`: the addresses whose packets have to be the standard's."""

    def __init__(self, path, senders):
        self.path = path
        self.senders = [ipaddress.ip_address(sender) for sender in senders]
        self.at = FILE_HEADER
        self.sent = 0  # by the senders, of what was judged

    def _piece(self):
        """A capture of what has come since the last call: whole records only."""
        with open(self.path, "rb") as file:
            header = file.read(FILE_HEADER)
            file.seek(self.at)
            blob = file.read()
        end = 0
        while end + RECORD_HEADER <= len(blob):
            size = struct.unpack_from("=I", blob, end + 8)[0]  # qemu's own byte order is ours
            if end + RECORD_HEADER + size > len(blob):
                break
            end += RECORD_HEADER + size
        self.at += end
        piece = self.path.with_suffix(".piece")
        piece.write_bytes(header + blob[:end])
        return piece

    def judge(self):
        """None, or what is wrong with what has come since the last call: bits that the standard has
        not in what the senders sent, wrong ICRCs in what anybody sent, or nothing to judge."""
        piece = self._piece()
        wrong = []
        for sender in self.senders:
            for number, packet in check_standard.packets(piece, sender):
                self.sent += 1
                found = check_standard.of_packet(packet)
                if found:
                    wrong.append(f"packet {number} from {sender}: {'; '.join(found)}")
        crcs = check_crc.check_file(piece, PORTS)
        if not crcs["packets"]:
            wrong.append("no RoCEv2 packet was seen")
        wrong += [f"packet {failure['record']}: {'; '.join(failure['wrong'])}"
                  for failure in crcs["failures"]]
        if not wrong:
            return None
        return f"{len(wrong)} packets are not as they should be:\n" + "\n".join(wrong[:10])
