/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Included before takeover.c, see Kbuild: the tests' kernels are without PSP. */
#ifndef SRNIC_KUNIT_PSP_H
#define SRNIC_KUNIT_PSP_H

#include "compat.h"

/* Another pointer of a socket stands for its association */
#if !IS_ENABLED(CONFIG_INET_PSP)
#define psp_sk_assoc(sk) rcu_access_pointer((sk)->sk_reuseport_cb)
#define psp_assoc sk_reuseport_cb
#endif

#endif
