// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The policy of a device, and its attributes below
 * /sys/class/infiniband/NAME/policy. Netlink has no place for settings of a
 * driver, so sysfs it is. A connection takes a copy when it begins: what is
 * written afterwards is for others.
 */

#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include "policy.h"
#include "srnic.h"

/* A larger one has a ULPDU of MPA_MAX_ULPDU whatever the markers take */
#define SRNIC_FPDU_MAX		65535U
/* One with a ULPDU of MPA_MIN_MULPDU and a marker */
#define SRNIC_FPDU_MIN		140U

/**
 * struct policy_attr - an attribute: a choice of words, or a number
 * @attr: for sysfs
 * @offset: of the field in struct srnic_policy; one octet for a choice, a u32
 *	    for a number
 * @words: up to NULL; their index is the value. No words: a number
 * @min: smallest number; value of the first word
 * @max: largest number
 * @zero: 0 is allowed, too
 */
struct policy_attr {
	struct device_attribute attr;
	size_t offset;
	const char * const *words;
	u32 min;
	u32 max;
	bool zero;
};

static const struct policy_attr *to_policy_attr(const struct device_attribute *attr)
{
	return container_of(attr, struct policy_attr, attr);
}

static struct srnic_policy_owner *owner_of(struct device *device)
{
	return &rdma_device_to_drv_device(device, struct srnic_device, ibdev)->policy;
}

static ssize_t policy_show(struct device *device, struct device_attribute *attr, char *buf)
{
	const struct policy_attr *pa = to_policy_attr(attr);
	struct srnic_policy policy = srnic_policy_get(owner_of(device));
	const void *field = (const void *)&policy + pa->offset;

	if (pa->words)
		return sysfs_emit(buf, "%s\n", pa->words[*(const u8 *)field - pa->min]);
	return sysfs_emit(buf, "%u\n", *(const u32 *)field);
}

static int policy_parse(const struct policy_attr *pa, const char *buf, u32 *value)
{
	int i;

	if (!pa->words) {
		if (kstrtou32(buf, 10, value) ||
		    (!(pa->zero && !*value) && (*value < pa->min || *value > pa->max)))
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

static ssize_t policy_store(struct device *device, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	const struct policy_attr *pa = to_policy_attr(attr);
	struct srnic_policy_owner *owner = owner_of(device);
	u32 value;

	/* the file's owner is not enough: root of a container has it, too */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (policy_parse(pa, buf, &value))
		return -EINVAL;
	spin_lock(&owner->lock);
	if (pa->words)
		*(u8 *)((void *)&owner->now + pa->offset) = value;
	else
		*(u32 *)((void *)&owner->now + pa->offset) = value;
	spin_unlock(&owner->lock);
	return count;
}

#define POLICY_FIELD(_name, _field)					\
	.attr = __ATTR(_name, 0644, policy_show, policy_store),		\
	.offset = offsetof(struct srnic_policy, _field)

#define POLICY_WORDS(_name, _field, _words)				\
	static struct policy_attr policy_##_name = {			\
		POLICY_FIELD(_name, _field),				\
		.words = _words,					\
	}

#define POLICY_NUMBER(_name, _field, _zero, _min, _max)			\
	static struct policy_attr policy_##_name = {			\
		POLICY_FIELD(_name, _field),				\
		.zero = _zero,						\
		.min = _min,						\
		.max = _max,						\
	}

static const char * const off_on[] = { "off", "on", NULL };
static const char * const crc_words[] = {
	[MPA_CRC_OFF] = "off",
	[MPA_CRC_REQUIRED] = "required",
	[MPA_CRC_PREFERRED] = "preferred",
	NULL
};

POLICY_WORDS(crc, mpa.crc, crc_words);
POLICY_WORDS(markers, mpa.rx_markers, off_on);
POLICY_NUMBER(max_fpdu, max_fpdu, true, SRNIC_FPDU_MIN, SRNIC_FPDU_MAX);

static struct attribute *policy_attrs[] = {
	&policy_crc.attr.attr,
	&policy_markers.attr.attr,
	&policy_max_fpdu.attr.attr,
	NULL
};

/* Not static: verbs.c gives it to the core */
const struct attribute_group srnic_policy_group = {
	.name = "policy",
	.attrs = policy_attrs,
};

/**
 * srnic_policy_init - what holds until an administrator chooses
 * @owner: of a device that is being made
 */
void srnic_policy_init(struct srnic_policy_owner *owner)
{
	spin_lock_init(&owner->lock);
	owner->now = (struct srnic_policy) {
		.mpa = {
			.crc = MPA_CRC_REQUIRED,	/* M-CRC-1 */
			.rev = 2,
			.p2p = true,
			.rtr = MPA_RTR_WRITE | MPA_RTR_READ,
			.max_ird = SRNIC_MAX_IRD,
			.max_ord = SRNIC_MAX_ORD,
		},
	};
}

/**
 * srnic_policy_get - the policy for a connection
 * @owner: of the device
 *
 * Context: process.
 *
 * Return: a copy, of one moment.
 */
struct srnic_policy srnic_policy_get(struct srnic_policy_owner *owner)
{
	struct srnic_policy policy;

	spin_lock(&owner->lock);
	policy = owner->now;
	spin_unlock(&owner->lock);
	return policy;
}
