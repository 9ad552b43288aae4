/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RNIC Programming Interface (RNICPI) 1.0: its types, the vector of functions that a verbs
 * provider (VP) has, and the services of the access layer (AL). Names, orders and values are
 * facts of the specification. Where its function pages and its sample header disagree, the
 * pages win: ri_qp_post_local_invalidate() takes the LTag before the RTag.
 */
#ifndef RNICPI_H
#define RNICPI_H

#include <rnicpi/rnicpi_osd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What each function returns */
typedef enum ri_api_return {
	RI_RET_SUCCESS = 0,
	RI_RET_RESOURCE_SHORTAGE,
	RI_RET_INVALID_PARAMETER,
	RI_RET_NO_PERMISSION,
	RI_RET_XPORT_UNSUPPORTED,
	RI_RET_OP_UNSUPPORTED,
	RI_RET_BUFFER_TOO_SMALL,
	RI_RET_FAIL,

	/* The RNIC lacks an option */
	RI_RET_QP_RESIZE_UNSUPPORTED = 8,
	RI_RET_SRQ_UNSUPPORTED,
	RI_RET_SRQ_RESIZE_UNSUPPORTED,
	RI_RET_EXT_BMM_UNSUPPORTED,
	RI_RET_EXT_ZBVA_UNSUPPORTED,
	RI_RET_EXT_LIF_UNSUPPORTED,
	RI_RET_RNIC_ATOMICS_UNSUPPORTED,

	/* VPs and RNICs */
	RI_RET_VP_INVALID_HANDLE = 15,
	RI_RET_INVALID_DEV_INFO,
	RI_RET_INVALID_HW_PATH,
	RI_RET_INVALID_LIB_PATH,
	RI_RET_INVALID_PBL_MODE,
	RI_RET_INVALID_VP_VERSION,
	RI_RET_RNIC_INVALID_HANDLE,
	RI_RET_RNIC_INUSE,
	RI_RET_RNIC_NOT_OPEN,

	/* PDs and CQs */
	RI_RET_PD_INVALID_HANDLE = 24,
	RI_RET_PD_INUSE,
	RI_RET_CQ_INVALID_HANDLE,
	RI_RET_CQ_CAPACITY_EXCEEDED,
	RI_RET_CQ_EMPTY,
	RI_RET_CQ_ERROR,
	RI_RET_CQ_INUSE,
	RI_RET_CQ_INVALID_EVENT_HANDLER,
	RI_RET_CQ_NO_EVENT_HANDLER,
	RI_RET_CQ_WOULD_OVERFLOW,
	RI_RET_INVALID_HANDLER_ID,

	/* QPs and work requests */
	RI_RET_QP_INVALID_HANDLE = 35,
	RI_RET_MIGRATION_STATE_INVALID,
	RI_RET_QP_ATTRIBUTE_CANT_CHANGE,
	RI_RET_QP_CAPACITY_EXCEEDED,
	RI_RET_QP_INVALID_SERVICE_TYPE,
	RI_RET_QP_INVALID_SPECIAL_TYPE,
	RI_RET_QP_INVALID_STATE,
	RI_RET_QP_CANNOT_SHRINK,
	RI_RET_QP_INUSE,
	RI_RET_RNIC_INVALID_MTU,
	RI_RET_RNIC_INVALID_PKEY_ENTRY,
	RI_RET_RNIC_INVALID_PKEY_INDEX,
	RI_RET_RNIC_INVALID_PORT,
	RI_RET_RNIC_INVALID_RNR_VALUE,
	RI_RET_RNIC_IRD_ORD_EXCEEDED,
	RI_RET_RNIC_NOT_IN_BLOCK_MODE,
	RI_RET_RNIC_NOT_IN_PAGE_MODE,
	RI_RET_RNIC_SG_LIMIT_EXCEEDED,
	RI_RET_RNIC_WR_LIMIT_EXCEEDED,
	RI_RET_STILL_FLUSHING_WQES,
	RI_RET_WR_INVALID_FLAGS,
	RI_RET_WR_INVALID_TYPE,
	RI_RET_WR_SG_INVALID_FORMAT,

	/* SRQs */
	RI_RET_SRQ_INVALID_HANDLE = 58,
	RI_RET_QP_TIED_TO_SRQ,
	RI_RET_SRQ_CANNOT_SHRINK,
	RI_RET_SRQ_IN_ERROR,
	RI_RET_SRQ_INUSE,
	RI_RET_SRQ_LIMIT_OUT_OF_RANGE,

	/* Memory: regions and windows */
	RI_RET_MR_INVALID_HANDLE = 64,
	RI_RET_MEM_INVALID_ACCESS,
	RI_RET_MEM_INVALID_ADDRESS,
	RI_RET_MEM_INVALID_LENGTH,
	RI_RET_MEM_INVALID_OFFSET,
	RI_RET_MEM_INVALID_LTAG,
	RI_RET_MEM_INVALID_PBLE,
	RI_RET_MEM_INVALID_PBLE_LENGTH,
	RI_RET_MEM_INVALID_RTAG,
	RI_RET_MW_INVALID_HANDLE,
	RI_RET_INVALID_WINDOW_TYPE,
	RI_RET_WINDOWS_BOUND,
	RI_RET_WINDOW_TYPE_UNSUPPORTED,

	/* InfiniBand's datagrams */
	RI_RET_ADDRESS_HANDLE_INVALID = 77,
	RI_RET_MGID_INVALID,
	RI_RET_MLID_INVALID,
	RI_RET_MULTICAST_ATTACHED,
	RI_RET_RNIC_QPS_PER_MCAST_PORT_EXCEEDED,

	/* iWARP's connections */
	RI_RET_INVALID_LLP_HANDLE = 82,
	RI_RET_INVALID_DDP_RDMAP_VERSION,
	RI_RET_LLP_BAD_STATE,
	RI_RET_MPA_ATTR_UNSUPPORTED,
} ri_api_return_t;

/* iWARP: what ri_rnic_query() tells of an RNIC and its ports */

typedef enum ri_iwarp_rnic_flags {
	RI_IWARP_CAN_MODIFY_IRD = 1 << 0,
	RI_IWARP_CAN_INCREASE_ORD = 1 << 1,
	RI_IWARP_TCP_SUPPORTED = 1 << 2,
	RI_IWARP_SCTP_SUPPORTED = 1 << 3,
	RI_IWARP_IETF_PERMISSIVE = 1 << 4,	/* speaks to RDMAC peers as well */
	RI_IWARP_PREFER_MARKERS = 1 << 5,
	RI_IWARP_PREFER_CRC = 1 << 6,
	RI_IWARP_KEEPALIVE_SUPPORTED = 1 << 7,
} ri_iwarp_rnic_flags_t;

typedef struct ri_iwarp_port_attr {
	struct in6_addr *ipv6_addrs;
	struct in_addr *ipv4_addrs;
	uint_t port_num;
	uint_t num_ipv4_addrs;
	uint_t num_ipv6_addrs;
} ri_iwarp_port_attr_t;

typedef struct ri_iwarp_rnic_attr {
	ri_iwarp_port_attr_t *port_attrs;	/* NULL without RI_QUERY_RNIC_PORT_INFO */
	uint_t protocol_version;		/* 0: RDMAC, 1: IETF */
	uint_t num_ports;
	ri_iwarp_rnic_flags_t iwarp_rnic_flags;
} ri_iwarp_rnic_attr_t;

/* InfiniBand: an iWARP RNIC uses none of these types */

typedef uint8_t ri_sl_t;
typedef uint8_t ri_lmc_t;
typedef uint16_t ri_lid_t;
typedef uint16_t ri_pkey_t;

typedef struct ri_gid {
	uint64_t gid_prefix;
	uint64_t gid_guid;
} ri_gid_t;

