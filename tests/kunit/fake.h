/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Objects of the core without an RDMA core, a netdev or a user around them. */
#ifndef SRNIC_KUNIT_FAKE_H
#define SRNIC_KUNIT_FAKE_H

#include <kunit/test.h>
#include <linux/cred.h>
#include "qp/qp.h"
#include "queue/cq.h"
#include "queue/holder.h"
#include "srnic.h"

/**
 * struct fake_cq - a CQ of a kernel consumer, and calls of the consumer's handlers
 * @cq: the CQ
 * @notified: calls of the completion handler
 * @errors: calls of the event handler
 */
struct fake_cq {
	struct srnic_cq cq;
	u32 notified;
	u32 errors;
};

/**
 * struct as - another user's credentials, and those before
 * @cred: what the test's task has
 * @old: what it had
 */
struct as {
	struct cred *cred;
	const struct cred *old;
};

int tests_protocol(void);
struct as as_user(struct kunit *test, unsigned int uid, bool resource);
void as_before(struct as as);
struct srnic_device *fake_device(struct kunit *test);
struct ib_pd *fake_pd(struct kunit *test, struct srnic_device *dev);
struct fake_cq *fake_cq(struct kunit *test, struct srnic_device *dev, u32 entries);
void fake_expect_wc(struct kunit *test, struct fake_cq *fake, u64 wr_id,
		    enum srnic_wc_status status);
void fake_expect_no_wc(struct kunit *test, struct fake_cq *fake);
struct srnic_qp *fake_qp_memory(struct kunit *test, struct srnic_device *dev);
void fake_qp_create(struct kunit *test, struct srnic_qp *qp, struct ib_qp_init_attr *init,
		    struct fake_cq *scq, struct fake_cq *rcq);

#endif
