# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Resources of rdma-core's tests whose QPs are connected by rdma_cm.

The tests make two players in one process, each with QPs of its own, and let each of them modify
its QPs to RTR and RTS with the address and the QP number of the other. An iWARP QP enters RTS by
a connection instead. The only change is therefore RCResources.to_rts().
"""

import importlib

import tests.base as base
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.wr import SGE, SendWR

from constants import ce, e

PORT = 7500

address = None
utils = None        # tests.utils, which derives from the tests' resources itself
connections = {}    # {qp numbers of both ends} -> Connection
players = {}        # qp number -> resources


def expect(channel, event_type):
    """The next event, which must be of that type."""
    event = CMEvent(channel)
    if event.event_type != event_type:
        raise PyverbsError(f'expected event {event_type}, got {event.event_str()}')
    return event


class Connection:
    """Two QPs of this process, connected by rdma_cm at both ends."""

    def __init__(self, active_qpn, passive_qpn, reads):
        port = str(PORT + len(connections))
        self.channels = [CMEventChannel(), CMEventChannel()]
        ours, theirs = self.channels
        self.listener = CMID(creator=theirs, port_space=ce.RDMA_PS_TCP)
        self.listener.bind_addr(AddrInfo(src=address, src_service=port,
                                         port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
        self.listener.listen()
        self.active = CMID(creator=ours, port_space=ce.RDMA_PS_TCP)
        self.active.resolve_addr(AddrInfo(src=address, dst=address, dst_service=port,
                                          port_space=ce.RDMA_PS_TCP))
        expect(ours, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
        self.active.resolve_route()
        expect(ours, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
        self.active.connect(ConnParam(**reads, qp_num=active_qpn))
        request = expect(theirs, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
        self.passive = CMID(creator=request, listen_id=self.listener)
        request.ack_cm_event()
        self.passive.accept(ConnParam(**reads, qp_num=passive_qpn))
        expect(ours, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
        expect(theirs, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()

    def close(self):
        ours, theirs = self.channels
        self.active.disconnect()
        expect(ours, ce.RDMA_CM_EVENT_DISCONNECTED).ack_cm_event()
        expect(theirs, ce.RDMA_CM_EVENT_DISCONNECTED).ack_cm_event()
        for cmid in self.active, self.passive, self.listener:
            cmid.close()
        for channel in self.channels:
            channel.close()


def disconnect_all():
    while connections:
        connections.popitem()[1].close()


class RCResources(base.RCResources):
    """The class of that name, connected."""

    def to_rts(self):
        # In rdma-core 44 the players have no numbers of Reads.
        reads = {'resources': getattr(self, 'max_dest_rd_atomic', 1),
                 'depth': getattr(self, 'max_rd_atomic', 1)}
        # The player that comes first makes the connections of both.
        for ours, theirs in zip(self.qps_num, self.rqps_num):
            players[ours] = self
            ends = frozenset((ours, theirs))
            if ends not in connections:
                connections[ends] = Connection(ours, theirs, reads)

    def mem_read(self, size=None, offset=0):
        """
        The tests look at the data of a peer's Write as soon as the Write is complete. With iWARP
        this means that the Write's buffer may be used again, not that the data has been placed. A
        Read behind it ensures that (RFC 5040 5.5).
        """
        peer = players.get(self.rqps_num[0]) if self.rqps_num else None
        if peer is not None:
            nothing = SGE(peer.mr.buf, 0, peer.mr.lkey)
            peer.qp.post_send(SendWR(opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=[nothing]))
            utils.poll_cq(peer.cq)
        return super().mem_read(size, offset)


def install(ip):
    """Let the tests that are imported from now on derive from the class above."""
    global address, utils
    address = ip
    base.RCResources = RCResources
    utils = importlib.import_module('tests.utils')
    # only UD has address handles
    utils.get_global_ah = lambda *_: None
