<?php

/** SPDX-License-Identifier: BSD-3-Clause
 *
 * What PHP sees of the extension; hone_arginfo.h is made from it.
 *
 * @generate-function-entries
 */

namespace Hone;

/** Whether every byte is zero; true for an empty string. */
function buffer_is_zero(string $data): bool {}

/**
 * What libhone knows of this CPU, and the variant that each part uses.
 *
 * @return array{features: list<string>, cache_bytes: array<int, int>, variants: array<string, string>}
 */
function cpu(): array {}

/** Version of libhone, such as "0.1.0"; phpversion('hone') is the extension's. */
function version(): string {}
