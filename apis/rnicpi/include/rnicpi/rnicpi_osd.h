/*
 * rnicpi_osd.h - what RNICPI leaves to the operating system: Linux
 *
 * Copyright © 2005 The Open Group
 * All rights reserved.
 * The copyright owner hereby grants permission for all or part of this
 * publication to be reproduced, stored in a retrieval system, or
 * transmitted, in any form or by any means, electronic, mechanical,
 * photocopying, recording, or otherwise, provided that it remains
 * unchanged and that this copyright statement is included in all
 * copies or substantial portions of the publication.
 *
 * For any software code contained within this specification,
 * permission is hereby granted, free-of-charge, to any person
 * obtaining a copy of this specification (the "Software"), to deal in
 * the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense,
 * and/or sell copies of the Software, and to permit persons to whom
 * the Software is furnished to do so, subject to the above copyright
 * notice and this permission notice being included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
 * EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
 * MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE, AND
 * NON-INFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS
 * BE LIABLE FOR ANY CLAIM, DAMAGES, OR OTHER LIABILITY, WHETHER IN AN
 * ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF, OR IN
 * CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * Permission is granted for implementers to use the names, labels,
 * etc. contained within the specification. The intent of publication
 * of the specification is to encourage implementations of the
 * specification. This specification has not been verified for
 * avoidance of possible third-party proprietary rights. In
 * implementing this specification, usual procedures to ensure the
 * respect of possible third-party intellectual property rights should
 * be followed.
 */

#ifndef RNICPI_OSD_H
#define RNICPI_OSD_H

#ifdef __KERNEL__
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>
typedef unsigned int uint_t;
#else
#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>
typedef unsigned int uint_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

/*
 * The stream of a QP: a connected TCP socket of the caller. A new field is behind the others,
 * and @size tells which there are.
 */
struct ri_linux_llp {
	uint32_t size;		/* of this struct */
#ifdef __KERNEL__
	struct file *file;	/* of the socket; the QP takes a reference of its own */
#else
	int fd;
#endif
	uint32_t keepalive;	/* seconds; 0: as the socket has it */
};

typedef struct ri_linux_llp *ri_llp_stream_handle_t;	/* NULL: none */
typedef unsigned short ri_boolean_t;
typedef uint64_t ri_length_t;

typedef void *ri_handle_t;
typedef ri_handle_t ri_vp_handle_t;
typedef ri_handle_t ri_rnic_handle_t;
typedef ri_handle_t ri_pd_handle_t;
typedef ri_handle_t ri_qp_handle_t;
typedef ri_handle_t ri_cq_handle_t;
typedef ri_handle_t ri_mr_handle_t;
typedef ri_handle_t ri_mw_handle_t;
typedef ri_handle_t ri_srq_handle_t;
typedef ri_handle_t ri_address_handle_t;
typedef void *ri_vp_data_t;
typedef void *ri_os_data_t;
typedef uint64_t ri_err_data_t;	/* RI_ERR_LAYER_* << 32 | errno; 0: there is none */

#define RI_ERR_LAYER_AL		1u	/* this library's own check */
#define RI_ERR_LAYER_VP		2u	/* verbs, or the driver */

typedef char *ri_dev_info_t;	/* name of the network interface */
typedef void *ri_vaddr_t;
typedef uint64_t ri_phys_addr_t;
typedef uint64_t ri_phys_buf_len_t;

#define RI_MAX_LIB_PATH_LEN		64
#define RI_MAX_HW_PATH_LEN		64
#define RI_MAX_VENDOR_STRING_LEN	64

/*
 * The vector of a VP or RNIC handle. A handle is a number that is looked up: one that is
 * stale or was none has a vector, too, all of whose functions say so.
 */
struct ri_ops;
const struct ri_ops *ri_svc_ops(void *handle);

#ifdef __cplusplus
}
#endif

#endif
