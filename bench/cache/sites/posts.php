<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills an installed WordPress: the front page shows 20 posts of three authors,
 * with categories, tags and comments. Runs in the folder of WordPress. */
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require getcwd() . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/taxonomy.php';

update_option('posts_per_page', 20);
wp_delete_post(1, true);
$authors = $categories = [];
for ($i = 0; $i < 3; $i++) {
    $authors[] = wp_insert_user(['user_login' => "author$i", 'user_pass' => 'not secret',
        'display_name' => "Author $i", 'role' => 'author']);
    $categories[] = wp_create_category("Category $i");
}
for ($i = 0; $i < 20; $i++) {
    $text = '';
    for ($j = 0; $j < 5; $j++) {
        $text .= "<!-- wp:paragraph -->\n<p>" . trim(chunk_split(str_repeat(md5("$i $j"), 12), 8, ' ')) .
            "</p>\n<!-- /wp:paragraph -->\n\n";
    }
    $post = wp_insert_post(['post_title' => "Post $i", 'post_content' => $text, 'post_status' => 'publish',
        'post_author' => $authors[$i % 3], 'post_category' => [$categories[$i % 3]],
        'tags_input' => ['tag ' . $i % 5, 'tag ' . $i % 7],
        'post_date' => sprintf('2026-01-%02d 03:04:05', $i + 1)], true);
    if (is_wp_error($post)) {
        fwrite(STDERR, $post->get_error_message() . "\n");
        exit(1);
    }
    update_post_meta($post, 'mood', "mood $i");
    wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => 'A reader',
        'comment_content' => "Comment $i", 'comment_approved' => 1]);
}
