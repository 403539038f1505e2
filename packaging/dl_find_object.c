/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Debian's GCC is for glibc: its libgcc_eh.a asks glibc for the tables of
 * exceptions. musl lacks the function. ./dev static links this one.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As glibc 2.35 defines it. */
struct dl_find_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

int _dl_find_object(void *address, struct dl_find_object *found);

/* Called for each object; returns 1 if it has the address. */
static int
look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct dl_find_object *found = data;
	uintptr_t address = (uintptr_t)found->map_start;
	const ElfW(Phdr) *tables = NULL;
	bool has = false;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_GNU_EH_FRAME)
			tables = part;
		else if (part->p_type == PT_LOAD &&
			 address - (info->dlpi_addr + part->p_vaddr) <
				 part->p_memsz)
			has = true;
	}
	if (!has || !tables)
		return 0;
	found->eh_frame = (void *)(info->dlpi_addr + tables->p_vaddr);
	return 1;
}

int
_dl_find_object(void *address, struct dl_find_object *found)
{
	*found = (struct dl_find_object){.map_start = address};
	return dl_iterate_phdr(look, found) ? 0 : -1;
}
