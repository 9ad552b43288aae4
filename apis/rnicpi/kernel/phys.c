// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Physical buffer lists (5.2): pages, or blocks of any size at any address. The device has pages
 * of one power of two: those of a list are cut into the largest that divides them all. An error
 * is a status of Figure 36, as of a fast-register WR.
 */

#include <linux/gcd.h>
#include <linux/mm.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

/**
 * struct cut - how a list is cut into pieces, which are the device's pages or blocks
 * @blocks: blocks, which are not cut
 * @modulus: as of srnic_native_mr_begin(): bytes of a page, or what divides all blocks
 * @first: number of pages to skip
 * @fbo: offset in what follows
 * @pieces: number of remaining pieces
 */
struct cut {
	bool blocks;
	u32 modulus;
	u64 first;
	u64 fbo;
	u64 pieces;
};

static u64 address_at(const ri_mr_reg_phys_attr_t *attr, u32 i)
{
	if (attr->pble_size)
		return ((const ri_phys_addr_t *)attr->phys_buf_list)[i];
	return ((const ri_phys_buf_t *)attr->phys_buf_list)[i].phys_address;
}

static u64 length_at(const ri_mr_reg_phys_attr_t *attr, u32 i)
{
	return attr->pble_size ?: ((const ri_phys_buf_t *)attr->phys_buf_list)[i].phys_len;
}

static bool is_ram(u64 address, u64 length)
{
	u64 last;

	return !check_add_overflow(address, length - 1, &last) &&
	       pfn_valid(PHYS_PFN(address)) && pfn_valid(PHYS_PFN(last));
}

static enum srnic_wc_status check_page(const ri_mr_reg_phys_attr_t *attr, u64 address, u64 length)
{
	u64 align = attr->pble_size ?: SRNIC_MIN_PAGE;

	if (!length || length % SRNIC_MIN_PAGE || length > RI_MAX_BLOCK ||
	    (attr->pble_size && !is_power_of_2(length)))
		return SRNIC_WC_PAGE_SIZE;
	return address % align ? SRNIC_WC_PBL_ENTRY : SRNIC_WC_SUCCESS;
}

static enum srnic_wc_status check_block(u64 length)
{
	return length < RI_MIN_BLOCK || length > RI_MAX_BLOCK ?
	       SRNIC_WC_PBE_SIZE : SRNIC_WC_SUCCESS;
}

static enum srnic_wc_status check_entry(bool blocks, const ri_mr_reg_phys_attr_t *attr, u32 i)
{
	u64 address = address_at(attr, i), length = length_at(attr, i);
	enum srnic_wc_status status = blocks ? check_block(length) :
					       check_page(attr, address, length);

	if (!status && !is_ram(address, length))
		status = SRNIC_WC_PBL_ENTRY;
	return status;
}

/* Checks in the order of Figure 23 */
static enum srnic_wc_status look(const struct rnic_vp *vp, const ri_mr_reg_phys_attr_t *attr,
				 struct cut *cut)
{
	u64 divisor = 0, total = 0;
	enum srnic_wc_status status;
	u32 i;

	if (!attr->nbufs)
		return SRNIC_WC_FR_LENGTH;
	if (!attr->phys_buf_list)
		return SRNIC_WC_PBL_ENTRY;
	cut->blocks = vp->mode == RI_PHYS_BLOCK_LIST_MODE;
	for (i = 0; i < attr->nbufs; i++) {
		status = check_entry(cut->blocks, attr, i);
		if (status)
			return status;
		divisor = gcd(divisor, length_at(attr, i));
		total += length_at(attr, i);
	}
	if (attr->address_offset >= length_at(attr, 0))
		return SRNIC_WC_FBO;
	if (cut->blocks) {
		cut->modulus = divisor;
		cut->first = 0;
		cut->fbo = attr->address_offset;
		cut->pieces = attr->nbufs;
	} else {
		cut->modulus = divisor & -divisor;
		cut->first = attr->address_offset / cut->modulus;
		cut->fbo = attr->address_offset % cut->modulus;
		cut->pieces = (total >> ilog2(cut->modulus)) - cut->first;
	}
	return SRNIC_WC_SUCCESS;
}

/**
 * ri_phys_blocks - number of the device's blocks that a list needs
 * @vp: the device; its mode says how to read the list
 * @attr: the list
 *
 * Context: any. Return: the number; 0 if the list is invalid or too long.
 */
u32 ri_phys_blocks(struct rnic_vp *vp, const ri_mr_reg_phys_attr_t *attr)
{
	struct cut cut;

	return look(vp, attr, &cut) || cut.pieces > SRNIC_MAX_FR_BLOCKS ? 0 : cut.pieces;
}

/* Return: false if the region's list is full */
static bool put_entry(struct ib_mr *mr, const struct cut *cut, u64 *skip, u64 address, u64 length)
{
	u64 piece = cut->blocks ? length : cut->modulus, at;

	for (at = 0; at < length; at += piece) {
		if (*skip) {
			--*skip;
			continue;
		}
		if (srnic_native_mr_add(mr, (uintptr_t)phys_to_virt(address + at), piece))
			return false;
	}
	return true;
}

/**
 * ri_phys_list - set the list of the next registration of a region
 * @vp: the device; its mode says how to read the list
 * @mr: of ib_alloc_mr()
 * @attr: the list
 *
 * Context: any.
 *
 * Return: success, SRNIC_WC_PAGE_SIZE, SRNIC_WC_PBE_SIZE,
 * SRNIC_WC_PBL_ENTRY, SRNIC_WC_FBO, SRNIC_WC_FR_LENGTH, SRNIC_WC_PBL_TOO_LONG.
 */
enum srnic_wc_status ri_phys_list(struct rnic_vp *vp, struct ib_mr *mr,
				  const ri_mr_reg_phys_attr_t *attr)
{
	enum srnic_wc_status status;
	struct cut cut;
	u64 skip;
	u32 i;

	status = look(vp, attr, &cut);
	if (status)
		return status;
	srnic_native_mr_begin(mr, cut.modulus, cut.fbo);
	skip = cut.first;
	for (i = 0; i < attr->nbufs; i++)
		if (!put_entry(mr, &cut, &skip, address_at(attr, i), length_at(attr, i)))
			return SRNIC_WC_PBL_TOO_LONG;
	return SRNIC_WC_SUCCESS;
}
