// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The policy of a device, and its attributes below
 * /sys/class/infiniband/NAME/policy. RDMA netlink has no settings of drivers,
 * so the attributes are in sysfs. A connection copies the policy when it begins;
 * later writes affect later connections only.
 */

#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/sock.h>
#include <rdma/srnic-abi.h>
#include "device/policy_sysfs.h"
#include "ib/ib.h"
#include "queue/holder.h"
#include "srnic.h"

/* A larger FPDU has a ULPDU of MPA_MAX_ULPDU with any number of markers */
#define SRNIC_FPDU_MAX		65535U
/* An FPDU with a ULPDU of MPA_MIN_MULPDU and a marker */
#define SRNIC_FPDU_MIN		140U
/* Kbuild may override it */
#ifndef SRNIC_INLINE_WORK
#define SRNIC_INLINE_WORK	true
#endif
/* Seconds */
#define SRNIC_TIMEOUT_MAX	3600U
/* SRNIC_FOREVER and SRNIC_FPDU_AUTO */
#define POLICY_WORD		(~0U)

/**
 * struct policy_attr - an attribute: a choice of words, or a number
 * @attr: for sysfs
 * @offset: of the field in struct srnic_policy; one byte for a choice, a u32
 *	    for a number
 * @words: NULL-terminated; a word's value is @min plus its index. NULL for a number
 * @min: smallest number; value of the first word
 * @max: largest number
 * @word: what a number may be as well: POLICY_WORD; or NULL
 */
struct policy_attr {
	struct device_attribute attr;
	size_t offset;
	const char * const *words;
	u32 min;
	u32 max;
	const char *word;
};

/* Serializes writers, since fields depend on each other; readers take srnic_policy_owner.lock */
static DEFINE_MUTEX(write_mutex);

static const struct policy_attr *to_policy_attr(const struct device_attribute *attr)
{
	return container_of(attr, struct policy_attr, attr);
}

static struct srnic_device *device_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct srnic_device, ibdev);
}

static struct srnic_policy_owner *owner_of(struct device *device)
{
	return &device_of(device)->policy;
}

static ssize_t policy_show(struct device *device, struct device_attribute *attr, char *buf)
{
	const struct policy_attr *pa = to_policy_attr(attr);
	struct srnic_policy policy = srnic_policy_get(owner_of(device));
	const void *field = (const void *)&policy + pa->offset;

	if (pa->words)
		return sysfs_emit(buf, "%s\n", pa->words[*(const u8 *)field - pa->min]);
	if (pa->word && *(const u32 *)field == POLICY_WORD)
		return sysfs_emit(buf, "%s\n", pa->word);
	return sysfs_emit(buf, "%u\n", *(const u32 *)field);
}

