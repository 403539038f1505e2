<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* WordPress makes the theme's style sheet afresh every minute. Not here: a
 * request shall cost the same however slowly it is traced. */
foreach (['global_styles', 'global_styles_svg_filters'] as $name) {
    add_filter("expiration_of_transient_{$name}_twentytwentythree", fn() => DAY_IN_SECONDS);
}