typedef enum ri_ib_port_state {
	RI_IB_LINK_DOWN = 1 << 1,
	RI_IB_LINK_INITIALIZE = 1 << 2,
	RI_IB_LINK_ARM = 1 << 3,
	RI_IB_LINK_ACT_DEFER = 1 << 4,
	RI_IB_LINK_ACTIVE = 1 << 5,
} ri_ib_port_state_t;

#define RI_IB_PORT_DOWN	(RI_IB_LINK_DOWN | RI_IB_LINK_INITIALIZE | RI_IB_LINK_ARM)
#define RI_IB_PORT_UP	(RI_IB_LINK_ACT_DEFER | RI_IB_LINK_ACTIVE)

typedef enum ri_ib_mtu {
	RI_IB_MTU_256 = 1,
	RI_IB_MTU_512 = 2,
	RI_IB_MTU_1K = 3,
	RI_IB_MTU_2K = 4,
	RI_IB_MTU_4K = 5,
} ri_ib_mtu_t;

typedef enum ri_ib_port_flags {
	RI_IB_PORT_SM = 1 << 0,
	RI_IB_PORT_SM_DISABLED = 1 << 10,
	RI_IB_PORT_SNMP_TUNNEL = 1 << 17,
	RI_IB_PORT_DEV_MGT = 1 << 19,
	RI_IB_PORT_VENDOR_CLASS = 1 << 20,
	RI_IB_PORT_CLIENT_REREG = 1 << 25,
} ri_ib_port_flags_t;

typedef struct ri_ib_port_attr {
	ri_gid_t *src_gid_table;
	ri_pkey_t *pkey_table;
	uint32_t max_msg_size;
	ri_ib_mtu_t max_mtu;
	ri_ib_port_state_t ib_port_state;
	ri_ib_port_flags_t ib_port_flags;
	ri_lid_t base_lid;
	ri_lid_t sm_lid;
	uint16_t bad_pkey_count;
	uint16_t bad_qkey_count;
	uint8_t src_gid_table_size;
	ri_lmc_t lmc;
	uint8_t max_vls;
	ri_sl_t sm_sl;
	uint8_t subnet_timeout;
	uint8_t init_type_reply;
} ri_ib_port_attr_t;

typedef enum ri_ib_rnic_flags {
	RI_IB_APM = 1 << 0,
	RI_IB_RNR_NAK = 1 << 1,
	RI_IB_AH_PORT_CHECK = 1 << 2,
	RI_IB_CAN_CHANGE_PRIMARY_PORT = 1 << 3,
	RI_IB_CAN_CURRENT_QP_STATE = 1 << 4,
	RI_IB_ATOMICS = 1 << 5,
	RI_IB_ATOMICS_ALL_COMPONENTS = 1 << 6,
	RI_IB_TYPE_2B_WINDOWS = 1 << 7,
	RI_IB_MULTIPLE_BLOCK_SIZES_PER_REGION = 1 << 8,
	RI_IB_UD_MULTICAST = 1 << 9,
	RI_IB_PORT_ACTIVE_EVENT = 1 << 10,
	RI_IB_SHUTDOWN_PORT = 1 << 11,
	RI_IB_PKEY_CNTR = 1 << 12,
	RI_IB_QKEY_CNTR = 1 << 13,
	RI_IB_SI_GUID = 1 << 14,
	RI_IB_INIT_TYPE = 1 << 15,
} ri_ib_rnic_flags_t;

typedef struct ri_ib_rnic_attr {
	uint64_t max_mr_size;
	uint64_t node_guid;
	uint64_t system_image_guid;
	ri_ib_port_attr_t *port_attrs;
	ri_ib_rnic_flags_t ib_rnic_flags;
	uint_t max_addr_hdls;
	uint_t max_mcgs;
	uint32_t max_multicast_qps;
	uint32_t max_qps_per_mcg;
	uint16_t partition_table_size;
	uint8_t num_ports;
	uint8_t local_ack_delay;
} ri_ib_rnic_attr_t;

typedef enum ri_rnic_attr_mask {
	RI_IB_RNIC_ATTR_SI_GUID = 1 << 0,
} ri_rnic_attr_mask_t;

typedef enum ri_port_attr_mask {
	RI_IB_PORT_ATTR_SHUTDOWN = 1 << 0,
	RI_IB_PORT_ATTR_INIT_TYPE = 1 << 1,
	RI_IB_PORT_ATTR_QKEY_RESET = 1 << 2,
	RI_IB_PORT_ATTR_CAP_SET = 1 << 3,
	RI_IB_PORT_ATTR_CAP_FLAG_SM = 1 << 4,
	RI_IB_PORT_ATTR_CAP_FLAG_SNMP = 1 << 5,
	RI_IB_PORT_ATTR_CAP_FLAG_DEVMGT = 1 << 6,
	RI_IB_PORT_ATTR_CAP_FLAG_VENDOR = 1 << 7,
} ri_port_attr_mask_t;

#define RI_IB_ALL_PORTS	(0)	/* as a port_number */

typedef struct ri_port_modify_req {
	ri_port_attr_mask_t port_attr_mask;
	uint8_t port_number;
	uint8_t port_init_type;
} ri_port_modify_req_t;

typedef struct ri_rnic_modify_req {
	uint64_t si_guid;
	ri_port_modify_req_t *port_attrs;
	uint8_t port_list_size;
} ri_rnic_modify_req_t;

typedef struct ri_gen_address_vector {
	uint8_t sl;
	uint8_t send_global_routing_hdr_flg;
	uint8_t hop_limit;
	uint8_t source_gid_index;
	uint32_t flow_label;
	ri_gid_t dgid;
	ri_lid_t dlid;
	uint8_t traffic_class;
	uint8_t max_static_rate;
	uint8_t source_path_bits;
} ri_gen_address_vector_t;

typedef struct ri_ud_address_vector {
	ri_gen_address_vector_t av_common;
	uint8_t physical_port;
} ri_ud_address_vector_t;

typedef struct ri_path_address_info {
	uint16_t pkey_index;
	uint8_t physical_port;
	uint16_t path_mtu;
	uint8_t local_ack_timeout;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	ri_gen_address_vector_t av;
} ri_path_address_info_t;

typedef enum ri_path_migration_state {
	RI_MIG_STATE_MIGRATED,
	RI_MIG_STATE_REARM,
	RI_MIG_STATE_ARMED,
} ri_path_migration_state_t;

typedef enum ri_sqp_type {
	RI_SQP_TYPE_SMI,
	RI_SQP_TYPE_GSI,
} ri_sqp_type_t;

typedef enum ri_svc_type {
	RI_SERVICE_RELIABLE_CONNECTION,
	RI_SERVICE_UNRELIABLE_DATAGRAM,
} ri_svc_type_t;

typedef struct ri_ib_port_event {
	uint8_t port_number;	/* 0: the RNIC cannot tell */
	ri_ib_port_state_t port_state;
} ri_ib_port_event_t;

/* RNICs */

typedef enum ri_pbl_mode {
	RI_PHYS_PAGE_LIST_MODE,
	RI_PHYS_BLOCK_LIST_MODE,
} ri_pbl_mode_t;

typedef enum ri_consumer_domain {
	RI_CONSUMER_LOCATION_KERNEL,
	RI_CONSUMER_LOCATION_USER,
} ri_consumer_domain_t;

typedef enum ri_rdma_transport_type {
	RI_RDMA_TRANSPORT_TYPE_IB,
	RI_RDMA_TRANSPORT_TYPE_IWARP,
} ri_rdma_transport_type_t;

typedef enum ri_rnic_query_flags {
	RI_QUERY_RNIC_PORT_INFO = 1 << 0,
} ri_rnic_query_flags_t;

