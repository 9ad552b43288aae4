/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a program on Linux needs beside RNICPI: its devices, the objects in verbs, file
 * descriptors to wait at, and the frames with which MPA begins.
 */
#ifndef RNICPI_RIX_H
#define RNICPI_RIX_H

#include <stddef.h>
#include <rnicpi/rnicpi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sockaddr;
struct ibv_context;
struct ibv_cq;
struct ibv_qp;

ri_api_return_t rix_rnic_list(ri_vp_handle_t *vp_hdls, uint_t *num, ri_err_data_t *err_data);
const char *rix_rnic_name(ri_vp_handle_t vp_hdl);
ri_api_return_t rix_rnic_vectors(ri_vp_handle_t vp_hdl, const ri_ops_t **al_locking_ops,
				 const ri_ops_t **vp_locking_ops, ri_err_data_t *err_data);

ri_api_return_t rix_rnic_by_local_addr(const struct sockaddr *addr, ri_vp_handle_t *vp_hdl,
				       ri_err_data_t *err_data);
ri_api_return_t rix_rnic_by_remote_addr(const struct sockaddr *addr, ri_vp_handle_t *vp_hdl,
					ri_err_data_t *err_data);
const char *rix_strerror(ri_api_return_t ret);

struct ibv_context *rix_to_ibv_context(ri_rnic_handle_t rnic);
struct ibv_cq *rix_to_ibv_cq(ri_cq_handle_t cq);
struct ibv_qp *rix_to_ibv_qp(ri_qp_handle_t qp);

/* ri_rc_wc.flags: the WR of a completion of RI_WC_TYPE_SEND was a RI_WR_TYPE_SEND_INVALIDATE */
#define RIX_WC_FLAG_SEND_INVALIDATE	0x10000

int rix_cq_fd(ri_cq_handle_t cq);
ri_api_return_t rix_cq_ack(ri_cq_handle_t cq, ri_err_data_t *err_data);

/* An event, as RNICPI's handlers get it, and the Terminate message that was its reason */
struct rix_event {
	ri_event_record_t record;
	uint32_t terminate_msg_length;	/* 0: there is none */
	ri_boolean_t is_terminate_local;
	char terminate_buffer[52];
};

int rix_event_fd(ri_rnic_handle_t rnic);
ri_api_return_t rix_get_event(ri_rnic_handle_t rnic, struct rix_event *event,
			      ri_err_data_t *err_data);

/* MPA (RFC 5044 7.1, revision 1): what a frame says */
struct rix_mpa_frame {
	ri_boolean_t markers;	/* the sender wants to receive them */
	ri_boolean_t crc;	/* it wants CRCs */
	ri_boolean_t reject;	/* of a Reply */
	uint16_t private_len;
	char private_data[512];
};

#define RIX_MPA_MAX_FRAME	(20 + 512)

size_t rix_mpa_build(char *buf, int reply, const struct rix_mpa_frame *frame);
ri_api_return_t rix_mpa_recv(int fd, int reply, struct rix_mpa_frame *frame,
			     ri_err_data_t *err_data);

#ifdef __cplusplus
}
#endif

#endif
