/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fence.h"

void
fence_create(struct fence *f, size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t at;

	size = (size + page - 1) & ~(page - 1);
	f->map_size = size + align + 2 * page;
	f->map = mmap(NULL, f->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (f->map == MAP_FAILED) {
		perror("fence: mmap");
		exit(1);
	}
	at = ((uintptr_t)f->map + page + align - 1) & ~(align - 1);
	f->start = (unsigned char *)at;
	f->end = f->start + size;
	if (mprotect(f->start, size, PROT_READ | PROT_WRITE) != 0) {
		perror("fence: mprotect");
		exit(1);
	}
}

void
fence_destroy(struct fence *f)
{
	munmap(f->map, f->map_size);
}