/* iWARP RNICs always set EXT_BMM, EXT_ZBVA and EXT_LIF. */
typedef enum ri_rnic_flags {
	RI_RNIC_EXT_SRQ = 1 << 0,
	RI_RNIC_EXT_BMM = 1 << 1,
	RI_RNIC_EXT_ZBVA = 1 << 2,
	RI_RNIC_EXT_LIF = 1 << 3,
	RI_RNIC_EXT_BLOCK_MODE = 1 << 4,
	RI_RNIC_RQ_OVERFLOW_CHECKING = 1 << 5,
	RI_RNIC_CQ_OVERFLOW_CHECKING = 1 << 6,
	RI_RNIC_CAN_RESIZE_QP = 1 << 7,
	RI_RNIC_CAN_RESIZE_SRQ = 1 << 8,
	RI_RNIC_SRQ_SEQ_DEQUEUE = 1 << 9,
	RI_RNIC_SRQ_LAST_WQE_ASYNC = 1 << 10,
	RI_RNIC_SAFE_POST_ON_RTS = 1 << 11,
	RI_RNIC_WIDE_WINDOWS_SUPPORTED = 1 << 12,
	RI_RNIC_EXT_INDEX_KEY_SPLIT = 1 << 13,

	/*
	 * The bits of a work request that its completion hands back. An RNIC that acts on
	 * RI_WR_LOCAL_SOLICITED_FLAG sets LOCAL_SOLICITED_EVENT instead of CONSUMER2_OPAQUE.
	 */
	RI_RNIC_CONSUMER0_OPAQUE = 1 << 14,
	RI_RNIC_CONSUMER1_OPAQUE = 1 << 15,
	RI_RNIC_CONSUMER2_OPAQUE = 1 << 16,
	RI_RNIC_LOCAL_SOLICITED_OPAQUE = RI_RNIC_CONSUMER2_OPAQUE,
	RI_RNIC_LOCAL_SOLICITED_EVENT = 1 << 17,

	RI_RNIC_NON_COHERENT_MEMORY = 1 << 18,
} ri_rnic_flags_t;

typedef union ri_transport_attr_ptr {
	ri_ib_rnic_attr_t *ib;
	ri_iwarp_rnic_attr_t *iwarp;
} ri_transport_attr_ptr_t;

typedef struct ri_rnic_attr {
	uint64_t mem_page_sizes_bit_mask;	/* page mode: bit n stands for 2^n bytes */
	uint64_t block_size_low;		/* block mode */
	uint64_t block_size_hi;
	ri_transport_attr_ptr_t trans_attr;	/* as transport_type says */

	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hw_version;
	uint32_t res_ltag_value;		/* also named stag0_value */

	uint_t max_pds;
	uint32_t max_qps;
	uint_t max_wrs_qp;			/* in each of its queues */
	uint_t max_srq;
	uint_t max_wrs_srq;

	/* Scatter/gather elements of one work request */
	uint_t max_sgl_send_recvqp;
	uint_t max_sgl_srq;
	uint_t max_sgl_rdma_write;
	uint_t max_sgl_rdma_read;

	uint32_t max_unregistered_inline;	/* bytes; 0: no inline data */
	uint_t max_cqs;
	uint_t max_cqes_per_cq;
	uint_t max_cq_event_handlers;
	uint_t max_mrs;
	uint_t max_mws;
	uint_t max_pbl_size;			/* entries */

	/* RDMA Reads under way, in (IRD) and out (ORD); 0: QPs do not share them */
	uint_t max_ird;
	uint_t max_ird_per_qp;
	uint_t max_ord;
	uint_t max_ord_per_qp;

	ri_rdma_transport_type_t transport_type;
	ri_rnic_flags_t rnic_flags;
	char addl_vendor_info[RI_MAX_VENDOR_STRING_LEN];
} ri_rnic_attr_t;

#define stag0_value res_ltag_value

typedef enum ri_diag_op_type {
	RI_DIAG_RNIC_DETAILS,
	RI_DIAG_QP_DETAILS,
	RI_DIAG_RNIC_DUMP,
	RI_DIAG_RDMA_RESET,
} ri_diag_op_type_t;

/* Asynchronous events. The prefix names the object: QP_, CQ_, SRQ_; all others are the RNIC's. */

typedef enum ri_async_event_type {
	/* iWARP */
	RI_EVENT_QP_LLP_CLOSE_COMPLETE = 0,
	RI_EVENT_QP_TERMINATE_MESSAGE_RECEIVED,
	RI_EVENT_QP_LLP_CONNECTION_RESET,
	RI_EVENT_QP_LLP_CONNECTION_LOST,
	RI_EVENT_QP_LLP_INTEGRITY_ERROR_SIZE,
	RI_EVENT_QP_LLP_INTEGRITY_ERROR_CRC,
	RI_EVENT_QP_LLP_INTEGRITY_ERROR_BAD_FPDU,
	RI_EVENT_QP_REMOTE_OP_ERROR_DDP_VERSION,
	RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_VERSION,
	RI_EVENT_QP_REMOTE_OP_ERROR_OPCODE,
	RI_EVENT_QP_REMOTE_OP_ERROR_DDP_QN,
	RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_RD_DISABLED,
	RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED,
	RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_RD_INVALID,
	RI_EVENT_QP_REMOTE_OP_ERROR_NO_L_BIT,
	RI_EVENT_QP_PROTECTION_ERROR_STAG_QP_MISMATCH,
	RI_EVENT_QP_PROTECTION_ERROR_BOUNDS_VIOLATION,
	RI_EVENT_QP_PROTECTION_ERROR_ACCESS_VIOLATION,
	RI_EVENT_QP_PROTECTION_ERROR_INVALID_PD,
	RI_EVENT_QP_PROTECTION_ERROR_WRAP_ERROR,
	RI_EVENT_QP_BAD_CLOSE,
	RI_EVENT_QP_BAD_LLP_CLOSE,
	RI_EVENT_QP_RQ_PROTECTION_ERROR_INVALID_MSN,
	RI_EVENT_QP_RQ_PROTECTION_ERROR_MSN_GAP,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_TOO_MANY_RDMA_READS,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_MSN_GAP,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_MSN,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_STAG,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_BOUNDS_VIOLATION,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_ACCESS_VIOLATION,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_PD,
	RI_EVENT_QP_IRRQ_PROTECTION_ERROR_WRAP_ERROR,
	RI_EVENT_QP_CQ_SQ_ERROR,
	RI_EVENT_QP_CQ_RQ_ERROR,
	RI_EVENT_CQ_OVERFLOW_DETECTED,
	RI_EVENT_CQ_OP_ERROR,
	RI_EVENT_QP_SRQ_ERROR,
	RI_EVENT_QP_LOCAL_CATASTROPHIC_ERROR,
	RI_EVENT_QP_RQ_LIMIT_REACHED,

	/* Both transports */
	RI_EVENT_SRQ_LIMIT_REACHED = 39,
	RI_EVENT_SRQ_CATASTROPHIC_ERROR,
	RI_EVENT_LOCAL_CATASTROPHIC_ERROR,
	RI_EVENT_RNIC_LOCAL_CATASTROPHIC_ERROR = RI_EVENT_LOCAL_CATASTROPHIC_ERROR,
	RI_EVENT_QP_LAST_WQE_REACHED,

	/* InfiniBand */
	RI_EVENT_TYPE_QP_PATH_MIGRATED = 43,
	RI_EVENT_TYPE_QP_COMMUNICATION_ESTABLISHED,
	RI_EVENT_TYPE_QP_SEND_QUEUE_DRAINED,
	RI_EVENT_CQ_ERROR,
	RI_EVENT_QP_LOCAL_WQ_CATASTROPHIC_ERROR,
	RI_EVENT_QP_INVALID_REQ_LOCAL_WQ_ERROR,
	RI_EVENT_QP_LOCAL_ACCESS_VIOLATION_WQ_ERROR,
	RI_EVENT_QP_PATH_MIG_REQ_ERROR,
	RI_EVENT_PORT_EVENT,
	RI_EVENT_CLIENT_REG_EVENT,
} ri_async_event_type_t;

