/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STUB_RTE_LOG_H
#define STUB_RTE_LOG_H
#define RTE_LOG(level, type, ...) stub_log(#level " " #type ": " __VA_ARGS__)

void stub_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
