# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Changes of rdma-core's tests for rdma_cm: where iWARP differs, and tests of features that they
only try with QPs which are not available here.
"""

import tests.base as base
import tests.test_mr as test_mr
import tests.test_qpex as test_qpex
import tests.utils as u
from pyverbs.base import inc_rkey
from pyverbs.mr import MW, MWBindInfo
from pyverbs.pyverbs_error import PyverbsRDMAError

import rdmacm
from constants import e

# As fit.list, for the tests that run over rdma_cm.
RULES = [
    ('*_qp_ex_rc_atomic_write', 'over rdma_cm there is no atomic write'),
    ('*_qp_ex_rc_flush*', 'over rdma_cm there is no flush'),
    ('*.test_qp_ex_rc_send_imm', 'over rdma_cm there is no Send with immediate data'),
    ('*.test_timestamp_free_running_rc_traffic', 'skips: converts the clock of an mlx5'),
    ('*.test_post_*_qp_state_bad_flow',
     'a QP in RTS cannot be reset, and takes WRs when it is at rest (RDMAC 6.2)'),
    ('*QpExTestCase.test_qp_ex_rc_bind_mw',
     'a Write completes before the peer judges it: BindMwTest instead'),
    ('test_odp.*_huge_*', 'skips: User Mode Linux has no huge pages'),
    ('test_parent_domain.*_huge_page_*', 'skips: User Mode Linux has no huge pages'),
]


# The tests of a full queue and of a long list take any QP.
test_qpex.QpExUDSend = test_qpex.QpExRCSend


class Statuses:
    """
    InfiniBand reports the peer's error to the sender. iWARP ends the stream: the peer's own WR
    has the error, and the sender's outstanding WRs are flushed.
    """

    STATUS = {'Remote operation error': 'Local protection error',
              'Remote access error': 'WR flush error'}

    def assertRaisesRegex(self, expected, regex, *args, **kwargs):
        return super().assertRaisesRegex(expected, self.STATUS.get(regex, regex),
                                         *args, **kwargs)


class MWTest(Statuses, test_mr.MWTest):
    pass


class MRTest(Statuses, test_mr.MRTest):
    """A stream that has ended is not resumed: the QPs are connected anew."""

    def restate_qps(self):
        for player in self.server, self.client:
            player.qp.modify(base.QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
        rdmacm.disconnect_all()
        for player in self.server, self.client:
            while player.cq.poll(16)[0]:
                pass
            player.qp.modify(base.QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
            player.qp.to_init(player.create_qp_attr())
        self.client.to_rts()


class SrqTest(base.RDMATestCase):
    """Both players receive from an SRQ, which two QPs share."""

    def test_srq_traffic(self):
        self.client = base.RCResources(**self.dev_info, with_srq=True, qp_count=2)
        self.server = base.RCResources(**self.dev_info, with_srq=True, qp_count=2)
        self.client.pre_run(self.server.psns, self.server.qps_num)
        self.server.pre_run(self.client.psns, self.client.qps_num)
        u.traffic(self.client, self.server, 50, self.gid_index, self.ib_port)


class BindMwTest(base.RDMATestCase):
    """A window is bound with ibv_wr_bind_mw(), with and without remote write."""

    def bind(self, access):
        self.client = test_qpex.QpExRCBindMw(**self.dev_info)
        self.server = test_qpex.QpExRCBindMw(**self.dev_info)
        self.client.pre_run(self.server.psns, self.server.qps_num)
        self.server.pre_run(self.client.psns, self.client.qps_num)
        self.mw = MW(self.server.pd, mw_type=e.IBV_MW_TYPE_2)
        key = inc_rkey(self.mw.rkey)
        qp = self.server.qp
        qp.wr_start()
        qp.wr_id, qp.wr_flags = 1, e.IBV_SEND_SIGNALED
        qp.wr_bind_mw(self.mw, key, MWBindInfo(self.server.mr, self.server.mr.buf,
                                               self.server.mr.length, access))
        qp.wr_complete()
        u.poll_cq(self.server.cq)
        return key

    def write(self, key):
        sge = u.get_send_elements(self.client, False)[1]
        qp = self.client.qp
        qp.wr_start()
        qp.wr_id, qp.wr_flags = 2, e.IBV_SEND_SIGNALED
        qp.wr_rdma_write(key, self.server.mr.buf)
        qp.wr_set_sge(sge)
        qp.wr_complete()
        u.poll_cq(self.client.cq)

    def test_write(self):
        key = self.bind(e.IBV_ACCESS_REMOTE_WRITE)
        self.server.mr.write('s' * self.server.msg_size, self.server.msg_size)
        self.write(key)
        u.validate(self.server.mem_read(), True, self.server.msg_size)

    def test_write_without_right(self):
        key = self.bind(e.IBV_ACCESS_REMOTE_READ)
        self.server.mr.write('s' * self.server.msg_size, self.server.msg_size)
        self.write(key)
        with self.assertRaisesRegex(PyverbsRDMAError, 'Completion status'):
            self.server.mem_read()
        # nothing was placed
        u.validate(self.server.mr.read(self.server.msg_size, 0), False, self.server.msg_size)


ADAPTED = {test_mr.MRTest: MRTest, test_mr.MWTest: MWTest}
OWN = [SrqTest, BindMwTest]


def adapt(test):
    """The test in the class with the iWARP variant, if there is one."""
    cls = ADAPTED.get(type(test))
    return cls(test._testMethodName) if cls else test