typedef union ri_event_data {
	ri_ib_port_event_t port_event;	/* RI_EVENT_PORT_EVENT */
	ri_os_data_t resource_os_data;	/* all others: the object's, as its creator gave it */
} ri_event_data_t;

typedef struct ri_event_record {
	ri_async_event_type_t event_type;
	ri_event_data_t event_data;
	ri_err_data_t err_data;
} ri_event_record_t;

typedef void (*ri_async_event_callback_t)(ri_os_data_t vp_hdl_os_data, ri_event_record_t *event);

/* Memory. The low byte of an LTag or RTag is its key. */

typedef uint64_t ri_addr_t;
typedef uint32_t ri_ltag_t;
typedef uint32_t ri_rtag_t;

typedef enum ri_stag_state {
	RI_STAG_STATE_INVALID,
	RI_STAG_STATE_VALID,
} ri_stag_state_t;

typedef enum ri_mem_attr {
	RI_MEM_FLAGS_LOCAL_READ = 1 << 0,
	RI_MEM_FLAGS_LOCAL_WRITE = 1 << 1,
	RI_MEM_FLAGS_LOCAL = RI_MEM_FLAGS_LOCAL_READ | RI_MEM_FLAGS_LOCAL_WRITE,
	RI_MEM_FLAGS_REMOTE_WRITE = 1 << 2,
	RI_MEM_FLAGS_REMOTE_READ = 1 << 3,
	RI_MEM_FLAGS_REMOTE = RI_MEM_FLAGS_REMOTE_WRITE | RI_MEM_FLAGS_REMOTE_READ,
	RI_MEM_FLAGS_ATOMICS = 1 << 4,
	RI_MEM_FLAGS_BINDING = 1 << 5,
	RI_MEM_FLAGS_CONSUMER_OWNS_KEY = 1 << 6,
	RI_MEM_FLAGS_ZBVA = 1 << 7,		/* addresses begin at 0 */
	RI_MEM_FLAGS_NONCOHERENT = 1 << 8,
	RI_MEM_FLAGS_USER_VA = 1 << 9,		/* from the kernel: the VA is a program's */
	RI_MEM_FLAGS_SHARED_REG_IOVA = 1 << 10,
} ri_mem_attr_t;

typedef struct ri_mr_reg_attr {
	ri_addr_t va;
	ri_length_t length;
	ri_mem_attr_t mem_attr;
	ri_pd_handle_t pd;
} ri_mr_reg_attr_t;

/* What ri_mr_rereg() and ri_mr_rereg_phys() change */
typedef enum ri_mr_rereg {
	RI_MR_REREG_TRANSLATE = 1 << 0,
	RI_MR_REREG_PD = 1 << 1,
	RI_MR_REREG_ACCESS = 1 << 2,
} ri_mr_rereg_t;

typedef struct ri_phys_buf {
	ri_phys_addr_t phys_address;
	ri_phys_buf_len_t phys_len;
} ri_phys_buf_t;

typedef struct ri_mr_reg_phys_attr {
	ri_mr_reg_attr_t common;
	void *phys_buf_list;	/* of ri_phys_buf_t if pble_size is 0, else of ri_phys_addr_t */
	uint_t nbufs;
	uint_t pble_size;
	uint_t address_offset;	/* of the first byte in the first entry */
} ri_mr_reg_phys_attr_t;

typedef struct ri_mr_info {
	ri_mr_reg_attr_t attr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	ri_boolean_t is_shared_region;
	ri_addr_t local_lb;
	ri_addr_t local_ub;
	ri_addr_t remote_lb;
	ri_addr_t remote_ub;
	ri_stag_state_t stag_state;
} ri_mr_info_t;

typedef enum ri_mw_type {
	RI_MW_TYPE_1 = 0,
	RI_MW_TYPE_WIDE = RI_MW_TYPE_1,
	RI_MW_TYPE_2 = 1,
	RI_MW_TYPE_NARROW = RI_MW_TYPE_2,	/* valid for the QP that bound it */
} ri_mw_type_t;

typedef union ri_mrw_handle {
	ri_mr_handle_t mr_handle;
	ri_mw_handle_t mw_handle;
} ri_mrw_handle_t;

typedef struct ri_data_seg {
	union {
		ri_addr_t vaddr;
		ri_phys_addr_t paddr;	/* STag 0 */
		ri_length_t offset;	/* RI_MEM_FLAGS_ZBVA */
	} addr;
	union {
		ri_ltag_t ltag;
		ri_rtag_t rtag;		/* where an RDMA Read puts its data */
	} tag;
	uint32_t len;
} ri_data_seg_t;

/* CQs */

typedef uint_t ri_cq_event_handler_id_t;	/* 0: none */

typedef struct ri_cq_attr {
	uint32_t num_cqe;
	ri_cq_event_handler_id_t handler_id;
} ri_cq_attr_t;

typedef enum ri_cq_modify_mask {
	RI_CQ_MODIFY_MASK_NUM_CQE = 1 << 0,
} ri_cq_modify_mask_t;

typedef enum ri_cmplt_notify_type {
	RI_CMPLT_NOTIFY_SOLICITED,
	RI_CMPLT_NOTIFY_ANY,
} ri_cmplt_notify_type_t;

typedef void (*ri_cq_event_callback_t)(ri_os_data_t vp_hdl_os_data, ri_os_data_t cq_os_data);

/* SRQs */

typedef struct ri_srq_attr {
	uint32_t max_wrs;
	uint32_t max_sgl;
	uint32_t lowat;		/* an event comes when no more than these are left */
	ri_pd_handle_t pd;
	ri_boolean_t srq_armed;
} ri_srq_attr_t;

typedef enum ri_srq_attr_mask {
	RI_SRQ_ATTR_MAX_WRS = 1 << 0,
	RI_SRQ_ATTR_LOWAT = 1 << 1,	/* arms it as well */
} ri_srq_attr_mask_t;

/* QPs */

typedef enum ri_qp_state {
	RI_QP_STATE_IDLE = 0,
	RI_QP_STATE_READY_TO_SEND,
	RI_QP_STATE_ERROR,

	/* iWARP */
	RI_QP_STATE_TERMINATE = 3,
	RI_QP_STATE_CLOSING,

	/* InfiniBand */
	RI_QP_STATE_SEND_QUEUE_ERROR = 5,
	RI_QP_STATE_INITIALIZED,
	RI_QP_STATE_READY_TO_RECEIVE,
	RI_QP_STATE_SEND_QUEUE_DRAINING,
	RI_QP_STATE_SEND_QUEUE_DRAINED,
	RI_QP_STATE_TIMEWAIT,
} ri_qp_state_t;

/* How MPA frames the stream: markers to receive and to send, CRCs, and DDP's and RDMAP's version */
typedef struct ri_mpa_attr {
	ri_boolean_t recv_marker_enabled;
	ri_boolean_t xmit_marker_enabled;
	ri_boolean_t crc_enabled;
	uint32_t ddp_rdmap_version;	/* 0: RDMAC, 1: IETF */
} ri_mpa_attr_t;

typedef struct ri_iwarp_qp_attr {
	ri_boolean_t enable_bind;
	char terminate_buffer[52];		/* in the states Terminate and Error */
	uint32_t terminate_msg_length;
	ri_boolean_t is_terminate_local;
	ri_llp_stream_handle_t llp_stream_handle;
	ri_mpa_attr_t mpa_attrs;
	char *stream_msg_buf;			/* the last bytes before MPA */
	uint32_t stream_msg_buf_length;
	uint32_t rq_hiwat;
	ri_boolean_t rq_armed;
} ri_iwarp_qp_attr_t;

