// SPDX-License-Identifier: BSD-3-Clause
// Read once instead of in each file, in builds with -Dquick=true: the headers of DPDK take longer
// to read than most files to compile. Each file includes all that it needs nevertheless.
// Path: cold.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
