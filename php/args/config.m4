dnl SPDX-License-Identifier: BSD-3-Clause
PHP_ARG_WITH([args-sample],
  [the sample functions],
  [AS_HELP_STRING([--with-args-sample=STYLE],
    [Functions with parameters; STYLE is stock or hone])])
if test "$PHP_ARGS_SAMPLE" != "no"; then
  PHP_NEW_EXTENSION([args_sample], [module.c samples.c kinds.c bodies.c],
    [$ext_shared],,
    [-Wall -Wextra -Werror -Wno-unused-parameter -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 -DSTYLE='\"style_$PHP_ARGS_SAMPLE.h\"'])
fi
