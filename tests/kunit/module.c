// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The module of the KUnit suites; the suites register themselves. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of srnic");
MODULE_LICENSE("Dual BSD/GPL");
