/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about invalid words of the command line, with suggestions. */
#include <assert.h>
#include <ctype.h>
#include <string.h>
#include "cli.h"

/* "Did you mean": the known word that is most similar to an unknown one. */

/* Longer words are not typing errors. */
#define MAX_WORD 31

static unsigned
least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/*
 * Returns the number of characters to insert, remove or replace, or of adjacent
 * characters to swap, that turn one word into the other (optimal string
 * alignment). Both are at most MAX_WORD long.
 */
static unsigned
distance(const char *a, const char *b)
{
	unsigned rows[3][MAX_WORD + 1];
	size_t m = strlen(a), n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i - 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			bool same = a[i - 1] == b[j - 1];
			row[j] = least(above[j] + 1, row[j - 1] + 1,
				above[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
				a[i - 2] == b[j - 1])
				row[j] = least(row[j],
					rows[(i - 2) % 3][j - 2] + 1, row[j]);
		}
	}
	return rows[m % 3][n];
}

void
suggest_begin(struct suggestion *suggestion, const char *word)
{
	size_t length = strlen(word);

	/* One error for three characters; one error in a shorter word. */
	*suggestion = (struct suggestion){.word = word,
		.limit = length > MAX_WORD ? 0
			 : length < 3      ? 1
					   : (unsigned)(length / 3)};
}

void
suggest_offer(struct suggestion *suggestion, const char *known)
{
	if (suggestion->limit == 0 || strlen(known) > MAX_WORD)
		return;
	unsigned found = distance(suggestion->word, known);
	if (found > suggestion->limit ||
		(suggestion->best && found >= suggestion->distance))
		return;
	suggestion->best = known;
	suggestion->distance = found;
}

const char *
suggest_text(const struct suggestion *suggestion, const char *before, char *buf)
{
	buf[0] = '\0';
	if (suggestion->best)
		snprintf(buf, CLI_SUGGESTION, "; did you mean %s%s?", before,
			suggestion->best);
	return buf;
}

const char *
cli_find_hint(unsigned where, const char *word, size_t length)
{
	for (const struct hint_row *row = cli_hints; row->word; row++)
		if ((row->commands & where) && strlen(row->word) == length &&
			memcmp(row->word, word, length) == 0)
			return row->hint;
	return NULL;
}

int
cli_refuse_command(const char *name)
{
	const char *hint = cli_find_hint(IN_GLOBAL, name, strlen(name));
	char text[CLI_SUGGESTION];
	struct suggestion suggestion;

	if (hint)
		return cli_usage(NULL, "'%s' is not a command: %s", name, hint);
	suggest_begin(&suggestion, name);
	for (int i = 0; i < COMMAND_COUNT; i++)
		suggest_offer(&suggestion, cli_commands[i].name);
	return cli_usage(NULL, "'%s' is not a command%s", name,
		suggest_text(&suggestion, "", text));
}

/* Print that the first bytes of a word are not an option there, and a hint. */
static int
complain(const struct cli *cli, const char *word, size_t length,
	const char *before, const char *hint)
{
	const char *command = cli ? cli_commands[cli->command].name : NULL;

	return cli_usage(cli, "'%.*s' is not an option of hone%s%s%s%s",
		(int)length, word, command ? " " : "", command ? command : "",
		before, hint);
}

/* List the options that begin with the word. Returns their number. */
static int
list_options(unsigned where, const char *word, size_t length, char *list,
	size_t size)
{
	size_t used = 0;
	int n = 0;

	list[0] = '\0';
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = &cli_options[id];
		if (!(row->commands & where) || !row->help ||
			strncmp(row->name, word, length) != 0)
			continue;
		n++;
		if (used < size)
			used += (size_t)snprintf(list + used, size - used,
				"%s--%s", n > 1 ? ", " : "", row->name);
	}
	return n;
}

/*
 * Returns the row of a letter, or the one that a long option abbreviates; NULL
 * if there is no row or several, or if an option begins with the word.
 */
static const struct hint_row *
find_hint(unsigned where, const char *word, size_t length)
{
	const struct hint_row *found = NULL;
	char list[1];

	if (length > 2 ? list_options(where, word + 2, length - 2, list,
				 sizeof(list))
		       : word[1] == '-')
		return NULL;
	for (const struct hint_row *row = cli_hints; row->word; row++) {
		if (!(row->commands & where) ||
			strncmp(row->word, word, length) != 0)
			continue;
		if (row->word[length] == '\0')
			return row;
		if (found)
			return NULL;
		found = row;
	}
	return found;
}

