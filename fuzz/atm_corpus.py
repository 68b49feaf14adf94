# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz targets of src/wan/line/atm, made by hand: make_corpus.py writes them."""
import random
import struct

PASS, PACKET, OCTETS, CELL, INTERRUPT, TIME, CLOSE = range(7)
FINE = b"\0\0\0"  # no bit wrong, none missing, none added

USER, NETWORK = 0, 1
(ESTABLISH, PLACE, ANSWER, RELEASE, ENQUIRE, EXCHANGE, WAIT, PDU, MESSAGE, END) = range(10)


def _packet(size):
    return bytes((PACKET, size)) + bytes(range(size)) + b"\0"


def _run(pieces, harm=FINE):
    return (bytes((PASS, 255)) + harm) * pieces


def atm_cells():
    """(name, bytes): scrambled or not and the longest packet, then steps."""
    for scrambled in (0, 1):
        name = "scrambled" if scrambled else "clear"
        first = bytes((0x40 | scrambled,))
        start = first + _run(3)
        yield f"packets-{name}", start + (_packet(20) + _packet(90) + _run(2)) * 3
        wrong = b"\xff" + struct.pack(">HB", 60, 3) + b"\0\0"
        yield f"wrong-bit-{name}", start + _packet(90) + _run(1, wrong) + _run(4)
        gone = b"\0\xff" + struct.pack(">H", 77) + b"\0"
        yield f"octet-gone-{name}", start + _packet(90) + _run(1, gone) + _run(8)
        more = b"\0\0\xff\x11"
        yield f"octets-more-{name}", start + _packet(90) + _run(1, more) + _run(8)
        yield f"interrupted-{name}", start + _packet(90) + bytes((INTERRUPT,)) + _run(6)
        yield f"loopback-{name}", start + (bytes((TIME, 200)) + _run(1)) * 4
        body = bytes((CELL, 53)) + bytes((0, 0x10, 2, 0x80, 0)) + bytes(48)
        last = bytes((CELL, 53)) + bytes((0, 0x10, 2, 0x82, 0)) + bytes(48)
        yield f"cells-beside-{name}", start + (body + b"\0") * 4 + last + b"\0" + _run(1)
        yield f"too-much-{name}", start + (body + b"\0") * 14 + last + b"\0" + _run(1)
        yield f"never-ends-{name}", (start + body + b"\0" + _run(20) + bytes((TIME, 1))
                                     + bytes((CLOSE,)))
        own = bytes((CELL, 53)) + bytes((0, 0, 6, 0x4A, 0, 0x18, 1)) + bytes(46)
        yield f"bad-maintenance-{name}", start + own + b"\1" + _run(1)
    source = random.Random(1)
    yield "noise", b"\0" + (bytes((OCTETS, 200)) + source.randbytes(200)) * 3
    yield "too-long", b"\0" + _run(3) + bytes((PACKET, 255)) + bytes(255) + b"\3" + _run(8)


def _message(kind, content, call=1, flag=0):
    head = bytes((9, 3)) + struct.pack(">I", flag << 23 | call)[1:] + bytes((kind, 0x80, 0, 0))
    return head + content


def _element(kind, content):
    return bytes((kind, 0x80)) + struct.pack(">H", len(content)) + content


SETUP = (_element(0x59, bytes((0x84, 0, 1, 0, 0xBE))) + _element(0x5E, bytes((0x10, 0x80, 0x80)))
         + _element(0x70, bytes((0x82,)) + bytes(20)) + _element(0x5C, bytes(2))
         + _element(0x58, bytes((5, 0x8C, 1, 0, 0x81, 1, 0)))
         + _element(0x6C, bytes((0x02, 0x80)) + bytes(20)))


def atm_signalling():
    """(name, bytes): steps, each of a side."""
    link = bytes((USER, ESTABLISH, 0, EXCHANGE)) + bytes(20)
    place = bytes((USER, PLACE, 0, 0, EXCHANGE)) + bytes(20)
    answer = bytes((NETWORK, ANSWER, 0, 0, 0, EXCHANGE)) + bytes(20)
    connect = bytes((NETWORK, ANSWER, 0, 1, 0, EXCHANGE)) + bytes(20)
    wait = bytes((0, WAIT, 0x20, 0, 0, EXCHANGE)) + bytes(20)
    yield "call", link + place + answer + connect + bytes((0, RELEASE, 0, 0, EXCHANGE)) + wait * 2
    yield "call-of-the-network", (link + bytes((NETWORK, PLACE, 0, 0, EXCHANGE)) + bytes(20)
                                  + bytes((USER, ANSWER, 0, 1, 0, EXCHANGE)) + bytes(20) + wait)
    yield "nobody-answers", link + place + bytes((0, WAIT, 0xFF, 0xFF)) * 4
    yield "enquiry", link + place + connect + bytes((0, ENQUIRE, 0, 0, EXCHANGE)) + bytes(20)
    yield "enquiry-lost", link + place + connect + bytes((0, ENQUIRE, 0)) + bytes(
        (0, WAIT, 0x11, 0)) * 4
    yield "restart", link + place + connect + bytes((0, END, 0xFF, 0, 0, EXCHANGE)) + bytes(20)
    yield "link-released", link + place + bytes((0, END, 0, 0xFF, 0, EXCHANGE)) + wait
    for kind in (2, 5, 7, 0x0F, 0x46, 0x4D, 0x4E, 0x5A, 0x75, 0x7D, 0x99):
        for flag in (0, 1):
            content = {5: SETUP, 0x46: _element(0x79, b"\x82"), 0x4E: _element(0x79, b"\x82"),
                       0x7D: _element(0x14, b"\x0a") + _element(8, b"\x80\x9e")}.get(kind, b"")
            for call in (0, 1):
                message = _message(kind, content, call, flag)
                step = bytes((USER, MESSAGE, len(message))) + message
                yield f"message-{kind:02x}-{flag}-{call}", link + place + step + step + wait
    cut = _message(0x4D, _element(8, b"\x80\x90"))[:-1]
    yield "bad-release", link + place + bytes((USER, MESSAGE, len(cut))) + cut
    for kind in range(1, 16):
        for size in (4, 8, 12, 20):
            pdu = bytes(size - 4) + bytes((kind, 0, 0, 1))
            yield f"pdu-{kind}-{size}", link + bytes((NETWORK, PDU, size)) + pdu + wait


def corpora():
    """(target, seeds) of each."""
    yield "atm_cells", atm_cells()
    yield "atm_signalling", atm_signalling()
