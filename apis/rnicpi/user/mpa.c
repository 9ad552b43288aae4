// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The start-up frames of MPA (RFC 5044 7.1, revision 1), which RNICPI leaves to the program
 * (1.2.3). rix_mpa_recv() never reads beyond a frame: the next byte may belong to the first FPDU.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <arpa/inet.h>
#include <rnicpi/rix.h>
#include "rnic.h"

#define KEY_LEN		16
#define HEAD_LEN	20
#define MARKERS		0x80
#define CRC		0x40
#define REJECT		0x20
#define REVISION	1
#define MAX_PRIVATE	512

static const char *const keys[] = { "MPA ID Req Frame", "MPA ID Rep Frame" };

/**
 * rix_mpa_build() - Write a Request or a Reply
 * @buf: RIX_MPA_MAX_FRAME bytes
 * @reply: whether it is a Reply
 * @frame: its contents
 *
 * Context: any thread.
 * Return: its length; 0 if there is more private data than a frame can have.
 */
size_t rix_mpa_build(char *buf, int reply, const struct rix_mpa_frame *frame)
{
	uint16_t len = htons(frame->private_len);

	if (frame->private_len > MAX_PRIVATE)
		return 0;
	memcpy(buf, keys[!!reply], KEY_LEN);
	buf[16] = (char)((frame->markers ? MARKERS : 0) | (frame->crc ? CRC : 0) |
			 (reply && frame->reject ? REJECT : 0));
	buf[17] = REVISION;
	memcpy(buf + 18, &len, sizeof(len));
	memcpy(buf + HEAD_LEN, frame->private_data, frame->private_len);
	return HEAD_LEN + frame->private_len;
}

static int read_all(int fd, char *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = recv(fd, buf, len, MSG_WAITALL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : ECONNRESET;
		buf += n;
		len -= n;
	}
	return 0;
}

/**
 * rix_mpa_recv() - Read a Request or a Reply
 * @fd: a connected socket; bytes after the frame stay in it
 * @reply: whether a Reply is expected
 * @frame: set to its contents
 * @err_data: may be NULL
 *
 * Context: any thread; waits.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_LLP_HANDLE; RI_RET_FAIL: the bytes are no such
 * frame, or one of another revision
 */
ri_api_return_t rix_mpa_recv(int fd, int reply, struct rix_mpa_frame *frame,
			     ri_err_data_t *err_data)
{
	char head[HEAD_LEN];
	uint16_t len;
	int err;
	KEEP_ERRNO;

	err = read_all(fd, head, sizeof(head));
	if (err) {
		ri_failed(err_data, err, RI_RET_FAIL);
		return RI_RET_INVALID_LLP_HANDLE;
	}
	memcpy(&len, head + 18, sizeof(len));
	frame->private_len = ntohs(len);
	if (memcmp(head, keys[!!reply], KEY_LEN) || head[17] != REVISION ||
	    frame->private_len > MAX_PRIVATE)
		return ri_answer(err_data, RI_RET_FAIL);
	frame->markers = !!(head[16] & MARKERS);
	frame->crc = !!(head[16] & CRC);
	frame->reject = !!(head[16] & REJECT);
	err = read_all(fd, frame->private_data, frame->private_len);
	if (!err)
		return ri_done(err_data);
	ri_failed(err_data, err, RI_RET_FAIL);
	return RI_RET_INVALID_LLP_HANDLE;
}