int
cli_refuse_word(const struct cli *cli, const char *word)
{
	unsigned where = cli ? 1u << cli->command : IN_GLOBAL;
	/* Without the value; a letter comes without one, and may be '='. */
	size_t length = word[1] == '-' ? strcspn(word, "=") : strlen(word);
	char list[256], text[CLI_SUGGESTION], name[32];
	struct suggestion suggestion;

	if (length > 2 && list_options(where, word + 2, length - 2, list,
				  sizeof(list)) > 1)
		return cli_usage(cli, "'%.*s' is ambiguous: %s", (int)length,
			word, list);
	const struct hint_row *row = find_hint(where, word, length);
	if (row)
		return complain(cli, word, length, ": ", row->hint);
	snprintf(name, sizeof(name), "%.*s", length > 2 ? (int)length - 2 : 0,
		word + 2);
	suggest_begin(&suggestion, name);
	for (int id = 0; id < OPTION_COUNT; id++)
		if ((cli_options[id].commands & where) && cli_options[id].help)
			suggest_offer(&suggestion, cli_options[id].name);
	return complain(
		cli, word, length, "", suggest_text(&suggestion, "--", text));
}

static bool
is_among(const char *const *words, const char *word, size_t length)
{
	for (; *words; words++)
		if (strlen(*words) == length &&
			memcmp(*words, word, length) == 0)
			return true;
	return false;
}

/*
 * Returns whether the word begins with one of QEMU's protocols and a colon. The
 * name of a protocol may have upper case.
 */
static bool
has_protocol(const char *word)
{
	static const char *const protocols[] = {"json", "nbd", "nbd+tcp",
		"nbd+unix", "http", "https", "ftp", "ftps", "ssh", "rbd",
		"iscsi", "nfs", "gluster", "gluster+tcp", "gluster+unix",
		"file", "host_device", "nvme", "vxhs", "fat", NULL};
	size_t length = strcspn(word, ":/");
	char name[16];

	if (word[length] != ':' || length >= sizeof(name))
		return false;
	for (size_t i = 0; i < length; i++)
		name[i] = (char)tolower((unsigned char)word[i]);
	return is_among(protocols, name, length);
}

int
cli_refuse_protocol(const struct cli *cli, const char *operand)
{
	if (image_is_address(operand) || !has_protocol(operand))
		return 0;
	if (cli->command == COMMAND_convert && operand == cli->operands[1])
		return cli_usage(cli,
			"'%s' is not a file: write a file, then copy the file "
			"by \"qemu-img convert -n\"; ./NAME is a file of that "
			"name",
			operand);
	return cli_usage(cli,
		"'%s' is not a file: \"qemu-nbd --read-only --connect "
		"/dev/nbd0 ADDRESS\" serves it as a block device; ./NAME is a "
		"file of that name",
		operand);
}

int
cli_refuse_stream(const struct cli *cli, int operand)
{
	if (strcmp(cli->operands[operand], "-") != 0 ||
		cli->command == COMMAND_convert)
		return 0;
	int before = 0;
	while (strcmp(cli->operands[before], "-") != 0)
		before++;
	if (before == operand)
		return 0;
	return cli_usage(cli, "only one image can come from stdin");
}

const char *
cli_list_formats(char *list, const char *before, bool written)
{
	const struct image_format *format;
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; (format = image_format(i)); i++) {
		if (written ? !format->create : !format->open)
			continue;
		int n = snprintf(list + used, CLI_FORMATS - used, "%s%s%s",
			used ? ", " : "", before, format->name);
		used += (size_t)n;
		assert(used < CLI_FORMATS);
	}
	return list;
}

int
cli_refuse_format(const struct cli *cli, enum option_id id, const char *name)
{
	/* QEMU's names of formats. */
	static const char *const others[] = {"vhdx", "vdi", "qed", "qcow",
		"luks", "parallels", "dmg", "bochs", "cloop", NULL};
	char list[CLI_FORMATS];

	if (!is_among(others, name, strlen(name)))
		return cli_usage(cli,
			"'%s' is not a format; the formats are %s", name,
			cli_list_formats(list, "", id == OPTION_OUTPUT_FORMAT));
	if (id == OPTION_OUTPUT_FORMAT)
		return cli_usage(cli,
			"'%s' cannot be written: use -O qcow2, then \"qemu-img "
			"convert -O %s\"",
			name, name);
	return cli_usage(cli,
		"'%s' cannot be read: \"qemu-nbd --read-only --connect "
		"/dev/nbd0 -f %s IMAGE\" serves it as a raw block device",
		name, name);
}