typedef struct ri_ib_qp_attr {
	uint32_t send_psn;
	ri_boolean_t signal_completions;
	ri_svc_type_t trans_type;
	uint32_t enable_async_notify_for_sqd;
	ri_path_address_info_t primary_av;

	/* Reliable connections */
	uint32_t rcv_psn;
	uint32_t dest_qpn;
	uint32_t min_rnrnak_timer;
	ri_path_address_info_t alternate_av;
	ri_path_migration_state_t mig_state;
	ri_boolean_t enable_atomic;

	/* Datagrams */
	ri_qp_state_t current_state;
	uint32_t rcv_qkey;
} ri_ib_qp_attr_t;

/* For each CQ and the SRQ, ri_qp_create() takes a handle and ri_qp_query() returns the os_data. */
typedef struct ri_qp_attr {
	uint32_t qp_id;
	union {
		ri_cq_handle_t scq_handle;
		ri_os_data_t scq_os_data;
	} scq;
	union {
		ri_cq_handle_t rcq_handle;
		ri_os_data_t rcq_os_data;
	} rcq;
	union {
		ri_srq_handle_t srq_handle;
		ri_os_data_t srq_os_data;
	} srq;
	ri_pd_handle_t pd;
	uint32_t sq_size;
	uint32_t rq_size;
	ri_boolean_t srq_valid;
	uint32_t sq_max_sges;
	uint32_t sq_max_sges_rdmaw;
	uint32_t rq_max_sges;
	ri_qp_state_t state;
	ri_boolean_t enable_rdma_read;		/* the peer may read */
	ri_boolean_t enable_rdma_write;		/* the peer may write, or answer a Read */
	uint32_t max_rdma_read_outgoing;
	uint32_t max_rdma_read_incoming;
	ri_boolean_t enable_stag0_fastreg;
	union {
		ri_iwarp_qp_attr_t qp_iwarp;
		ri_ib_qp_attr_t qp_ib;
	} qp_xport;
} ri_qp_attr_t;

/* Bits 5 to 9 mean one thing for iWARP and another for InfiniBand. */
typedef enum ri_qp_attr_mask {
	RI_QP_ATTR_NEXT_STATE = 1 << 0,
	RI_QP_ATTR_SQ_SIZE = 1 << 1,
	RI_QP_ATTR_RQ_SIZE = 1 << 2,
	RI_QP_ATTR_MAX_RDMA_READ_OUTGOING = 1 << 3,
	RI_QP_ATTR_MAX_RDMA_READ_INCOMING = 1 << 4,

	/* iWARP */
	RI_QP_ATTR_RQ_HIWAT = 1 << 5,
	RI_QP_ATTR_RQ_ARMED = 1 << 6,
	RI_QP_ATTR_LLP_STREAM_HANDLE = 1 << 7,
	RI_QP_ATTR_STREAM_MSG_BUFFER = 1 << 8,
	RI_QP_ATTR_MPA_ATTR = 1 << 9,

	/* InfiniBand */
	RI_QP_ATTR_ENABLE_RDMA_READ = 1 << 5,
	RI_QP_ATTR_ENABLE_RDMA_WRITE = 1 << 6,
	RI_QP_ATTR_ENABLE_ATOMICS = 1 << 7,
	RI_QP_ATTR_DEST_QPID = 1 << 8,
	RI_QP_ATTR_ENABLE_SQD = 1 << 9,
	RI_QP_ATTR_QKEY = 1 << 10,
	RI_QP_ATTR_SEND_PSN = 1 << 11,
	RI_QP_ATTR_RECV_PSN = 1 << 12,
	RI_QP_ATTR_MIN_RNR_TIMER = 1 << 13,
	RI_QP_ATTR_PRIMARY_PATH = 1 << 14,
	RI_QP_ATTR_ALTERNATE_PATH = 1 << 15,
	RI_QP_ATTR_MIGSTATE = 1 << 16,
	RI_QP_ATTR_PRIMARY_PKEY = 1 << 17,
	RI_QP_ATTR_PORT_NUM = 1 << 18,
} ri_qp_attr_mask_t;

/* Work requests */

typedef uint64_t ri_wr_id_t;

typedef enum ri_wr_type {
	RI_WR_TYPE_SEND = 0,
	RI_WR_TYPE_SEND_INVALIDATE,
	RI_WR_TYPE_RDMA_WRITE,
	RI_WR_TYPE_RDMA_READ,
	RI_WR_TYPE_BIND,
	RI_WR_TYPE_FAST_REGISTER,
	RI_WR_TYPE_LOCAL_INVALIDATE_MR,
	RI_WR_TYPE_LOCAL_INVALIDATE_MW,
	RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE,	/* iWARP */

	/* InfiniBand */
	RI_WR_TYPE_COMPARE_AND_SWAP = 9,
	RI_WR_TYPE_FETCH_AND_ADD,
	RI_WR_TYPE_SEND_IMMEDIATE,
	RI_WR_TYPE_RDMA_WRITE_IMMEDIATE,
} ri_wr_type_t;

typedef enum ri_wr_flags {
	RI_WR_SIGNALED_FLAG = 1 << 0,
	RI_WR_LOCAL_SOLICITED_FLAG = 1 << 1,	/* its completion is solicited here */
	RI_WR_SOLICITED_EVENT_FLAG = 1 << 2,	/* the peer's completion is solicited there */
	RI_WR_READ_FENCE_FLAG = 1 << 3,		/* waits for all Reads before it */
	RI_WR_LOCAL_FENCE_FLAG = 1 << 4,	/* waits for all requests before it */
	RI_WR_COALESCE_FLAG = 1 << 5,		/* more follow: the RNIC may wait for them */
	RI_WR_INLINE_OK_FLAG = 1 << 6,		/* the RNIC may copy the data at once */
	RI_WR_CONSUMER_FLAG2 = RI_WR_LOCAL_SOLICITED_FLAG,
	RI_WR_CONSUMER_FLAG1 = 1 << 29,
	RI_WR_CONSUMER_FLAG0 = 1 << 30,
} ri_wr_flags_t;

typedef struct ri_wr_common {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
} ri_wr_common_t;

typedef struct ri_wr_send {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_data_seg_t *sg_list;
	ri_rtag_t rtag;		/* of the peer, which it invalidates */
	uint_t num_sgls;
	uint32_t imm_data;
} ri_wr_send_t;

typedef struct ri_wr_rdma_read {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_data_seg_t *sg_list;
	uint64_t rdma_addr;
	uint_t num_sgls;
	ri_rtag_t rtag;
} ri_wr_rdma_read_t;

typedef struct ri_wr_rdma_write {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_data_seg_t *sg_list;
	uint64_t rdma_addr;
	ri_rtag_t rtag;
	uint_t num_sgls;
	uint32_t imm_data;
} ri_wr_rdma_write_t;

typedef struct ri_wr_bind {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_mw_handle_t mw_handle;
	ri_rtag_t rtag;
	ri_mr_handle_t mr_handle;
	ri_ltag_t ltag;
	ri_addr_t vaddr;
	ri_length_t length;
	ri_mem_attr_t mem_attr;
} ri_wr_bind_t;

typedef struct ri_wr_fmr {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_mr_reg_phys_attr_t attr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	ri_mr_handle_t mr_handle;
} ri_wr_fmr_t;

typedef struct ri_wr_local_invalidate {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	ri_mrw_handle_t mrw_handle;	/* as the type says */
} ri_wr_local_invalidate_t;

typedef struct ri_wr_atomic {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_rtag_t rtag;
	uint64_t atomic_operand1;
	uint64_t atomic_operand2;
	ri_data_seg_t atomic_result;
} ri_wr_atomic_t;

typedef struct ri_wr_datagram {
	ri_wr_type_t type;
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_data_seg_t *sg_list;
	uint_t num_sgls;
	uint32_t imm_data;
	ri_address_handle_t remote_node_address;
	uint32_t dest_qp;
	uint32_t dest_qkey;
	uint8_t max_static_rate;
} ri_wr_datagram_t;

