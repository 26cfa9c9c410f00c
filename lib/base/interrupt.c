// SPDX-License-Identifier: BSD-3-Clause
// Defines the count. Path: cold. Management thread.
#include "base/interrupt.h"

volatile sig_atomic_t interrupt_count;
