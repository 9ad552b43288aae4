#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: features.sh COMPILER FLAG...
#
# Print a header that says what the kernel that srnic is built for has: each feature is
# a few lines that compile, or do not. compat.h makes up for those that are missing.
# Called by kbuild, once for each build tree.

case ${1:-} in
--help|-h|'') sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
names=''

# feature NAME HEADERS CODE: the compiler takes its code for lines of a file of this name, so that
# one compilation tells which features fail.
feature() {
	names="$names $1"
	for h in $2; do
		printf '#if __has_include(<%s>)\n#include <%s>\n#else\n' "$h" "$h"
		printf '#line 1 "%s"\n#error no %s\n#endif\n' "$1" "$h"
	done
	printf '#line 1 "%s"\nvoid try_%s(void) { %s }\n' "$1" "$1" "$3"
} >> "$work/try.c"

# method NAME MEMBER TYPE: a member of struct ib_device_ops has this type
method() {
	feature "$1" "rdma/ib_verbs.h rdma/uverbs_ioctl.h" "
		typedef $3;
		_Static_assert(__builtin_types_compatible_p(method *,
			typeof(((struct ib_device_ops *)0)->$2)), \"another type\");"
}

feature UNALIGNED_H linux/unaligned.h ''
feature RDMA_ITER_H rdma/iter.h ''
feature VM_FLAGS_MOD linux/mm.h 'void (*f)(struct vm_area_struct *, vm_flags_t, vm_flags_t) = vm_flags_mod;'
feature WQ_PERCPU linux/workqueue.h 'int flag = WQ_PERCPU;'
feature SOCKADDR_UNSIZED linux/net.h 'int (*f)(struct socket *, struct sockaddr_unsized *, int) = kernel_bind;
	_Static_assert(sizeof(struct sockaddr_unsized), "");'
feature SENDPAGE linux/net.h 'struct proto_ops ops = { .sendpage = 0 };'
feature HRTIMER_SETUP linux/hrtimer.h 'void *f = hrtimer_setup_on_stack;'
feature DMA_BUF_UNLOCKED linux/dma-buf.h 'void *f = dma_buf_vmap_unlocked;'
feature SK_DISCONNECTS net/sock.h 'int f = ((struct sock *)0)->sk_disconnects;'
feature TASK_FRAG net/sock.h 'bool f = ((struct sock *)0)->sk_use_task_frag;'
feature PSP net/psp.h 'void *f = psp_sk_assoc;'
feature SKB_READABLE linux/skbuff.h 'bool (*f)(const struct sk_buff *) = skb_frags_readable;'
feature UMEM_GET_VA rdma/ib_umem.h 'void *f = ib_umem_get_va;'
feature GUP_WITHOUT_VMAS linux/mm.h 'get_user_pages_remote(0, 0, 0, 0, 0, 0);'
feature IB_FLUSH rdma/ib_verbs.h 'u64 f[] = { IB_ACCESS_FLUSH_GLOBAL, IB_DEVICE_FLUSH_GLOBAL,
	IB_DEVICE_ATOMIC_WRITE, IB_WR_FLUSH, IB_WR_ATOMIC_WRITE };'
feature ODP_FLUSH rdma/ib_verbs.h 'u32 f[] = { IB_ODP_SUPPORT_FLUSH, IB_ODP_SUPPORT_ATOMIC_WRITE };'
feature REPORT_PORT_EVENT rdma/ib_verbs.h 'struct ib_device_ops ops = { .report_port_event = 0 };'
method CREATE_CQ_ATTRS create_cq 'int method(struct ib_cq *, const struct ib_cq_init_attr *,
			struct uverbs_attr_bundle *)'
method RESIZE_USER_CQ resize_user_cq 'int method(struct ib_cq *, unsigned int, struct ib_udata *)'
method REG_MR_DMAH reg_user_mr 'struct ib_mr *method(struct ib_pd *, u64, u64, u64, int,
			struct ib_dmah *, struct ib_udata *)'
method REG_DMABUF_ATTRS reg_user_mr_dmabuf 'struct ib_mr *method(struct ib_pd *, u64, u64, u64,
			int, int, struct uverbs_attr_bundle *)'
method REG_DMABUF_DMAH reg_user_mr_dmabuf 'struct ib_mr *method(struct ib_pd *, u64, u64, u64,
			int, int, struct ib_dmah *, struct uverbs_attr_bundle *)'

# Anything else that the compiler reports is no answer.
LC_ALL=C "$@" -w -fmax-errors=0 -fsyntax-only "$work/try.c" 2>"$work/log" ||
	! grep -v '^[A-Z_]*:' "$work/log" | grep -E 'error:|not found' >&2 || exit
echo '/* made by features.sh */'
for name in $names; do
	if grep -m 1 "^$name:.*error:" "$work/log" > "$work/why"; then
		sed "s|.*error: |/* no SRNIC_HAVE_$name: |; s|\$| */|" "$work/why"
	else
		echo "#define SRNIC_HAVE_$name 1"
	fi
done
