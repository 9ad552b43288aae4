// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rnicpi/: the RNIC Programming Interface of the kernel, from the outside, by its calls. */
#include "rnicpi_pair.h"

/* From attach to detach: two endpoints over the loopback interface talk, and nothing is left */
static void echo(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	pair_recv(p, &p->b, 1, 0, 100);
	pair_recv(p, &p->a, 2, 1000, 100);
	strcpy(p->a.mem, "there");
	pair_send(p, &p->a, 3, 0, 100);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->b.wc.rc_wc.bytes_transferred, 100);
	KUNIT_EXPECT_STREQ(test, p->b.mem, "there");
	pair_expect(p, &p->a, 3, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_send(p, &p->b, 4, 0, 50);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.bytes_transferred, 50);
	KUNIT_EXPECT_STREQ(test, p->a.mem + 1000, "there");
	pair_close(p);
	pair_end_device(p);
	KUNIT_EXPECT_EQ(test, p->detached, 1);
}

static struct kunit_case rnicpi_cases[] = {
	KUNIT_CASE(echo),
	{}
};

static struct kunit_suite rnicpi_suite = {
	.name = "srnic-rnicpi",
	.test_cases = rnicpi_cases,
};

kunit_test_suite(rnicpi_suite);
