# SPDX-License-Identifier: Apache-2.0
"""What only programs ask of a subnet administrator: joins, registrations and subscriptions, methods
that an attribute does not have, and questions that are wrong."""
import sa_client as sa

ATTRIBUTES = {name: getattr(sa, name) for name in (
    "CLASS_PORT_INFO INFORM_INFO NODE PORT_INFO SL_TO_VL SWITCH_INFO LINEAR MULTICAST SM_INFO LINK "
    "GUID_INFO SERVICE PKEY PATH VL_ARBITRATION MEMBER TRACE MULTI_PATH INFORM_RECORD").split()}
ATTRIBUTES["NOTHING"] = 0x7654
METHODS = {"Get": sa.GET, "Set": sa.SET, "GetTable": sa.GET_TABLE, "GetMulti": sa.GET_MULTI,
           "Delete": sa.DELETE}
FULL, NON, SEND_ONLY = 1, 2, 4
MGID = 0xFF12401BFFFF00000000000000000042
ZERO = b"\0"
FOR_EVER = 0xFFFFFFFF
NAMELESS = 0x7766554433221100


class Questions:
    """Asked in order: later ones build on what earlier ones have done."""

    def __init__(self, administrator, gids):
        """`gids` are numbers, by the name of the port; the questions come from that of node b."""
        self.administrator = administrator
        self.gids = gids

    def all(self):
        yield from self.methods()
        yield from self.paths()
        yield from self.several_paths()
        yield from self.groups()
        yield from self.services()
        yield from self.subscriptions()

    def methods(self):
        """Without a component: of each attribute each method; and with a key that is none."""
        yield "sa wrong key", self.administrator.ask(sa.GET_TABLE, sa.NODE, sm_key=2)
        for name, attribute in ATTRIBUTES.items():
            for method, number in METHODS.items():
                answer = self.administrator.ask(number, attribute)
                answer.records = answer.records[:1] if name == "CLASS_PORT_INFO" else []
                yield f"sa {method} {name}", answer

    def one(self, words, method, attribute, layout, **fields):
        mask, data = sa.components(fields, layout)
        return f"sa {words}", self.administrator.ask(method, attribute, mask, data)

    def paths(self):
        a, b, d = (self.gids[name] for name in "abd")
        def path(words, method=sa.GET, **fields):
            return self.one(f"path: {words}", method, sa.PATH, sa.PATH_FIELDS, **fields)
        yield path("one", sgid=b, dgid=d)
        yield path("of others", sgid=a, dgid=d)
        yield path("one of several", sgid=b)
        yield path("to nowhere", sgid=b, dgid=d + 0x100)
        yield path("from nowhere", sgid=b + 0x100, dgid=d)
        yield path("to a LID that nobody has", sgid=b, dlid=4000)
        yield path("GID and LID of two ports", sgid=b, dgid=d,
                   dlid=self.administrator.lid)
        yield path("to another subnet", sgid=b, dgid=d ^ 1 << 100)
        yield path("to a group that there is not", sgid=b, dgid=MGID)
        yield path("to a group", sgid=b, dgid=0xFF12401BFFFF000000000000FFFFFFFF)
        yield path("no packets that are not raw", sgid=b, dgid=d, raw=1)
        yield path("none", sgid=b, dgid=d, paths=0)
        yield path("not reversible", sgid=b, dgid=d, reversible=0)
        yield path("hop limit", sgid=b, dgid=d, hops=7)
        yield path("traffic class and flow label", sgid=b, dgid=d, flow=9, **{"class": 7})
        yield path("MTU without selector", sgid=b, dgid=d, mtu=1)
        yield path("selector without MTU", sgid=b, dgid=d, mtu_selector=2)
        yield path("no such MTU", sgid=b, dgid=d, mtu_selector=2, mtu=9)
        yield path("no such rate", sgid=b, dgid=d, rate_selector=2, rate=50)
        yield path("a rate between", sgid=b, dgid=d, rate_selector=1, rate=3)
        yield path("below the least rate", sgid=b, dgid=d, rate_selector=1, rate=2)
        yield path("no table", sa.GET_TABLE, sgid=b, dgid=d + 0x100)

    def several_paths(self):
        a, b, c, d = (self.gids[name] for name in "abcd")
        def paths(words, gids, **fields):
            mask, data = sa.components(fields, sa.MULTI_PATH_FIELDS)
            data = data[:24] + b"".join(gid.to_bytes(16, "big") for gid in gids)
            return f"sa paths: {words}", self.administrator.ask(
                sa.GET_MULTI, sa.MULTI_PATH, mask, data)
        yield paths("one to one", (b, d), paths=1, sources=1, destinations=1)
        yield paths("two to two", (a, b, c, d), paths=4, sources=2, destinations=2)
        yield paths("to nowhere", (b, d + 0x100), paths=1, sources=1, destinations=1)
        yield paths("without counts", (b, d), paths=1)
        yield paths("from nobody", (d,), paths=1, sources=0, destinations=1)
        yield paths("wrong partition", (b, d), paths=1, pkey=0x1234, sources=1, destinations=1)

    def groups(self):
        b, c = self.gids["b"], self.gids["c"]
        full = {"mgid": MGID, "gid": b, "state": FULL}
        like = {**full, "qkey": 0xB1B, "pkey": 0xFFFF, "sl": 0, "flow": 0, "class": 0}
        def join(words, method=sa.SET, **fields):
            return self.one(f"group: {words}", method, sa.MEMBER, sa.MEMBER_FIELDS, **fields)
        yield join("join none", **full)
        yield join("leave none", sa.DELETE, **full)
        yield join("without state", **{**like, "state": 0})
        yield join("made by no full member", **{**like, "state": NON})
        yield join("in no partition of its maker", **{**like, "pkey": 0x8123})
        yield join("of no multicast GID", **{**like, "mgid": b})
        yield join("for nobody", **{**like, "gid": b + 0x100})
        yield join("with a reserved scope", **{**like, "mgid": MGID & ~(0xF << 112)})
        yield join("with too great an MTU", mtu_selector=2, mtu=6, **like)
        yield join("with an MTU that is none", mtu_selector=2, mtu=0, **like)
        yield join("with too high a rate", rate_selector=2, rate=8, **like)
        yield join("make", mtu_selector=2, mtu=4, rate_selector=2, rate=3, life_selector=2,
                   life=18, scope=2, **like)
        yield join("once more", **full)
        yield join("with another Q_Key", **{**like, "qkey": 7})
        yield join("with another P_Key", **{**like, "pkey": 0x8123})
        yield join("with another SL", **{**like, "sl": 3})
        yield join("with an MTU that fits", mtu_selector=0, mtu=3, **full)
        yield join("with an MTU that does not fit", mtu_selector=0, mtu=4, **full)
        yield join("with a rate that does not fit", rate_selector=1, rate=3, **full)
        yield join("with another scope", scope=5, **full)
        yield join("as sender too", **{**full, "state": SEND_ONLY})
        yield join("for another", **{**full, "gid": c})
        yield join("find", sa.GET, **full)
        yield join("find by MGID", sa.GET_TABLE, mgid=MGID)
        yield join("leave as what it is not", sa.DELETE, **{**full, "state": NON})
        yield join("leave as sender", sa.DELETE, **{**full, "state": SEND_ONLY})
        yield join("leave for the other", sa.DELETE, **{**full, "gid": c})
        yield join("leave", sa.DELETE, **full)
        yield join("leave again", sa.DELETE, **full)
        yield join("find none", sa.GET, **full)

    def services(self):
        b = self.gids["b"]
        name = int.from_bytes(b"a service".ljust(64, b"\0"), "big")
        like = {"id": NAMELESS, "gid": b, "pkey": 0xFFFF, "name": name}
        def service(words, method=sa.SET, **fields):
            return self.one(f"service: {words}", method, sa.SERVICE, sa.SERVICE_FIELDS, **fields)
        yield service("delete none", sa.DELETE, **like)
        yield service("without GID", id=NAMELESS)
        yield service("without lease", **like)
        yield service("with a lease", lease=FOR_EVER, data=7, **like)
        yield service("of nobody", **{**like, "gid": b + 0x100}, lease=1000)
        yield service("in no partition of its own", **{**like, "pkey": 0x8123}, lease=1000)
        yield service("with a key", **{**like, "id": NAMELESS + 1}, lease=FOR_EVER, key=5)
        yield service("with another key", **{**like, "id": NAMELESS + 1}, lease=FOR_EVER, key=6)
        yield service("find by name", sa.GET_TABLE, name=name)
        yield service("find by number", sa.GET, id=NAMELESS)
        yield service("delete with another key", sa.DELETE, **{**like, "id": NAMELESS + 1}, key=6)
        yield service("delete with its key", sa.DELETE, **{**like, "id": NAMELESS + 1}, key=5)
        yield service("delete", sa.DELETE, **like)
        yield service("find no more", sa.GET_TABLE, name=name)

    def subscriptions(self):
        every = {"first": 0xFFFF, "last": 0, "generic": 1, "type": 0xFFFF, "trap": 64,
                 "producer": 0xFFFFFF, "subscribe": 1}
        def inform(words, **fields):
            return self.one(f"inform: {words}", sa.SET, sa.INFORM_INFO, sa.INFORM_FIELDS, **fields)
        yield inform("end what there is not", **{**every, "subscribe": 0})
        yield inform("port that came", **every)
        yield inform("once more", **every)
        yield inform("of a LID that nobody has", **{**every, "first": 4000, "last": 4000})
        yield inform("of LIDs backwards", **{**every, "first": 5, "last": 3})
        yield "sa inform: records", self.administrator.ask(sa.GET_TABLE, sa.INFORM_RECORD)
        yield inform("end without QPN", **{**every, "subscribe": 0})
        yield inform("end", **{**every, "subscribe": 0, "qpn": 1})
        yield "sa inform: fewer records", self.administrator.ask(sa.GET_TABLE, sa.INFORM_RECORD)


def text_of(answer):
    """As the tools write: a field in a line, and records apart."""
    if answer.status is None:
        return ""
    lines = ["Answer dump:", f"method..............{answer.method:#04x}",
             f"status..............{answer.status:#06x}"]
    for number, record in enumerate(sorted(answer.records)):
        lines += ["Record dump:", f"Record..............{number}"]
        lines += [f"bytes {at}..............{record[at:at + 4].ljust(4, ZERO).hex()}"
                  for at in range(0, len(record), 4)]
    return "\n".join(lines) + "\n"
