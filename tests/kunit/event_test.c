// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* event.c: each status and event has a name, and each stream error an event. */
#include <kunit/test.h>
#include "queue/event.h"

static void everything_has_a_name(struct kunit *test)
{
	u32 i;

	for (i = 0; i < SRNIC_WC_COUNT; i++) {
		const char *name = srnic_wc_status_name(i);

		KUNIT_ASSERT_NOT_NULL(test, name);
		KUNIT_EXPECT_STRNEQ(test, name, "?");
		/* only SRNIC_WC_SUCCESS is a success (CP-06) */
		KUNIT_EXPECT_EQ_MSG(test, !srnic_wc_verbs_status(i), i == SRNIC_WC_SUCCESS,
				    "%s", name);
	}
	KUNIT_EXPECT_STREQ(test, srnic_wc_status_name(SRNIC_WC_COUNT), "?");
	for (i = 0; i < SRNIC_EV_COUNT; i++) {
		KUNIT_ASSERT_NOT_NULL(test, srnic_event_name(i));
		KUNIT_EXPECT_STRNEQ(test, srnic_event_name(i), "?");
	}
	KUNIT_EXPECT_STREQ(test, srnic_event_name(SRNIC_EV_COUNT), "?");
}

/* RDMAC verbs Figure 24, AE-07 to AE-19 */
static void events_of_errors(struct kunit *test)
{
	static const struct {
		enum rdmap_err err;
		enum srnic_event event;
	} rows[] = {
		{ RDMAP_OK, SRNIC_EV_NONE },
		{ RDMAP_E_CRC, SRNIC_EV_LLP_CRC },
		{ RDMAP_E_FPDU_LENGTH, SRNIC_EV_LLP_SEGMENT_SIZE },
		{ RDMAP_E_MARKER, SRNIC_EV_LLP_BAD_FPDU },
		{ RDMAP_E_LLP_LOST, SRNIC_EV_LLP_LOST },
		{ RDMAP_E_DDP_VERSION_TAGGED, SRNIC_EV_DDP_VERSION },
		{ RDMAP_E_DDP_VERSION_UNTAGGED, SRNIC_EV_DDP_VERSION },
		{ RDMAP_E_RDMAP_VERSION, SRNIC_EV_RDMAP_VERSION },
		{ RDMAP_E_OPCODE, SRNIC_EV_OPCODE },
		{ RDMAP_E_QN, SRNIC_EV_DDP_QN },
		{ RDMAP_E_NO_L_BIT, SRNIC_EV_NO_L_BIT },
		{ RDMAP_E_READ_LONG, SRNIC_EV_READ_REQUEST_SIZE },
		{ RDMAP_E_READ_SHORT, SRNIC_EV_READ_REQUEST_SIZE },
		{ RDMAP_E_READ_MO, SRNIC_EV_READ_REQUEST_SIZE },
		{ RDMAP_E_TAGGED_STAG, SRNIC_EV_TAGGED_STAG },
		{ RDMAP_E_TAGGED_BOUNDS, SRNIC_EV_TAGGED_BOUNDS },
		{ RDMAP_E_TAGGED_ACCESS, SRNIC_EV_TAGGED_ACCESS },
		{ RDMAP_E_TAGGED_STREAM, SRNIC_EV_TAGGED_PD },
		{ RDMAP_E_TAGGED_WRAP, SRNIC_EV_TAGGED_WRAP },
		{ RDMAP_E_BAD_CLOSE, SRNIC_EV_BAD_LLP_CLOSE },
		{ RDMAP_E_CQ_OVERFLOW, SRNIC_EV_CQ_SQ },
		{ RDMAP_E_RQ_CQ_OVERFLOW, SRNIC_EV_CQ_RQ },
		{ RDMAP_E_SRQ, SRNIC_EV_SRQ_ON_QP },
		{ RDMAP_E_RING, SRNIC_EV_QP_CATASTROPHIC },
		{ RDMAP_E_WRITE_DISABLED, SRNIC_EV_WRITE_NOT_ENABLED },
		{ RDMAP_E_READ_DISABLED, SRNIC_EV_READ_NOT_ENABLED },
		{ RDMAP_E_NO_RQE, SRNIC_EV_RQ_MSN_RANGE },
		{ RDMAP_E_MSN, SRNIC_EV_RQ_MSN_GAP },
		{ RDMAP_E_IRD, SRNIC_EV_IRRQ_TOO_MANY },
		{ RDMAP_E_IRRQ_MSN, SRNIC_EV_IRRQ_MSN_GAP },
		{ RDMAP_E_READ_STAG, SRNIC_EV_IRRQ_STAG },
		{ RDMAP_E_READ_BOUNDS, SRNIC_EV_IRRQ_BOUNDS },
		{ RDMAP_E_READ_ACCESS, SRNIC_EV_IRRQ_ACCESS },
		{ RDMAP_E_READ_STREAM, SRNIC_EV_IRRQ_PD },
		{ RDMAP_E_READ_WRAP, SRNIC_EV_IRRQ_WRAP },
		{ RDMAP_E_ATOMIC_OPCODE, SRNIC_EV_ATOMIC_OPERATION },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, srnic_event_of(rows[i].err), rows[i].event,
				    "row %u", i);
}

/* No error is silent; iw_cm reports those of the start-up */
static void every_error_has_an_event(struct kunit *test)
{
	u32 err;

	for (err = RDMAP_OK + 1; err < RDMAP_ERR_COUNT; err++) {
		if (err >= RDMAP_E_MPA_HELLO && err <= RDMAP_E_MPA_LOCAL)
			continue;
		KUNIT_EXPECT_NE_MSG(test, srnic_event_of(err), SRNIC_EV_NONE, "error %u",
				    err);
	}
	KUNIT_EXPECT_EQ(test, srnic_event_of(RDMAP_ERR_COUNT), SRNIC_EV_NONE);
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(everything_has_a_name),
	KUNIT_CASE(events_of_errors),
	KUNIT_CASE(every_error_has_an_event),
	{}
};

static struct kunit_suite event_suite = {
	.name = "srnic-event",
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);
