/* SPDX-License-Identifier: BSD-3-Clause */
/* glibc's list of functions that it lacks on i386: no need to know it. */
