/* SPDX-License-Identifier: BSD-3-Clause */
/* Empty: glibc's list of functions that it lacks on i386 is not needed. */