/* An element of the array that ri_qp_postsq() takes, whatever its type */
typedef union ri_wr {
	ri_wr_common_t wr_common;
	ri_wr_send_t wr_send;
	ri_wr_rdma_read_t wr_rdma_read;
	ri_wr_rdma_write_t wr_rdma_write;
	ri_wr_bind_t wr_bind;
	ri_wr_fmr_t wr_fmr;
	ri_wr_local_invalidate_t wr_li;
	ri_wr_atomic_t wr_atomic;
	ri_wr_datagram_t wr_datagram;
} ri_wr_t;

/* An element of the array that ri_qp_postrq() and ri_srq_post() take */
typedef struct ri_wr_recv {
	ri_wr_flags_t flags;
	ri_wr_id_t id;
	ri_data_seg_t *sg_list;
	uint_t num_sgls;
} ri_wr_recv_t;

/* Completions */

typedef enum ri_wc_type {
	RI_WC_TYPE_SEND = 1,
	RI_WC_TYPE_DATA_RECEIVED = 2,
	RI_WC_TYPE_RDMA_WRITE = 4,
	RI_WC_TYPE_RDMA_READ = 5,
	RI_WC_TYPE_BIND = 6,
	RI_WC_TYPE_FAST_REGISTER = 7,
	RI_WC_TYPE_LOCAL_INVALIDATE = 8,
	RI_WC_TYPE_RDMA_READ_LOCAL_INVALIDATE = 9,

	/* InfiniBand */
	RI_WC_TYPE_COMPARE_AND_SWAP = 10,
	RI_WC_TYPE_FETCH_AND_ADD = 11,
	RI_WC_TYPE_RDMA_IMMEDIATE_RECEIVED = 12,
} ri_wc_type_t;

typedef enum ri_wc_flags {
	RI_WC_FLAG_SOLICITED_EVENT = 1 << 0,
	RI_WC_FLAG_LOCAL_SOLICITED = 1 << 1,
	RI_WC_FLAG_RTAG_INVALIDATE = 1 << 2,	/* invalidated_rtag is valid */
	RI_WC_FLAG_IMMEDIATE_DATA = 1 << 3,
	RI_WC_FLAG_CONSUMER2 = RI_WC_FLAG_LOCAL_SOLICITED,
	RI_WC_FLAG_CONSUMER1 = 1 << 29,
	RI_WC_FLAG_CONSUMER0 = 1 << 30,
} ri_wc_flags_t;

typedef enum ri_wc_status {
	RI_WC_STATUS_SUCCESS = 0,
	RI_WC_STATUS_WR_FLUSHED_ERROR = 1,
	RI_WC_STATUS_LOCAL_QP_CATASTROPHIC = 2,
	RI_WC_STATUS_LOCAL_QP_OP_ERROR = RI_WC_STATUS_LOCAL_QP_CATASTROPHIC,

	/* iWARP */
	RI_WC_STATUS_WQE_FORMAT_ERROR = 3,
	RI_WC_STATUS_REMOTE_TERMINATION_ERROR,
	RI_WC_STATUS_INVALID_STAG_ERROR,
	RI_WC_STATUS_BASE_BOUNDS_VIOLATION_ERROR,
	RI_WC_STATUS_ACCESS_VIOLATION_ERROR,
	RI_WC_STATUS_INVALID_PD_ERROR,
	RI_WC_STATUS_ADDRESS_WRAP_ERROR,
	RI_WC_STATUS_STAG_INVALIDATE_ERROR,
	RI_WC_STATUS_ZERO_ORD_ERROR,
	RI_WC_STATUS_FMR_QP_NOT_PRIVILEGED_ERROR,
	RI_WC_STATUS_STAG_NOT_IN_INVALID_STATE_ERROR,
	RI_WC_STATUS_INVALID_FMR_PAGE_SIZE_ERROR,
	RI_WC_STATUS_INVALID_FMR_BLOCK_SIZE_ERROR,
	RI_WC_STATUS_INVALID_FMR_PBL_ENTRY_ERROR,
	RI_WC_STATUS_INVALID_FMR_FBO_ERROR,
	RI_WC_STATUS_INVALID_FMR_LENGTH_ERROR,
	RI_WC_STATUS_INVALID_FMR_PERMS_ERROR,
	RI_WC_STATUS_FMR_PBL_TOO_LONG_ERROR,
	RI_WC_STATUS_INVALID_FMR_VA_ERROR,
	RI_WC_STATUS_INVALID_BIND_MR_ERROR,
	RI_WC_STATUS_INVALID_BIND_MW_ERROR,
	RI_WC_STATUS_HUGE_PAYLOAD_ERROR,

	/* InfiniBand */
	RI_WC_STATUS_LOCAL_LENGTH_ERROR = 25,
	RI_WC_STATUS_LOCAL_PROTECTION_ERROR,
	RI_WC_STATUS_MEMORY_MGMT_ERROR,
	RI_WC_STATUS_BAD_RESPONSE_ERROR,
	RI_WC_STATUS_LOCAL_ACCESS_ERROR,
	RI_WC_STATUS_REMOTE_INVALID_REQ_ERROR,
	RI_WC_STATUS_REMOTE_ACCESS_ERROR,
	RI_WC_STATUS_REMOTE_OP_ERROR,
	RI_WC_STATUS_TRANSPORT_RETRY_EXCEEDED,
	RI_WC_STATUS_RNR_RETRY_EXCEEDED,
	RI_WC_STATUS_REMOTE_ABORTED_ERROR,
} ri_wc_status_t;

/* For a connected QP. id and op_status are always valid, bytes_transferred where data moved. */
typedef struct ri_rc_wc {
	ri_wc_type_t op_type;
	ri_os_data_t cq_os_data;
	ri_wc_flags_t flags;
	ri_rtag_t invalidated_rtag;
	ri_os_data_t qp_os_data;
	ri_wr_id_t id;
	ri_wc_status_t op_status;
	uint32_t bytes_transferred;
	uint32_t immediate_data;
	ri_err_data_t err_data;
} ri_rc_wc_t;

/* For InfiniBand's datagrams */
typedef struct ri_gen_wc {
	ri_wc_type_t op_type;
	ri_os_data_t cq_os_data;
	ri_wc_flags_t flags;
	uint32_t qpn;
	ri_os_data_t qp_os_data;
	ri_wr_id_t id;
	ri_wc_status_t op_status;
	uint32_t bytes_transferred;
	uint32_t immediate_data;
	ri_lid_t remote_lid;
	uint32_t remote_qpn;
	uint8_t remote_sl;
	uint8_t local_lid_pathbits;
	uint16_t ether_type;
	uint32_t grh_present;
	uint32_t pkey_index;
	uint32_t freed_resource_count;
	ri_err_data_t err_data;
} ri_gen_wc_t;

/* An element of the array that ri_cq_poll() fills in */
typedef union ri_wc {
	ri_wc_type_t type_wc;
	ri_rc_wc_t rc_wc;
	ri_gen_wc_t ud_wc;
} ri_wc_t;

/*
 * The types of the functions. A function reads, and then overwrites, counts and sizes (num_wrs,
 * num_wcs, attr_size, oplen, address_list_length), LTags, handler ids, and the attributes of what
 * it creates or changes. err_data may be NULL.
 */

