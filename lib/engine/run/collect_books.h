// SPDX-License-Identifier: BSD-3-Clause
// Sums over the books of an item's workers, for intervals and totals. Path: cold. Management
// thread.
#pragma once

#include "engine/plan/plan.h"

void books_clear(struct item_books *b);

void books_add(struct item_books *sum, const struct item_books *b);

// What was due in the measured part, of all workers. After they have ended.
uint64_t books_due(const struct plan_item *i);

// In ns; INFINITY among the lost, which rank above all that were measured; NAN: there was nothing.
double books_percentile(const struct clock *c, const struct hist *h, double share, uint64_t lost);
