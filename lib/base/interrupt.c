// SPDX-License-Identifier: BSD-3-Clause
// The count, and its effect on a command. Path: cold. Management thread.
#include "base/interrupt.h"

volatile sig_atomic_t interrupt_count;

int interrupt_escalate(void *before)
{
	int more = interrupt_count - *(const int *)before;

	return more == 0 ? 0 : more == 1 ? SIGTERM : SIGKILL;
}
