// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a JSON document, each with the names on the way to it. Path: cold. Management
// thread.
#pragma once

// Calls found for each number: {"a": {"b": 1}} is a.b. The first element of an array has the name
// of the array, the others have their index: {"a": [[5, "x"], [4, "y"]]} is a (5) and a.1 (4).
// Skips names above 255 characters, and text that is not JSON.
void stats_flatten(
	const char *text, void (*found)(void *ctx, const char *name, double value), void *ctx);