typedef ri_api_return_t (*ri_op_rnic_open_t)(ri_vp_handle_t vp_hdl, ri_pbl_mode_t pbl_mode,
					     ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_close_t)(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_async_set_event_handler_t)(ri_vp_handle_t vp_hdl,
							   ri_async_event_callback_t callback,
							   ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_get_hdl_t)(ri_vp_handle_t vp_hdl,
						ri_consumer_domain_t location,
						ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
						ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_query_t)(ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags,
					      ri_rnic_attr_t *attrs, uint_t *attr_size,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_modify_t)(ri_rnic_handle_t rnic, ri_rnic_attr_mask_t attr_mask,
					       ri_rnic_modify_req_t *attrs,
					       ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_free_hdl_t)(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
						 ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_rnic_diag_t)(ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg,
					     unsigned char *opval, ri_length_t *oplen,
					     ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_pd_alloc_t)(ri_rnic_handle_t rnic, ri_pd_handle_t *pd,
					    ri_vp_data_t vp_data, ri_os_data_t os_data,
					    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_pd_dealloc_t)(ri_rnic_handle_t rnic, ri_pd_handle_t pd,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_create_t)(ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr,
					     ri_cq_handle_t *cq, ri_vp_data_t vp_data,
					     ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_query_t)(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
					    ri_cq_attr_t *cq_attr, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_modify_t)(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
					     ri_cq_modify_mask_t mask, ri_cq_attr_t *cq_attr,
					     ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_destroy_t)(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_special_qp_get_t)(ri_rnic_handle_t rnic, uint8_t port,
						  ri_sqp_type_t qp_type, ri_qp_attr_t *attrs,
						  ri_qp_handle_t *qp, ri_vp_data_t vp_data,
						  ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_set_event_handler_t)(ri_vp_handle_t vp_hdl,
							ri_cq_event_handler_id_t *handler_id,
							ri_cq_event_callback_t cq_callback,
							ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_req_notification_t)(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
						       ri_cmplt_notify_type_t type,
						       ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_cq_poll_t)(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs,
					   uint_t *num_wcs, ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_qp_create_t)(ri_rnic_handle_t rnic, ri_qp_attr_t *attrs,
					     ri_qp_handle_t *qp, ri_vp_data_t vp_data,
					     ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_query_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					    ri_qp_attr_t *attrs, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_modify_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					     ri_qp_attr_mask_t qp_mask, ri_qp_attr_t *attrs,
					     ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_destroy_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					      ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_qp_postsq_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
					     uint_t *num_wrs, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_send_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						ri_wr_type_t type, ri_wr_flags_t flags,
						ri_wr_id_t id, ri_data_seg_t *sg_list,
						ri_rtag_t rtag, uint_t num_sgle, uint32_t imm_data,
						ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_rdma_read_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						     ri_wr_type_t type, ri_wr_flags_t flags,
						     ri_wr_id_t id, ri_data_seg_t *sg_list,
						     uint64_t rdma_addr, uint_t num_sgle,
						     ri_rtag_t rtag, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_rdma_write_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						      ri_wr_type_t type, ri_wr_flags_t flags,
						      ri_wr_id_t id, ri_data_seg_t *sg_list,
						      uint64_t rdma_addr, ri_rtag_t rtag,
						      uint_t num_sgle, uint32_t imm_data,
						      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_bind_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						ri_wr_type_t type, ri_wr_flags_t flags,
						ri_wr_id_t id, ri_mw_handle_t mw_handle,
						ri_rtag_t rtag, ri_mr_handle_t mr_handle,
						ri_ltag_t ltag, ri_addr_t vaddr, ri_length_t length,
						ri_mem_attr_t mem_attr, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_fmr_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					       ri_wr_type_t type, ri_wr_flags_t flags,
					       ri_wr_id_t id, ri_mr_reg_phys_attr_t *attr,
					       ri_ltag_t ltag, ri_rtag_t rtag,
					       ri_mr_handle_t mr_handle, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_local_invalidate_t)(ri_rnic_handle_t rnic,
							    ri_qp_handle_t qp, ri_wr_type_t type,
							    ri_wr_flags_t flags, ri_wr_id_t id,
							    ri_ltag_t ltag, ri_rtag_t rtag,
							    ri_mrw_handle_t mrw_handle,
							    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_atomic_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						  ri_wr_type_t type, ri_wr_flags_t flags,
						  ri_wr_id_t id, ri_rtag_t rtag,
						  uint64_t atomic_operand1,
						  uint64_t atomic_operand2, ri_data_seg_t *sg_list,
						  ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_datagram_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
						    ri_wr_type_t type, ri_wr_flags_t flags,
						    ri_wr_id_t id, ri_data_seg_t *sg_list,
						    uint_t num_sgle, uint32_t imm_data,
						    ri_address_handle_t remote_node_address,
						    uint32_t dest_qp, uint32_t dest_qkey,
						    uint8_t max_static_rate,
						    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_postrq_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
					     ri_wr_recv_t *wr, uint_t *num_wrs,
					     ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_qp_post_recv_t)(ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
						ri_wr_flags_t flags, ri_wr_id_t id,
						ri_data_seg_t *sg_list, uint_t num_sgls,
						ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_srq_create_t)(ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs,
					      ri_srq_handle_t *srq, ri_vp_data_t vp_data,
					      ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_srq_query_t)(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
					     ri_srq_attr_t *srq_attrs, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_srq_modify_t)(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
					      ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_srq_destroy_t)(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
					       ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_srq_post_t)(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
					    ri_wr_recv_t *wr, uint_t *num_wrs,
					    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_srq_post_recv_t)(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
						 ri_wr_flags_t flags, ri_wr_id_t id,
						 ri_data_seg_t *sg_list, uint_t num_sgls,
						 ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_ltag_alloc_t)(ri_rnic_handle_t rnic, uint_t *address_list_length,
					      ri_pd_handle_t pd, ri_mem_attr_t attr,
					      ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
					      ri_vp_data_t vp_data, ri_os_data_t os_data,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_reg_t)(ri_rnic_handle_t rnic,
					  const ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *mr,
					  ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
					  ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_query_t)(ri_rnic_handle_t rnic, ri_mr_handle_t mr,
					    ri_mr_info_t *mr_info, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_rereg_t)(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
					    ri_mr_rereg_t change_mask,
					    const ri_mr_reg_attr_t *mr_attr, ri_mr_handle_t *out_mr,
					    ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
					    ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_dereg_t)(ri_rnic_handle_t rnic, ri_mr_handle_t mr,
					    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_reg_phys_t)(ri_rnic_handle_t rnic,
					       ri_mr_reg_phys_attr_t *mr_phys_attr,
					       ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
					       ri_vp_data_t vp_data, ri_os_data_t os_data,
					       ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_rereg_phys_t)(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
						 ri_mr_rereg_t change_mask,
						 ri_mr_reg_phys_attr_t *mr_phys_attr,
						 ri_mr_handle_t *out_mr, ri_ltag_t *ltag,
						 ri_rtag_t *rtag, ri_vp_data_t vp_data,
						 ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mr_reg_shared_t)(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
						 ri_mr_reg_attr_t *mr_reg_attr,
						 ri_mr_handle_t *out_mr, ri_ltag_t *ltag,
						 ri_rtag_t *rtag, ri_vp_data_t vp_data,
						 ri_os_data_t os_data, ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_mw_alloc_t)(ri_rnic_handle_t rnic, ri_pd_handle_t pd,
					    ri_mw_type_t mw_type, ri_mw_handle_t *mw,
					    ri_rtag_t *rtag, ri_vp_data_t vp_data,
					    ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mw_dealloc_t)(ri_rnic_handle_t rnic, ri_mw_handle_t mw,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mw_query_t)(ri_rnic_handle_t rnic, ri_mw_handle_t mw,
					    ri_mw_type_t *mw_type, ri_stag_state_t *stag_state,
					    ri_pd_handle_t *pd, ri_mem_attr_t *attr,
					    ri_rtag_t *rtag, ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_mem_pin_t)(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
					   ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mem_unpin_t)(ri_rnic_handle_t rnic, ri_vaddr_t vaddr,
					     ri_length_t len, ri_os_data_t os_data,
					     ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mem_map_t)(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
					   ri_phys_buf_t *io, ri_os_data_t os_data,
					   ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mem_unmap_t)(ri_rnic_handle_t rnic, ri_phys_buf_t *io,
					     ri_os_data_t os_data, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mem_sync_rread_t)(ri_rnic_handle_t rnic,
						  ri_data_seg_t *local_seg_list, uint_t num_seg,
						  ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mem_sync_rwrite_t)(ri_rnic_handle_t rnic,
						   ri_data_seg_t *local_seg_list, uint_t num_seg,
						   ri_err_data_t *err_data);

