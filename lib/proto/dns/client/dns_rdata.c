// SPDX-License-Identifier: BSD-3-Clause
// Converts master file text to wire form with ldns. Used by dns_updates.c and dns_zone.c.
// Path: cold. Management thread.

#include "proto/dns/client/dns_rdata.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ldns/ldns.h>

#define LISTED_RECORDS 10 // bad records, before reading stops

// ldns accepts a record with too few or too many words if the present ones are valid.
static ldns_status rdata_write(ldns_buffer *to, const ldns_rr *rr)
{
	const ldns_rr_descriptor *d = ldns_rr_descript(ldns_rr_get_type(rr));

	if (ldns_rr_rd_count(rr) == 0 ||
		(d && ldns_rr_rd_count(rr) < ldns_rr_descriptor_minimum(d)))
		return LDNS_STATUS_SYNTAX_MISSING_VALUE_ERR;
	return ldns_rr_rdata2buffer_wire(to, rr);
}

static ldns_status rdata_read(ldns_buffer *to, const char *record, const ldns_rdf *origin)
{
	ldns_rr *rr = NULL;
	ldns_status status = ldns_rr_new_frm_str(&rr, record, 0, origin, NULL);

	if (status == LDNS_STATUS_OK)
		status = rdata_write(to, rr);
	ldns_rr_free(rr);
	return status;
}

int dns_rdata_from_text(uint16_t type, const char *text, size_t len, const uint8_t *origin,
	uint32_t origin_len, uint8_t rdata[UINT16_MAX], const char **reason)
{
	ldns_rdf *zone = ldns_rdf_new_frm_data(LDNS_RDF_TYPE_DNAME, origin_len, origin);
	ldns_buffer *to = ldns_buffer_new(256);
	char *record = malloc(len + 32);
	ldns_status status = LDNS_STATUS_MEM_ERR;
	size_t made = 0;

	if (zone && to && record) {
		snprintf(record, len + 32, ". 0 IN TYPE%u %.*s", type, (int)len, text);
		status = rdata_read(to, record, zone);
		made = ldns_buffer_position(to);
	}
	if (status == LDNS_STATUS_OK && made > UINT16_MAX)
		status = LDNS_STATUS_RDATA_OVERFLOW;
	if (status == LDNS_STATUS_OK)
		memcpy(rdata, ldns_buffer_begin(to), made);
	*reason = ldns_get_errorstr_by_id(status);
	free(record);
	ldns_buffer_free(to);
	ldns_rdf_deep_free(zone);
	return status == LDNS_STATUS_OK ? (int)made : -EINVAL;
}

// Returns NULL, or the error.
static const char *record_give(const ldns_rr *rr, dns_record_take *take, void *to)
{
	ldns_buffer *rdata = ldns_buffer_new(256), *wire = ldns_buffer_new(512);
	ldns_status status = LDNS_STATUS_MEM_ERR;
	const char *error = NULL;

	if (rdata && wire) {
		status = rdata_write(rdata, rr);
		if (status == LDNS_STATUS_OK)
			status = ldns_rr2buffer_wire(wire, rr, LDNS_SECTION_ANSWER);
	}
	if (status != LDNS_STATUS_OK)
		error = ldns_get_errorstr_by_id(status);
	else
		error = take(to, ldns_buffer_begin(wire), (uint32_t)ldns_buffer_position(wire));
	ldns_buffer_free(rdata);
	ldns_buffer_free(wire);
	return error;
}

// The error of a record or line; NULL: none.
static const char *line_error(
	ldns_status status, const ldns_rr *rr, dns_record_take *take, void *to)
{
	switch ((int)status) {
	case LDNS_STATUS_OK:
		return record_give(rr, take, to);
	case LDNS_STATUS_SYNTAX_EMPTY:
	case LDNS_STATUS_SYNTAX_TTL:    // $TTL was read
	case LDNS_STATUS_SYNTAX_ORIGIN: // $ORIGIN was read
		return NULL;
	case LDNS_STATUS_SYNTAX_INCLUDE:
		return "$INCLUDE is not taken (put its records into this file)";
	}
	return ldns_get_errorstr_by_id(status);
}

int dns_records_read(FILE *f, const char *name, dns_record_take *take, void *to, struct diag *d)
{
	ldns_rdf *origin = NULL, *owner = NULL;
	uint32_t ttl = LDNS_DEFAULT_TTL;
	unsigned bad = 0;
	int line = 1;

	while (!feof(f) && bad < LISTED_RECORDS) {
		ldns_rr *rr = NULL;
		unsigned begin = (unsigned)line;
		ldns_status status = ldns_rr_new_frm_fp_l(&rr, f, &ttl, &origin, &owner, &line);
		const char *error = line_error(status, rr, take, to);

		if (error)
			diag_error_at(d, name, begin, 1, NULL, "%s", error);
		bad += error != NULL;
		ldns_rr_free(rr);
	}
	ldns_rdf_deep_free(origin);
	ldns_rdf_deep_free(owner);
	return bad ? -EINVAL : 0;
}
