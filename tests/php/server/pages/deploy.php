<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What test_deploy.py asks of a worker, and of a new process on the command line:
 * with the classes of a folder, store a value, or fetch it.
 */
namespace Objects;

use Hone\Cache;

$objects = __DIR__ . '/../../../../php/tests/objects';
require "$objects/differ.inc";

if (PHP_SAPI === 'cli') {
    parse_str($argv[1], $_GET);
}
$folder = $_GET['folder'] ?? '';
$text = "$folder/text";

/** A class is loaded at its first use. */
spl_autoload_register(function ($class) use ($folder) {
    if (is_file("$folder/$class.php")) {
        require "$folder/$class.php";
    }
});
if (is_file("$folder/all.php")) {
    require "$folder/all.php";
}

switch ($_GET['do']) {
case 'cases':
    require "$objects/deploy.inc";
    echo json_encode(deploys());
    return;
case 'store':
    $value = eval("return $_GET[value];");
    file_put_contents($text, serialize($value));
    $stored = Cache::store('item', $value) && Cache::store('gone', $value);
    $cached = array_filter(glob("$folder/*.php"), fn($file) => !opcache_is_script_cached($file));
    echo json_encode(['stored' => $stored, 'type' => Cache::entries('item')->current()['type'],
        'not cached' => array_values($cached), 'pid' => getmypid()]);
    return;
case 'fetch':
    $stored = file_get_contents($text);
    ini_set('hone.cache_read', $_GET['read']);
    eval($_GET['code']);
    // In one line, which an exception has.
    $fetch = fn() => $_GET['by'] === 'unserialize' ? unserialize($stored) : Cache::fetch($_GET['by'], MISSING);
    if ($_GET['once']) {
        echo serialize(fetched($fetch, false));
        return;
    }
    $found = fetched($fetch);
    $found['again'] = fetched($fetch, false);
    $value = outcome($fetch)[0];
    $value = $value === MISSING ? false : $value;
    $found['export'] = outcome(fn() => var_export($value, true));
    $found['text'] = outcome(fn() => serialize($value));
    if ($found['fetch'][0] !== null) {
        // A fetch autoloads all classes of the value, before it makes an object.
        $found['fetch'][1] = array_values(preg_grep('/^autoload /', $found['fetch'][1], PREG_GREP_INVERT));
    }
    echo serialize($found);
    return;
}
