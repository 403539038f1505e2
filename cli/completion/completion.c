/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include "completion/completion.h"

bool
completion_print(const char *shell)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh},
		{"fish", completion_fish}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shell, shells[i].name) != 0)
			continue;
		shells[i].print();
		return true;
	}
	return false;
}
