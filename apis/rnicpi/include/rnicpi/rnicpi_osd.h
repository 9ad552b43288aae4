/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What RNICPI leaves to the operating system, on Linux */
#ifndef RNICPI_OSD_H
#define RNICPI_OSD_H

#ifdef __KERNEL__
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>
#else
#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Programs mark the directions of their parameters with them. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

typedef unsigned int uint_t;
typedef unsigned short ri_boolean_t;
typedef uint64_t ri_length_t;
typedef void *ri_vaddr_t;
typedef uint64_t ri_phys_addr_t;
typedef uint64_t ri_phys_buf_len_t;

typedef void *ri_handle_t;
typedef ri_handle_t ri_vp_handle_t;
typedef ri_handle_t ri_rnic_handle_t;
typedef ri_handle_t ri_pd_handle_t;
typedef ri_handle_t ri_cq_handle_t;
typedef ri_handle_t ri_qp_handle_t;
typedef ri_handle_t ri_srq_handle_t;
typedef ri_handle_t ri_mr_handle_t;
typedef ri_handle_t ri_mw_handle_t;
typedef ri_handle_t ri_address_handle_t;

/* Data of the caller and of the VP that the other side keeps and does not look into */
typedef void *ri_os_data_t;
typedef void *ri_vp_data_t;

/* Why a call failed: 0, or the layer that refused it (upper half) and the errno (lower half) */
typedef uint64_t ri_err_data_t;
#define RI_ERR_LAYER_AL	1u	/* the library, or rnicpi.ko */
#define RI_ERR_LAYER_VP	2u	/* what is below it: verbs, the driver */

typedef char *ri_dev_info_t;	/* the name of the network interface */

/* With the NUL at the end */
#define RI_MAX_LIB_PATH_LEN		64
#define RI_MAX_HW_PATH_LEN		64
#define RI_MAX_VENDOR_STRING_LEN	64

/* The connected TCP socket that becomes the stream of a QP. New members go to the end. */
struct ri_linux_llp {
	uint32_t size;		/* of the struct that the caller was compiled with */
#ifdef __KERNEL__
	struct file *file;	/* of the socket; the QP takes its own reference */
#else
	int fd;
#endif
	uint32_t keepalive;	/* in seconds; 0 leaves the socket's setting */
};

/* NULL: no socket */
typedef struct ri_linux_llp *ri_llp_stream_handle_t;

/*
 * The vector of the VP or RNIC that has this handle. A handle that names neither gets a vector,
 * too: each function in it returns the code for an invalid handle.
 */
struct ri_ops;
const struct ri_ops *ri_svc_ops(void *handle);

#ifdef __cplusplus
}
#endif

#endif
