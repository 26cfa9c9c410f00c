// SPDX-License-Identifier: BSD-3-Clause
// Results as one HTML page: template, style, script and charts of lib/report/page, which the
// program contains, with the results as JSON in it. The page needs no network. Nothing in a result
// is trusted: its text cannot leave the JSON. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "document/document_reader.h"

// Writes one result, or several compared with the first. Rewinds the readers to read intervals.
// Long series are thinned: of every few intervals only the least and the greatest value are kept.
// history: entries (history.h) for the trend of the first result; NULL: none. Returns 0, or -EIO.
int page_write(
	struct document_reader *const readers[], unsigned count, const json_t *history, FILE *out);

// Writes the page with these data, in the form that page/page.js reads.
void page_put(const json_t *data, FILE *out);

// The page around its data, and the page of `ddiperf serve`; made by page/assemble.py.
extern const char page_head[], page_tail[], page_serve[];
