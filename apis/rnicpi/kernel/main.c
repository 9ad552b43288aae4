// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Module load and unload. */

#include <linux/module.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

#define VERSION	__stringify(SRNIC_VERSION_MAJOR) "." \
		__stringify(SRNIC_VERSION_MINOR) "." \
		__stringify(SRNIC_VERSION_PATCH)

static int __init rnicpi_init(void)
{
	return ri_kvp_init();
}

static void __exit rnicpi_exit(void)
{
	ri_kvp_exit();
}

module_init(rnicpi_init);
module_exit(rnicpi_exit);

MODULE_DESCRIPTION("RNIC Programming Interface 1.0, for kernel consumers of srnic");
MODULE_AUTHOR("The srnic authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(VERSION);
