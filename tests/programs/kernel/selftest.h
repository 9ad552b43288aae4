/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Kernel consumer that tests an RDMA device: shared by its files. */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define ST_DEPTH	128	/* WRs of each queue */
#define ST_SGE		4
#define ST_READS	16	/* ORD and IRD */
#define ST_WAIT		(20 * HZ)

/* Parameters of the run, from its caller */
struct st_where {
	struct net *cli_net;
	struct net *srv_net;
	struct sockaddr_storage addr;	/* of the server */
};

/* A WR that is waited for */
struct st_op {
	struct ib_cqe cqe;
	struct ib_wc wc;
	bool done;
	unsigned int order;	/* of its completion, among all of the pair */
};

struct st_pair;

/* One end of a connection */
struct st_end {
	struct st_pair *pair;
	struct st_end *peer;
	struct rdma_cm_id *id;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;	/* of SQ and RQ, or of the SQ */
	struct ib_cq *rcq;	/* of the RQ if it has its own, else the same */
	struct ib_srq *srq;	/* takes the place of the QP's RQ if there is one */
	struct ib_qp *qp;
	int cm_event;		/* the last event, -1 for none */
	int cm_status;
	bool disconnected;
	int qp_events;		/* how many, and the first one */
	enum ib_event_type qp_event;
	enum ib_event_type srq_event;
	bool srq_told;		/* set by an event of the SRQ */
};

struct st_opt {
	enum ib_poll_context poll;
	unsigned int rdma_ctxs;	/* for rdma_rw */
	bool srq;		/* the server has one */
	bool no_qp;		/* the test makes the QPs, with ib_create_qp() */
};

struct st_pair {
	const struct st_where *where;
	struct st_opt opt;
	struct rdma_cm_id *listener;
	struct st_end cli, srv;
	atomic_t order;
};

/* Memory in single pages, in no order; @v shows it as one piece */
struct st_buf {
	struct ib_device *dev;
	struct page **pages;
	unsigned int npages;
	unsigned int off;	/* of the first octet, in the first page */
	u32 len;
	void *map;
	u8 *v;			/* first octet */
	struct scatterlist *sg;
};

struct st_test {
	const char *name;
	const char *what;
	int (*run)(const struct st_where *where);
};

/* Each is terminated by a row without a name */
extern const struct st_test st_data_tests[];
extern const struct st_test st_stag_tests[];
extern const struct st_test st_queue_tests[];
extern const struct st_test st_misuse_tests[];

void st_log(const char *fmt, ...) __printf(1, 2);

/* Leave the function with -EIO, logging the expectation */
#define st_check(cond, fmt, ...) do {						\
	if (!(cond)) {								\
		st_log("%s:%d: not so: %s; " fmt "\n", __func__, __LINE__,	\
		       #cond, ##__VA_ARGS__);					\
		return -EIO;							\
	}									\
} while (0)

/* Leave the function with the error of @call */
#define st_try(call) do {							\
	int st_err = (call);							\
										\
	if (st_err) {								\
		st_log("%s:%d: %s: %d\n", __func__, __LINE__, #call, st_err);	\
		return st_err;							\
	}									\
} while (0)

/* pair.c */
int st_pair_open(struct st_pair *p, const struct st_where *where, const struct st_opt *opt);
void st_pair_close(struct st_pair *p);
int st_pair_connect(struct st_pair *p, struct ib_qp *cli, struct ib_qp *srv);
void st_pair_hang_up(struct st_pair *p);
int st_with_pair(const struct st_where *where, const struct st_opt *opt,
		 int (*run)(struct st_pair *p));
bool st_native(const struct st_end *e);
struct ib_qp *st_qp_new(struct st_end *e);
void st_qp_event(struct ib_event *ev, void *context);

void st_op_init(struct st_op *op);
int st_wait(struct st_end *e, struct st_op *op);
int st_wait_ok(struct st_end *e, struct st_op *op);
int st_wait_flag(struct st_end *e, const bool *flag);
int st_wait_event(struct st_end *e);
int st_check_wc(struct st_end *e, const struct st_op *op, enum ib_wc_status status,
		u32 native);

/* post one WR; it is signaled */
int st_recv(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n);
int st_send(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n, int flags);
int st_send_inv(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n, u32 stag);
int st_rdma(struct st_end *e, struct st_op *op, enum ib_wr_opcode opcode,
	    struct ib_sge *sge, int n, u64 to, u32 rkey, int flags);
int st_inv(struct st_end *e, struct st_op *op, u32 stag, int flags);
int st_reg(struct st_end *e, struct st_op *op, struct ib_mr *mr, u32 key, int access);

/* memory.c */
int st_buf_new(struct st_buf *b, struct ib_device *dev, unsigned int off, u32 len);
void st_buf_free(struct st_buf *b);
void st_fill(void *p, u32 len, u32 seed);
bool st_is(const void *p, u32 len, u32 seed);
bool st_is_value(const void *p, u32 len, u8 value);
int st_sges(const struct st_buf *b, struct ib_sge *sge, int max, u32 from, u32 len);
int st_map(struct ib_mr *mr, const struct st_buf *b);
int st_register(struct st_end *e, struct ib_mr *mr, const struct st_buf *b, int access);

#endif
