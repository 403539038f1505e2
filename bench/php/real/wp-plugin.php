<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* WordPress makes the style sheet of the theme anew every minute. Here it keeps
 * the style sheet, so a slow traced request costs as much as any other. */
foreach (['global_styles', 'global_styles_svg_filters'] as $name) {
    add_filter("expiration_of_transient_{$name}_twentytwentythree", fn() => DAY_IN_SECONDS);
}