typedef ri_api_return_t (*ri_op_ah_create_t)(ri_rnic_handle_t rnic, ri_pd_handle_t pd,
					     ri_ud_address_vector_t *av, ri_address_handle_t *ah,
					     ri_vp_data_t vp_data, ri_os_data_t os_data,
					     ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_ah_query_t)(ri_rnic_handle_t rnic, ri_address_handle_t ah,
					    ri_ud_address_vector_t *av, ri_pd_handle_t *pd,
					    ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_ah_modify_t)(ri_rnic_handle_t rnic, ri_address_handle_t ah,
					     ri_ud_address_vector_t *av, ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_ah_destroy_t)(ri_rnic_handle_t rnic, ri_address_handle_t ah,
					      ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mcast_attach_t)(ri_rnic_handle_t rnic, ri_lid_t mlid,
						ri_gid_t *mgid, ri_qp_handle_t qp,
						ri_vp_data_t vp_data, ri_os_data_t os_data,
						ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_mcast_detach_t)(ri_rnic_handle_t rnic, ri_lid_t mlid,
						ri_gid_t *mgid, ri_qp_handle_t qp,
						ri_err_data_t *err_data);
typedef ri_api_return_t (*ri_op_process_sma_mad_t)(ri_rnic_handle_t rnic, uint8_t port_num,
						   char *in_mad, char *out_mad,
						   ri_err_data_t *err_data);

/* The vector of a VP, in this order. The programs' and the kernel's have the same type. */
typedef struct ri_ops {
	/* RNICs */
	ri_op_rnic_open_t ri_op_rnic_open;
	ri_op_rnic_close_t ri_op_rnic_close;
	ri_op_async_set_event_handler_t ri_op_async_set_event_handler;
	ri_op_rnic_get_hdl_t ri_op_rnic_get_hdl;
	ri_op_rnic_query_t ri_op_rnic_query;
	ri_op_rnic_modify_t ri_op_rnic_modify;
	ri_op_rnic_free_hdl_t ri_op_rnic_free_hdl;
	ri_op_rnic_diag_t ri_op_rnic_diag;

	/* PDs and CQs */
	ri_op_pd_alloc_t ri_op_pd_alloc;
	ri_op_pd_dealloc_t ri_op_pd_dealloc;
	ri_op_cq_create_t ri_op_cq_create;
	ri_op_cq_query_t ri_op_cq_query;
	ri_op_cq_modify_t ri_op_cq_modify;
	ri_op_cq_destroy_t ri_op_cq_destroy;
	ri_op_special_qp_get_t ri_op_special_qp_get;
	ri_op_cq_set_event_handler_t ri_op_cq_set_event_handler;
	ri_op_cq_req_notification_t ri_op_cq_req_notification;
	ri_op_cq_poll_t ri_op_cq_poll;

	/* QPs */
	ri_op_qp_create_t ri_op_qp_create;
	ri_op_qp_query_t ri_op_qp_query;
	ri_op_qp_modify_t ri_op_qp_modify;
	ri_op_qp_destroy_t ri_op_qp_destroy;

	/* Work requests */
	ri_op_qp_postsq_t ri_op_qp_postsq;
	ri_op_qp_post_send_t ri_op_qp_post_send;
	ri_op_qp_post_rdma_read_t ri_op_qp_post_rdma_read;
	ri_op_qp_post_rdma_write_t ri_op_qp_post_rdma_write;
	ri_op_qp_post_bind_t ri_op_qp_post_bind;
	ri_op_qp_post_fmr_t ri_op_qp_post_fmr;
	ri_op_qp_post_local_invalidate_t ri_op_qp_post_local_invalidate;
	ri_op_qp_post_atomic_t ri_op_qp_post_atomic;
	ri_op_qp_post_datagram_t ri_op_qp_post_datagram;
	ri_op_qp_postrq_t ri_op_qp_postrq;
	ri_op_qp_post_recv_t ri_op_qp_post_recv;

	/* SRQs */
	ri_op_srq_create_t ri_op_srq_create;
	ri_op_srq_query_t ri_op_srq_query;
	ri_op_srq_modify_t ri_op_srq_modify;
	ri_op_srq_destroy_t ri_op_srq_destroy;
	ri_op_srq_post_t ri_op_srq_post;
	ri_op_srq_post_recv_t ri_op_srq_post_recv;

	/* Memory regions */
	ri_op_ltag_alloc_t ri_op_ltag_alloc;
	ri_op_mr_reg_t ri_op_mr_reg;
	ri_op_mr_query_t ri_op_mr_query;
	ri_op_mr_rereg_t ri_op_mr_rereg;
	ri_op_mr_dereg_t ri_op_mr_dereg;
	ri_op_mr_reg_phys_t ri_op_mr_reg_phys;
	ri_op_mr_rereg_phys_t ri_op_mr_rereg_phys;
	ri_op_mr_reg_shared_t ri_op_mr_reg_shared;

	/* Memory windows */
	ri_op_mw_alloc_t ri_op_mw_alloc;
	ri_op_mw_dealloc_t ri_op_mw_dealloc;
	ri_op_mw_query_t ri_op_mw_query;

	/* Memory as such */
	ri_op_mem_pin_t ri_op_mem_pin;
	ri_op_mem_unpin_t ri_op_mem_unpin;
	ri_op_mem_map_t ri_op_mem_map;
	ri_op_mem_unmap_t ri_op_mem_unmap;
	ri_op_mem_sync_rread_t ri_op_mem_sync_rread;
	ri_op_mem_sync_rwrite_t ri_op_mem_sync_rwrite;

	/* InfiniBand */
	ri_op_ah_create_t ri_op_ah_create;
	ri_op_ah_query_t ri_op_ah_query;
	ri_op_ah_modify_t ri_op_ah_modify;
	ri_op_ah_destroy_t ri_op_ah_destroy;
	ri_op_mcast_attach_t ri_op_mcast_attach;
	ri_op_mcast_detach_t ri_op_mcast_detach;
	ri_op_process_sma_mad_t ri_op_process_sma_mad;
} ri_ops_t;

/* The services of the access layer. Programs call ri_svc_lib_reg(), kernel modules the others. */

typedef struct ri_services_dev_arg {
	uint32_t rnicpi_major_version;
	uint32_t rnicpi_minor_version;
	uint32_t fw_major_version;
	uint32_t fw_minor_version;
	uint32_t fw_sub_minor_version;
	uint_t query_size;			/* of a buffer for ri_rnic_query() */
	char lib_path[RI_MAX_LIB_PATH_LEN];	/* the library that is the VP of programs */
	char hw_path[RI_MAX_HW_PATH_LEN];	/* where the device is in this host */
} ri_services_dev_arg_t;

ri_api_return_t ri_svc_attach(ri_vp_handle_t vp_hdl, ri_dev_info_t dev_info,
			      ri_services_dev_arg_t *svcs, ri_ops_t *al_locking_ops,
			      ri_ops_t *vp_locking_ops, ri_err_data_t *err_data);
ri_api_return_t ri_svc_detach(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data);
ri_api_return_t ri_svc_lib_reg(char *lib_path, ri_ops_t *al_locking_ops, ri_ops_t *vp_locking_ops,
			       ri_os_data_t os_data, ri_err_data_t *err_data);
ri_api_return_t ri_svc_mem_pin(ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
			       ri_err_data_t *err_data);
ri_api_return_t ri_svc_mem_unpin(ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
				 ri_err_data_t *err_data);

#include <rnicpi/rnicpi_osdfunc.h>

#ifdef __cplusplus
}
#endif

#endif
