# SPDX-License-Identifier: BSD-3-Clause
# Writes the options of the linker for a program of tests: a --wrap for each function
# that the program defines by STANDS_FOR(). Python would take 50 ms for it.
#
# awk -v options=FILE -v depfile=FILE [-v short=1] -f wraps.awk SOURCE...
#
# short: the library calls lseek(), not lseek64(), and so on. A function that stands
# for lseek64() then stands for lseek() too, unless another one does.
#
# The second argument of STANDS_FOR(), and of a macro whose name begins so, is the
# function. Headers in the folder of their source are read too.

# Returns what a file has, behind a newline; "" if it cannot be read.
function text_of(path, line, text)
{
	while ((getline line <path) > 0)
		text = text "\n" line
	close(path)
	return text
}

function add_names(path, text, name)
{
	while (match(text, /\nSTANDS_FOR[A-Za-z0-9_]*\(/)) {
		text = substr(text, RSTART + RLENGTH)
		if (!match(text, /^[^,()]*,[ \t\n]*[A-Za-z0-9_]+,/)) {
			print path ": STANDS_FOR() without a plain type and name"
			exit 1
		}
		name = substr(text, 1, RLENGTH - 1)
		sub(/.*[ \t\n,]/, "", name)
		names[name]
	}
}

function add_headers(path, text, folder)
{
	folder = path
	sub(/[^\/]*$/, "", folder)
	while (match(text, /\n#include "[^"\/]+"/)) {
		ARGV[ARGC++] = folder substr(text, RSTART + 11, RLENGTH - 12)
		text = substr(text, RSTART + RLENGTH)
	}
}

BEGIN {
	for (i = 1; i < ARGC; i++) {
		text = ARGV[i] in seen ? "" : text_of(ARGV[i])
		seen[ARGV[i]]
		if (text == "")
			continue
		read = read " " ARGV[i]
		add_names(ARGV[i], text)
		add_headers(ARGV[i], text)
	}
	printf "" >options
	for (name in names) {
		print "-Wl,--wrap=" name >options
		to = substr(name, 1, length(name) - 2)
		if (short && name ~ /64$/ && !(to in names))
			print "-Wl,--wrap=" to ",--defsym=__wrap_" to "=__wrap_" name >options
	}
	print options ":" read >depfile
}