static int policy_parse(const struct policy_attr *pa, const char *buf, u32 *value)
{
	int i;

	if (pa->word && sysfs_streq(buf, pa->word)) {
		*value = POLICY_WORD;
		return 0;
	}
	if (!pa->words) {
		if (kstrtou32(buf, 10, value) || *value < pa->min || *value > pa->max)
			return -EINVAL;
		return 0;
	}
	for (i = 0; pa->words[i]; i++) {
		if (sysfs_streq(buf, pa->words[i])) {
			*value = pa->min + i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The file mode is not enough: root without capabilities owns the file, too */
static bool policy_may_change(void)
{
	return capable(CAP_NET_ADMIN);
}

static void policy_put(const struct policy_attr *pa, struct srnic_policy *policy, u32 value)
{
	void *field = (void *)policy + pa->offset;

	if (pa->words)
		*(u8 *)field = value;
	else
		*(u32 *)field = value;
	policy->mpa.large = policy->max_fpdu == SRNIC_FPDU_AUTO;
}

/* With ib_privileged the listener's port has to be reserved: another port proves nothing */
static int policy_check(const struct srnic_policy *next)
{
	if (next->max_fpdu && next->max_fpdu < SRNIC_FPDU_MIN)
		return -EINVAL;
	return next->ib_privileged && next->ib_port >= PROT_SOCK ? -EINVAL : 0;
}

/* ib_port takes effect at once: srnic holds the port */
static int policy_apply(const struct policy_attr *pa, struct device *device, u32 value)
{
	if (pa->offset != offsetof(struct srnic_policy, ib_port))
		return 0;
	return srnic_rdv_set_port(device_of(device), value);
}

static ssize_t policy_store(struct device *device, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	const struct policy_attr *pa = to_policy_attr(attr);
	struct srnic_policy_owner *owner = owner_of(device);
	struct srnic_policy next;
	u32 value;
	int err;

	if (!policy_may_change())
		return -EPERM;
	if (policy_parse(pa, buf, &value))
		return -EINVAL;
	mutex_lock(&write_mutex);
	next = srnic_policy_get(owner);
	policy_put(pa, &next, value);
	err = policy_check(&next) ?: policy_apply(pa, device, value);
	if (!err) {
		spin_lock(&owner->lock);
		policy_put(pa, &owner->now, value);
		spin_unlock(&owner->lock);
		/* the sockets of UD QPs move if ib_port has changed */
		srnic_ud_ports_changed(device_of(device));
	}
	mutex_unlock(&write_mutex);
	return err ?: count;
}

/* ----- rtr: some of the kinds, in order of preference ----- */

static const struct {
	const char *word;
	u8 kind;
} rtr_kinds[MPA_RTR_KINDS] = {
	{ "write", MPA_RTR_WRITE },
	{ "read", MPA_RTR_READ },
	{ "send", MPA_RTR_SEND },
};

static u8 rtr_kind(const char *word)
{
	int i;

	for (i = 0; i < MPA_RTR_KINDS; i++)
		if (!strcmp(word, rtr_kinds[i].word))
			return rtr_kinds[i].kind;
	return 0;
}

static const char *rtr_word(u8 kind)
{
	int i;

	for (i = 0; i < MPA_RTR_KINDS; i++)
		if (rtr_kinds[i].kind == kind)
			return rtr_kinds[i].word;
	return "";
}

static ssize_t rtr_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct srnic_policy policy = srnic_policy_get(owner_of(device));
	const u8 *order = policy.mpa.rtr_order;
	int i, n = 0;

	for (i = 0; i < MPA_RTR_KINDS && order[i]; i++)
		n += sysfs_emit_at(buf, n, "%s%s", i ? " " : "", rtr_word(order[i]));
	return n + sysfs_emit_at(buf, n, "\n");
}

/* At least one kind (V2-14), each once at most. Modifies @words. */
static int rtr_parse(char *words, struct mpa_policy *mpa)
{
	char *word;
	int n = 0;
	u8 kind;

	mpa->rtr = 0;
	memset(mpa->rtr_order, 0, sizeof(mpa->rtr_order));
	words = strim(words);
	while ((word = strsep(&words, " "))) {
		kind = rtr_kind(word);
		if (!kind || mpa->rtr & kind)
			return -EINVAL;
		mpa->rtr |= kind;
		mpa->rtr_order[n++] = kind;
	}
	return 0;
}

static ssize_t rtr_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	struct srnic_policy_owner *owner = owner_of(device);
	struct mpa_policy mpa = { };
	char *words;
	int err;

	if (!policy_may_change())
		return -EPERM;
	words = kstrndup(buf, count, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	err = rtr_parse(words, &mpa);
	kfree(words);
	if (err)
		return err;
	spin_lock(&owner->lock);
	owner->now.mpa.rtr = mpa.rtr;
	memcpy(owner->now.mpa.rtr_order, mpa.rtr_order, sizeof(mpa.rtr_order));
	spin_unlock(&owner->lock);
	return count;
}

static DEVICE_ATTR_RW(rtr);

/* ----- the others ----- */

static const char * const off_on[] = { "off", "on", NULL };
static const char * const crc_words[] = {
	[MPA_CRC_OFF] = "off",
	[MPA_CRC_REQUIRED] = "required",
	[MPA_CRC_PREFERRED] = "preferred",
	NULL
};

static const char * const revisions[] = { "1", "2", NULL };

/* Return: a pointer to its struct attribute */
#define POLICY(_name, _field, _words, _min, _max, _word)			\
	(&((struct policy_attr) {						\
		.attr = __ATTR(_name, 0644, policy_show, policy_store),		\
		.offset = offsetof(struct srnic_policy, _field),		\
		.words = _words,						\
		.min = _min,							\
		.max = _max,							\
		.word = _word,							\
	}).attr.attr)
#define WORDS(_name, _field, _words, _first)	POLICY(_name, _field, _words, _first, 0, NULL)
#define NUMBER(_name, _field, _min, _max)	POLICY(_name, _field, NULL, _min, _max, NULL)
#define OR_WORD(_name, _field, _min, _max, _word)	\
	POLICY(_name, _field, NULL, _min, _max, _word)

static struct attribute *policy_attrs[] = {
	&dev_attr_rtr.attr,
	WORDS(crc, mpa.crc, crc_words, 0),
	WORDS(markers, mpa.rx_markers, off_on, 0),
	WORDS(mpa_revision, mpa.rev, revisions, 1),
	WORDS(p2p, mpa.p2p, off_on, 0),
	WORDS(inline_work, inline_work, off_on, 0),
	WORDS(ib_privileged, ib_privileged, off_on, 0),
	WORDS(ib_ack, ib_ack, off_on, 0),
	OR_WORD(max_fpdu, max_fpdu, 0, SRNIC_FPDU_MAX, "auto"),
	NUMBER(connect_timeout, connect_timeout, 1, SRNIC_TIMEOUT_MAX),
	NUMBER(request_timeout, request_timeout, 1, SRNIC_TIMEOUT_MAX),
	NUMBER(reply_timeout, reply_timeout, 1, SRNIC_TIMEOUT_MAX),
	NUMBER(accept_timeout, accept_timeout, 1, SRNIC_TIMEOUT_MAX),
	NUMBER(close_timeout, close_timeout, 1, SRNIC_TIMEOUT_MAX),
	NUMBER(keepalive, keepalive, 0, SRNIC_MAX_KEEPALIVE),
	NUMBER(max_user_qps, max_user_qps, 0, SRNIC_USER_MAX_QPS),
	NUMBER(ib_port, ib_port, 0, U16_MAX),
	NUMBER(ib_timeout, ib_timeout, 1, SRNIC_TIMEOUT_MAX),
	OR_WORD(no_receive, no_receive, 0, SRNIC_TIMEOUT_MAX, "forever"),
	NULL
};

/* Not static: device.c passes it to the core */
const struct attribute_group srnic_policy_group = {
	.name = "policy",
	.attrs = policy_attrs,
};

/**
 * srnic_policy_init - set the defaults
 * @owner: of a device that is being created
 * Context: process.
 */
void srnic_policy_init(struct srnic_policy_owner *owner)
{
	spin_lock_init(&owner->lock);
	owner->now = (struct srnic_policy) {
		.mpa = {
			.crc = MPA_CRC_REQUIRED,	/* M-CRC-1 */
			.tx_markers = true,		/* M-MRK-3 */
			.rev = 2,
			.p2p = true,
			.rtr = MPA_RTR_WRITE | MPA_RTR_READ | MPA_RTR_SEND,
			.rtr_order = { MPA_RTR_WRITE, MPA_RTR_READ, MPA_RTR_SEND },
			.max_ird = SRNIC_MAX_IRD,
			.max_ord = SRNIC_MAX_ORD,
		},
		/*
		 * Four retransmissions of the SYN (1, 3, 7, 15 s). Address and
		 * route were resolved before, so a longer time rarely helps.
		 */
		.connect_timeout = 20,
		.request_timeout = 10,		/* M-STA-7, M-STA-8 */
		/*
		 * The peer's application decides when it accepts, so the time is
		 * long. But until then iwcm does not destroy the id, not even for a
		 * process that was killed, unless the QP is destroyed first. (siw:
		 * 5 s, cxgb4: 60 s.)
		 */
		.reply_timeout = 30,
		/*
		 * The initiator has given up by then. This time-out also ends
		 * requests that never reach an application: iwcm drops these
		 * without reject() while a listener is being destroyed.
		 */
		.accept_timeout = 60,
		/* only rdma_disconnect() waits for it */
		.close_timeout = 5,
		/* one small segment a minute; a dead peer is detected in two */
		.keepalive = 60,
		/* the two programs start at about the same time; one may still load data */
		.ib_timeout = 10,
		/*
		 * A program that runs its RQ empty for a moment gets on. A program that has
		 * forgotten its receives learns of it before its user gives up.
		 */
		.no_receive = 1,
		.max_user_qps = srnic_user_max_default(),
		.inline_work = SRNIC_INLINE_WORK,
	};
}
