// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module of the KUnit suites; the suites register themselves, and run once it is loaded.
 * What TCP keeps for as long as a socket has srnic's protocol is the module's own, as it is
 * srnic.ko's.
 */
#include <linux/module.h>
#include "engine/takeover.h"

static int __init tests_init(void)
{
	return srnic_takeover_register();
}
module_init(tests_init);

static void __exit tests_exit(void)
{
	srnic_takeover_unregister();
}
module_exit(tests_exit);

MODULE_DESCRIPTION("KUnit suites of srnic");
MODULE_LICENSE("Dual BSD/GPL");
