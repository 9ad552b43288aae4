// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module of the KUnit suites; the suites register themselves. Linux 6.1 runs them before a
 * module's init function.
 */
#include <linux/module.h>
#include "engine/takeover.h"
#include "fake.h"

static bool have_protocol;

/**
 * tests_protocol - register srnic's protocol with TCP, until the module is unloaded
 *
 * A socket with this protocol may outlive its test. Context: a test; tests do not overlap.
 *
 * Return: 0, or an errno of srnic_takeover_register().
 */
int tests_protocol(void)
{
	int err = have_protocol ? 0 : srnic_takeover_register();

	have_protocol |= !err;
	return err;
}

static void __exit tests_exit(void)
{
	if (have_protocol)
		srnic_takeover_unregister();
}
module_exit(tests_exit);

MODULE_DESCRIPTION("KUnit suites of srnic");
MODULE_LICENSE("Dual BSD/GPL");
