/* SPDX-License-Identifier: BSD-3-Clause */
/* What each shell offers: the values of options. */
#include <string.h>
#include <hone/cpu.h>
#include "completion/completion.h"

static const char *before;

static void
put(const char *word)
{
	printf("%s%s", before, word);
	before = " ";
}

static void
put_formats(bool written)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (written ? image_format_writable(format)
			    : image_format_readable(format))
			put(image_format_name(format));
}

static void
put_algorithms(void)
{
	const struct image_algorithm *algorithm;

	for (size_t i = 0; (algorithm = image_algorithm(i)); i++)
		put(image_algorithm_name(algorithm));
}

/* "key=" for a size or a number, "key=word" for each word. */
static void
put_choices(const struct image_option *option)
{
	char word[128];

	for (; option->name; option++) {
		const char *words = option->type == IMAGE_OPTION_FLAG ? "on off"
				    : option->type == IMAGE_OPTION_WORD
					    ? option->words
					    : "";
		do {
			size_t length = strcspn(words, " ");
			snprintf(word, sizeof(word), "%s=%.*s", option->name,
				(int)length, words);
			put(word);
			words += length + (words[length] == ' ');
		} while (*words);
	}
}

static void
put_created(void)
{
	const struct image_format *format;

	for (size_t i = 0; (format = image_format(i)); i++)
		if (image_format_writable(format))
			put_choices(image_format_options(format));
	put_choices(image_open_options());
}

static void
put_groups(void)
{
	for (int id = 0; id < GROUP_COUNT; id++)
		put(cli_groups[id].name);
	put("all");
}

static void
put_features(void)
{
	const char *name;

	put("all");
	put("none");
	for (unsigned bit = 0; bit < 64; bit++)
		if ((name = hone_cpu_feature_name(UINT64_C(1) << bit)))
			put(name);
}

enum completion_kind
completion_kind(enum option_id id)
{
	const char *value = cli_options[id].value;

	switch (id) {
	case OPTION_FORMAT:
	case OPTION_FORMAT_B:
	case OPTION_OUTPUT_FORMAT:
	case OPTION_PACK:
	case OPTION_OCI_TYPE:
	case OPTION_CACHE:
	case OPTION_TARGET_CACHE:
	case OPTION_SOURCE_CACHE:
	case OPTION_WINDOW:
	case OPTION_COMPLETION:
	case OPTION_EXPLAIN:
		return COMPLETION_WORD;
	case OPTION_CREATE:
	case OPTION_SOURCE:
	case OPTION_DIGEST:
	case OPTION_ALGORITHM:
	case OPTION_UNPACK:
	case OPTION_TRACE:
	case OPTION_CPU_LIMIT:
		return COMPLETION_LIST;
	case OPTION_EXPECT_FILE:
		return COMPLETION_FILE;
	default:
		break;
	}
	if (value && strcmp(value, "DIR") == 0)
		return COMPLETION_FOLDER;
	return value && strstr(value, "FILE") ? COMPLETION_FILE
					      : COMPLETION_NOTHING;
}

void
completion_words(enum option_id id)
{
	before = "";
	switch (id) {
	case OPTION_FORMAT:
	case OPTION_FORMAT_B:
		put_formats(false);
		break;
	case OPTION_OUTPUT_FORMAT:
		put_formats(true);
		break;
	case OPTION_PACK:
		put("zst gz none");
		break;
	case OPTION_OCI_TYPE:
		put("containerdisk artifact");
		break;
	case OPTION_CACHE:
		put("auto keep drop");
		break;
	case OPTION_TARGET_CACHE:
	case OPTION_SOURCE_CACHE:
		put("none writeback writethrough directsync unsafe");
		break;
	case OPTION_WINDOW:
		put("12 15");
		break;
	case OPTION_COMPLETION:
		put("bash zsh fish");
		break;
	case OPTION_EXPLAIN:
		put_groups();
		break;
	case OPTION_CREATE:
		put_created();
		break;
	case OPTION_SOURCE:
		put_choices(image_open_options());
		break;
	case OPTION_UNPACK:
		put("auto none gzip xz zstd bzip2");
		break;
	case OPTION_TRACE:
		put("http nbd");
		break;
	case OPTION_CPU_LIMIT:
		put_features();
		break;
	default:
		put_algorithms();
		break;
	}
}

void
completion_commands(void)
{
	before = "";
	for (int i = 0; i < COMMAND_COUNT; i++)
		put(cli_commands[i].name);
}

bool
completion_offers(enum option_id id, unsigned where)
{
	return (cli_options[id].commands & where) && cli_options[id].help;
}

void
completion_options(unsigned where)
{
	before = "--";
	for (int id = 0; id < OPTION_COUNT; id++) {
		if (!completion_offers((enum option_id)id, where))
			continue;
		put(cli_options[id].name);
		before = " --";
	}
}

void
completion_summary(const char *help)
{
	/* A colon near the begin ends a word such as "HTTPS", not the text. */
	const size_t least = 12;

	for (size_t i = 0; help[i]; i++) {
		if (strchr("([;", help[i]) || (i > least && help[i] == ','))
			return;
		if (i > least && help[i] == ':')
			return;
		if (help[i] == ' ' && strchr("([", help[i + 1]))
			return;
		if (help[i] != '\'')
			putchar(help[i]);
	}
}

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
