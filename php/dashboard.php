<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contents and figures of the shared cache of this pool: docs/php-cache.md,
 * "The dashboard". Copy this file to a folder of the site.
 *
 * Without a token, the page accepts only requests from this machine, shows no
 * values, and deletes no key. The token is HONE_DASHBOARD_TOKEN from the
 * environment or the FastCGI parameters, of at least 16 characters:
 * env[HONE_DASHBOARD_TOKEN] in a pool of FPM. With a token, every user has to
 * sign in.
 */
declare(strict_types=1);

namespace Hone\Dashboard;

use Hone\Cache;

const TOKEN_LEAST = 16;
const COOKIE = 'hone_dashboard';
const MAP_COLUMNS = 64, MAP_ROWS = 12;
/** Keys in each table. */
const ROWS = 12;
/** The page examines keys for this many seconds, so of millions of keys it shows only some. */
const SCAN_SECONDS = 1.0;
const VALUE_BYTES = 4096, VALUE_LEVELS = 32;
/** Links and forms have only the beginning and a hash of a longer key: a server accepts 8 KiB of a link. */
const KEY_BYTES = 256;

function token(): string
{
    $token = $_SERVER['HONE_DASHBOARD_TOKEN'] ?? getenv('HONE_DASHBOARD_TOKEN');
    return is_string($token) ? $token : '';
}

/** A proxy on this machine makes every address local, and another site may let its name resolve to this machine. */
function is_local(): bool
{
    if (isset($_SERVER['HTTP_X_FORWARDED_FOR']) || isset($_SERVER['HTTP_FORWARDED']) || isset($_SERVER['HTTP_X_REAL_IP'])
        || isset($_SERVER['HTTP_X_FORWARDED_HOST']) || isset($_SERVER['HTTP_VIA'])) {
        return false;
    }
    $host = preg_replace('/:\d+$/', '', $_SERVER['HTTP_HOST'] ?? '');
    return in_array($host, ['localhost', '127.0.0.1', '[::1]'], true)
        && preg_match('/^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/D', $_SERVER['REMOTE_ADDR'] ?? '') === 1;
}

/** A browser gets this value in place of the token. */
function proof(string $purpose): string
{
    return hash_hmac('sha256', "hone dashboard $purpose", token());
}

function is_equal(string $known, mixed $given): bool
{
    return is_string($given) && hash_equals($known, $given);
}

/** Text as HTML. Replaces characters that HTML forbids, and characters that change the direction of text. */
function h(string $text): string
{
    return preg_replace('/[\x{202A}-\x{202E}\x{2066}-\x{2069}]/u', "\u{FFFD}",
        htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_DISALLOWED | ENT_HTML5, 'UTF-8'));
}

/** Writes invisible bytes, and those that change the direction of text, as escapes. */
function visible(string $text, int $most = 80): string
{
    $cut = strlen($text) > $most;
    $text = substr($text, 0, $most);
    if ($cut) { // not in the middle of a character
        $text = preg_replace('/(?:[\xC0-\xFF][\x80-\xBF]{0,2})$/D', '', $text);
    }
    $hidden = preg_match('//u', $text) === 1 ? '/[\p{C}\p{Zl}\p{Zp}]/u' : '/[^\x20-\x7E]/';
    $text = preg_replace_callback($hidden, fn($m) => $m[0] === "\n" ? '\n' : '\x' . implode('\x', str_split(strtoupper(bin2hex($m[0])), 2)), $text);
    return $text . ($cut ? '…' : '');
}

/** The name of a key in links and forms. */
function name_of(string $key): string
{
    return strlen($key) <= KEY_BYTES ? base64_encode($key) : base64_encode(substr($key, 0, KEY_BYTES)) . '.' . hash('sha256', $key);
}

/** The key of such a name, or null. */
function key_of(mixed $name): ?string
{
    [$begin, $hash] = explode('.', is_string($name) ? $name : '!', 2) + [1 => ''];
    $begin = base64_decode($begin, true);
    foreach ($begin !== false && $hash !== '' ? Cache::entries($begin) : [] as $key => $_) {
        if (hash('sha256', (string)$key) === $hash) {
            return (string)$key;
        }
    }
    return $begin !== false && $hash === '' ? $begin : null;
}

function bytes(int|float $n): string
{
    foreach (['B', 'KiB', 'MiB', 'GiB'] as $unit) {
        if ($n < 1024 || $unit === 'GiB') {
            return ($unit === 'B' || $n >= 100 ? number_format($n) : number_format($n, 1)) . " $unit";
        }
        $n /= 1024;
    }
}

function share(int|float $part, int|float $whole): string
{
    return $whole > 0 ? number_format(100 * $part / $whole, 1) . ' %' : '–';
}

/** The figures for the script of the page. */
function figures(): array
{
    return array_diff_key(Cache::info(), ['pools' => 0]) + ['map' => Cache::memory_map(MAP_COLUMNS * MAP_ROWS), 'time' => microtime(true)];
}

/** @return array{largest: array, hottest: array, found: array, seen: int, all: bool} */
function keys(string $prefix): array
{
    $tables = ['size' => [], 'hits' => []];
    [$found, $seen, $all] = [[], 0, true];
    $end = microtime(true) + SCAN_SECONDS;
    $trim = function (string $by) use (&$tables): void {
        uasort($tables[$by], fn($a, $b) => $b[$by] <=> $a[$by]);
        $tables[$by] = array_slice($tables[$by], 0, ROWS, true);
    };
    foreach (Cache::entries($prefix) as $key => $entry) {
        $entry['key'] = (string)$key;
        foreach ($tables as $by => $_) {
            // PHP would convert a key of digits to an int.
            $tables[$by]["k$key"] = $entry;
            if (count($tables[$by]) > 5 * ROWS) { // a key may have 64 KiB
                $trim($by);
            }
        }
        if ($prefix !== '' && count($found) < 5 * ROWS) {
            $found[] = $entry;
        }
        if (++$seen % 1024 === 0 && microtime(true) > $end) {
            $all = false;
            break;
        }
    }
    array_map($trim, ['size', 'hits']);
    $tables['hits'] = array_filter($tables['hits'], fn($entry) => $entry['hits'] > 0);
    return ['largest' => $tables['size'], 'hottest' => $tables['hits'], 'found' => $found, 'seen' => $seen, 'all' => $all];
}

/** The attribute is the column by which the server has sorted; the script sorts by each. */
function table(string $title, string $id, array $rows, bool $may_delete, string $by = '', string $none = 'No keys.'): string
{
    if ($rows === []) {
        return "<section id=\"$id\"><h2>" . h($title) . '</h2><p class="quiet">' . h($none) . '</p></section>';
    }
    $most = max(1, ...array_column($rows, $by === 'hits' ? 'hits' : 'size'));
    $html = "<section id=\"$id\"><h2>" . h($title) . '</h2><div class="wide"><table class="keys"><thead><tr>';
    foreach (['key' => 'Key', 'type' => 'Type', 'size' => 'Size', 'hits' => 'Hits', 'ends' => 'Ends'] as $column => $name) {
        $html .= '<th' . (in_array($column, ['key', 'type'], true) ? '' : ' class="n"') . ($column === $by ? ' aria-sort="descending"' : '') . ">$name";
    }
    $html .= ($may_delete ? '<th><span class="hidden">Delete</span>' : '') . '</thead><tbody>';
    foreach ($rows as $row) {
        $name = h(visible($row['key']));
        $link = $may_delete ? '<a href="?key=' . h(rawurlencode(name_of($row['key']))) . "\">$name</a>" : $name;
        $left = $row['expires'] === 0 ? null : max(0, $row['expires'] - time());
        $html .= "<tr><td class=\"key\">$link" . sprintf('<svg class="bar" viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true"><rect width="%.1F" height="2"/></svg>', 100 * $row[$by === 'hits' ? 'hits' : 'size'] / $most)
            . '<td>' . h($row['type']) . "<td class=\"n\" data-value=\"$row[size]\">" . bytes($row['size']) . "<td class=\"n\" data-value=\"$row[hits]\">" . number_format($row['hits'])
            . '<td class="n" data-value="' . ($left ?? PHP_INT_MAX) . '">' . ($left === null ? 'never' : number_format($left) . ' s')
            . ($may_delete ? '<td>' . delete_button($row['key']) : '') . '</tr>';
    }
    return $html . '</tbody></table></div></section>';
}

function meter(string $id, int|float $part, int|float $whole): string
{
    return sprintf('<svg class="meter" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect class="back" width="100" height="1"/><rect class="front" id="%s" width="%.2F" height="1"/></svg>',
        $id, 100 * $part / max(1, $whole));
}

function delete_button(string $key): string
{
    return '<form method="post"><input type="hidden" name="csrf" value="' . proof('csrf') . '"><input type="hidden" name="delete" value="'
        . h(name_of($key)) . '"><button aria-label="Delete ' . h(visible($key)) . '">Delete</button></form>';
}

/** Appends a value until the text is too long, since print_r() needs memory for the whole value. Returns true if the text is complete. */
function append(string &$text, mixed $value, int $level = 0): bool
{
    if (!is_array($value) && (!is_object($value) || $value instanceof \UnitEnum)) {
        $text .= is_string($value) ? substr($value, 0, VALUE_BYTES + 1) : var_export($value, true);
        return strlen($text) <= VALUE_BYTES;
    }
    $all = true;
    $text .= is_object($value) ? $value::class . ' (' : 'array (';
    foreach ((array)$value as $name => $element) {
        if ($level === VALUE_LEVELS || strlen($text) > VALUE_BYTES) {
            $text .= '…)';
            return false;
        }
        $name = is_object($value) ? substr(strrchr("\0$name", "\0"), 1) : (string)$name;
        $text .= "\n" . str_repeat('    ', $level + 1) . '[' . visible($name) . '] => ';
        $all = append($text, $element, $level + 1) && $all;
    }
    $text .= ')';
    return $all;
}

function value(?string $key): string
{
    [$text, $value] = ['', $key === null ? null : Cache::fetch($key, null, $found)];
    if (!($found ?? false)) {
        return '<p class="quiet">The key does not exist.</p>';
    }
    $all = append($text, $value) && strlen($text) <= VALUE_BYTES;
    $text = substr($text, 0, VALUE_BYTES);
    return '<p class="quiet">' . h(get_debug_type($value)) . ($all ? '' : sprintf(': the page shows at most %s bytes and %d levels', number_format(VALUE_BYTES), VALUE_LEVELS))
        . '</p><pre>' . h(preg_match('//u', $text) === 1 ? $text : visible($text, VALUE_BYTES)) . '</pre>' . delete_button($key);
}

function refuse(int $status, string $message, string $form = ''): never
{
    http_response_code($status);
    page('<main class="login"><h1>Hone</h1><p>' . h($message) . "</p>$form</main>");
}

function page(string $body, string $script = ''): never
{
    $nonce = base64_encode(random_bytes(18));
    header('Content-Type: text/html; charset=utf-8');
    header("Content-Security-Policy: default-src 'none'; style-src 'nonce-$nonce'; script-src 'nonce-$nonce'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    $style = STYLE;
    echo "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        "<meta name=\"color-scheme\" content=\"light dark\"><title>Hone cache</title><style nonce=\"$nonce\">$style</style></head><body>$body",
        $script !== '' ? "<script nonce=\"$nonce\">$script</script>" : '', "</body></html>\n";
    exit;
}

const LOGIN = '<form method="post"><label>Token <input type="password" name="token" autocomplete="current-password" autofocus></label> <button>Sign in</button></form>';
const STYLE = <<<'CSS'
:root{--back:#f6f7f9;--card:#fff;--text:#1b2330;--quiet:#5b6676;--line:#dde2e9;--used:#2f6fde;--retired:#d9822b;--own:#8b95a5;--free:#e3e8ef;--good:#1c8a5a;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1b212a;--text:#e6eaf0;--quiet:#9aa6b6;--line:#2d3642;--used:#5b93f5;--retired:#e39a4a;--own:#76808f;--free:#2a323d;--good:#4cc38a;--bad:#f2867d}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);font:15px/1.45 system-ui,"DejaVu Sans",sans-serif}header,main{max-width:76rem;margin:0 auto;padding:0 1rem}header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem 1rem;padding-top:1rem}
h1{font-size:1.3rem;margin:0}h2{font-size:1rem;margin:0 0 .6rem}.quiet{color:var(--quiet);margin:0}main{display:grid;grid-template-columns:repeat(12,minmax(0,1fr));gap:1rem;padding-top:1rem;padding-bottom:2rem}main.login{display:block;max-width:28rem;padding-top:3rem}
section{grid-column:span 6;min-width:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:1rem}section.all{grid-column:1/-1}.figures{grid-column:1/-1;display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1rem;margin:0}
.figures div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem 1rem}dt{color:var(--quiet);font-size:.85rem}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;white-space:nowrap}dd small{font-size:.8rem;color:var(--quiet)}
svg{display:block;width:100%}.m0{fill:var(--free)}.m1{fill:var(--used)}.m2{fill:var(--retired)}.m3{fill:var(--own)}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.6rem 0 0;padding:0;list-style:none;color:var(--quiet);font-size:.85rem}.legend svg{display:inline-block;width:.8em;height:.8em;margin-right:.4em}
#chart{height:9rem}#chart .axis{stroke:var(--line);vector-effect:non-scaling-stroke}#chart path{fill:none;stroke:var(--good);stroke-width:2;vector-effect:non-scaling-stroke}#chart .evicted{stroke:var(--bad);stroke-width:1.5}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th{text-align:left;color:var(--quiet);font-weight:normal}th,td{padding:.3rem .5rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}th button{all:unset;cursor:pointer;padding:.1rem 0}th button:focus-visible{outline:2px solid var(--used)}th[aria-sort] button{color:var(--text)}th[aria-sort=descending] button::after{content:" ↓"}th[aria-sort=ascending] button::after{content:" ↑"}.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.key{font-family:ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere;min-width:10rem}.bar{height:2px;margin-top:3px}.bar rect{fill:var(--used)}.meter{height:.6rem;margin:.2rem 0 .8rem}.meter .back{fill:var(--free)}.meter .front{fill:var(--used)}a{color:var(--used)}
button,input{font:inherit;color:inherit;background:var(--back);border:1px solid var(--line);border-radius:5px;padding:.25rem .6rem;max-width:100%}td button{padding:0 .5rem;font-size:.85rem}button:hover{border-color:var(--bad);color:var(--bad)}form{margin:0}pre{overflow:auto;max-height:30rem;background:var(--back);padding:.8rem;border-radius:5px}.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.note{grid-column:1/-1;margin:0;padding:.6rem 1rem;border:1px solid var(--line);border-left:4px solid var(--good);background:var(--card);border-radius:5px}@media(max-width:52rem){section{grid-column:1/-1}.figures{grid-template-columns:repeat(2,minmax(0,1fr));gap:.6rem}dd{font-size:1.05rem}section{padding:.8rem}}
CSS;

const SCRIPT = <<<'JS'
"use strict";
const seconds = 2, most = 300, columns = 64, points = [];
let last = JSON.parse(document.getElementById("first").textContent);
const number = n => Math.round(n).toLocaleString("en-US");
const bytes = n => { for (const unit of ["B", "KiB", "MiB", "GiB"]) { if (n < 1024 || unit === "GiB") return (unit === "B" || n >= 100 ? number(n) : n.toFixed(1)) + " " + unit; n /= 1024; } };
const set = (name, text) => { const to = document.getElementById("f-" + name); if (to) to.textContent = text; };
function map(parts) {
    const rects = [];
    for (let y = 0; y * columns < parts.length; y++) {
        for (const run of parts.slice(y * columns, (y + 1) * columns).matchAll(/(.)\1*/g)) {
            const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
            for (const [name, value] of Object.entries({ class: "m" + run[1], x: run.index * 10, y: y * 10, width: run[0].length * 10, height: 9 })) rect.setAttribute(name, value);
            rects.push(rect);
        }
    }
    document.getElementById("map").replaceChildren(...rects);
}
function line(name, values, top) {
    let d = "", pen = false;
    values.forEach((value, i) => {
        if (value === null) { pen = false; return; }
        d += (pen ? "L" : "M") + (values.length > 1 ? i * 600 / (values.length - 1) : 0).toFixed(1) + " " + (140 - 130 * value / top).toFixed(1);
        if (!pen && (i + 1 === values.length || values[i + 1] === null)) d += "h3";
        pen = true;
    });
    document.getElementById(name).setAttribute("d", d);
}
function take(now) {
    const asked = now.hits - last.hits + now.misses - last.misses, time = now.time - last.time;
    points.push({ rate: asked > 0 ? (now.hits - last.hits) / asked : null, evicted: Math.max(0, now.evictions - last.evictions) / time });
    if (points.length > most) points.shift();
    line("rate", points.map(p => p.rate), 1);
    const top = Math.max(1, ...points.map(p => p.evicted));
    line("evicted", points.map(p => p.evicted > 0 ? p.evicted : null), top);
    const p = points[points.length - 1];
    document.getElementById("now").textContent = (p.rate === null ? "no fetches" : (100 * p.rate).toFixed(1) + " %") + " now, " + number(asked / time) + " fetches/s, " + number(p.evicted) + " evictions/s";
    for (const name of ["entries", "hits", "misses", "stores", "evictions", "expirations", "slots_used", "closed_slots", "recoveries", "cold_entries", "cold_hits", "packed", "warmed"]) set(name, number(now[name]));
    for (const name of ["used", "free", "retired", "largest_free", "largest_value", "cold_bytes"]) set(name, bytes(now[name]));
    for (const [name, part, whole] of [["fill", now.used, now.size], ["slots", now.slots_used, now.slots]]) document.getElementById(name).setAttribute("width", (100 * part / whole).toFixed(2));
    set("fill", (100 * now.used / now.size).toFixed(1) + " %");
    set("rate", now.hits + now.misses > 0 ? (100 * now.hits / (now.hits + now.misses)).toFixed(1) + " %" : "–");
    map((last = now).map);
}
function sort(head) {
    const body = head.closest("table").tBodies[0], down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.classList.contains("n");
    const value = row => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent;
    const compare = head.classList.contains("n") ? (a, b) => value(a) - value(b) : (a, b) => value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0;
    const rows = [...body.rows].sort(compare);
    body.replaceChildren(...(down ? rows.reverse() : rows));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
}
for (const head of document.querySelectorAll(".keys th:not(:has(span))")) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head));
}
async function poll() {
    try {
        const answer = document.hidden ? null : await fetch("?data=1", { credentials: "same-origin" });
        if (answer?.ok) take(await answer.json());
    } catch (error) { document.getElementById("now").textContent = "no answer"; }
    setTimeout(poll, seconds * 1000);
}
map(last.map);
setTimeout(poll, 500);
JS;

header('Cache-Control: no-store');
header('X-Content-Type-Options: nosniff');
header('Referrer-Policy: no-referrer');

if (!class_exists(Cache::class, false)) {
    refuse(503, 'The extension hone is not loaded in this PHP.');
}
$posted = ($_SERVER['REQUEST_METHOD'] ?? '') === 'POST';
$has_token = strlen(token()) >= TOKEN_LEAST;
if (token() !== '' && !$has_token) {
    refuse(403, 'HONE_DASHBOARD_TOKEN needs at least ' . TOKEN_LEAST . ' characters.');
}
if ($has_token) {
    if ($posted && isset($_POST['token'])) {
        if (!is_equal(token(), $_POST['token'])) {
            refuse(403, 'The token is wrong.', LOGIN);
        }
        setcookie(COOKIE, proof('session'), ['httponly' => true, 'samesite' => 'Strict', 'secure' => !in_array($_SERVER['HTTPS'] ?? 'off', ['', 'off'], true)]);
        header('Location: ?', true, 303);
        exit;
    }
    if (!is_equal(proof('session'), $_COOKIE[COOKIE] ?? '')) {
        refuse(403, 'Sign in with the token of this dashboard.', LOGIN);
    }
} elseif (!is_local()) {
    refuse(403, 'This page is for requests from this machine. To open it elsewhere, set HONE_DASHBOARD_TOKEN.');
}
if (isset($_GET['data'])) {
    header('Content-Type: application/json');
    echo json_encode(figures(), JSON_THROW_ON_ERROR);
    exit;
}
if ($posted) {
    if (!$has_token || !is_equal(proof('csrf'), $_POST['csrf'] ?? null)) {
        refuse(403, 'Nothing was deleted: the form was not sent from this page.');
    }
    $key = key_of($_POST['delete'] ?? null);
    header('Location: ?done=' . ($key !== null && Cache::delete($key) ? 'deleted' : 'gone'), true, 303);
    exit;
}

$info = Cache::info();
if (!$info['enabled']) {
    page('<main class="login"><h1>Hone</h1><p>This process has no cache: ' . h($info['reason']) . '.</p></main>');
}
$prefix = is_string($_GET['prefix'] ?? null) ? $_GET['prefix'] : '';
$keys = keys($prefix);
$first = figures();

$body = '<header><h1>Hone cache</h1><p class="quiet">pool ' . h($info['pool']) . ', ' . bytes($info['size']) . ', since ' . date('Y-m-d H:i:s', $info['start'])
    . ', reads: ' . h($info['read']) . '</p><p class="quiet">host ' . h(php_uname('n')) . ', Hone ' . h((string)phpversion('hone')) . ', PHP ' . PHP_VERSION . ' (' . PHP_SAPI . ')'
    . ($has_token ? '' : '. Set HONE_DASHBOARD_TOKEN to see values.') . '</p></header><main>';
if (isset($_GET['done'])) {
    $body .= '<p class="note" role="status">' . ($_GET['done'] === 'deleted' ? 'The key was deleted.' : 'The key no longer existed.') . '</p>';
}
$body .= '<dl class="figures">';
foreach ([
    ['rate', 'Hit rate since the start', share($info['hits'], $info['hits'] + $info['misses'])],
    ['entries', 'Keys', number_format($info['entries'])], ['hits', 'Hits', number_format($info['hits'])], ['misses', 'Misses', number_format($info['misses'])],
    ['stores', 'Stores', number_format($info['stores'])], ['evictions', 'Evictions', number_format($info['evictions'])],
    ['expirations', 'Expirations', number_format($info['expirations'])], ['used', 'Used', bytes($info['used'])],
    ['cold_bytes', 'Of it cold', bytes($info['cold_bytes'])], ['cold_hits', 'Cold hits', number_format($info['cold_hits'])],
    ['cold_entries', 'Cold keys', number_format($info['cold_entries'])], ['packed', 'Made cold', number_format($info['packed'])],
    ['warmed', 'Made warm', number_format($info['warmed'])],
    ['free', 'Free', bytes($info['free'])], ['largest_value', 'Largest possible value', bytes($info['largest_value'])],
] as [$id, $name, $text]) {
    $body .= '<div><dt>' . h($name) . "</dt><dd id=\"f-$id\">" . h($text) . '</dd></div>';
}
$body .= '</dl>';
if ($has_token && isset($_GET['key'])) {
    $key = key_of($_GET['key']);
    $body .= '<section class="all" id="value"><h2 class="key">' . h(visible($key ?? '', 400)) . '</h2>' . value($key) . '</section>';
}
$body .= '<section class="all"><h2>Memory <span class="quiet"><span id="f-fill">' . share($info['used'], $info['size']) . '</span> in use</span></h2>'
    . meter('fill', $info['used'], $info['size']) . '<svg id="map" viewBox="0 0 ' . MAP_COLUMNS * 10 . ' ' . MAP_ROWS * 10 . '" preserveAspectRatio="none" height="' . MAP_ROWS * 10
    . '" role="img" aria-label="Map of the memory"></svg><ul class="legend">';
foreach ([1 => 'values', 2 => 'removed, but perhaps still in use: <span id="f-retired">' . bytes($info['retired']) . '</span>',
    0 => 'free; the largest block: <span id="f-largest_free">' . bytes($info['largest_free']) . '</span>', 3 => 'reserved by the cache'] as $kind => $text) {
    $body .= "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"m$kind\" width=\"1\" height=\"1\"/></svg>$text";
}
$body .= '</ul></section><section><h2>Hit rate <span class="quiet" id="now">while this page is open</span></h2>'
    . '<svg id="chart" viewBox="0 0 600 150" preserveAspectRatio="none" role="img" aria-label="Hit rate and evictions over time">'
    . '<path class="axis" d="M0 10H600M0 75H600M0 140H600"/><path id="evicted" class="evicted"/><path id="rate"/></svg>'
    . '<ul class="legend"><li>lines at 0, 50 and 100 %<li>red: evictions per second, to scale with their maximum</ul></section>';
$body .= '<section><h2>Processes and pools</h2><p class="quiet"><span id="f-slots_used">' . number_format($info['slots_used']) . '</span> of ' . number_format($info['slots'])
    . ' process slots are used; <span id="f-closed_slots">' . number_format($info['closed_slots']) . '</span> requests were switched to block copies for lack of memory; <span id="f-recoveries">'
    . number_format($info['recoveries']) . '</span> repairs after a killed process</p>'
    . meter('slots', $info['slots_used'], $info['slots'])
    . '<table><thead><tr><th>Pool<th class="n">Size</thead><tbody>';
foreach ($info['pools'] as $name => $size) {
    $body .= '<tr><td class="key">' . h(visible((string)$name)) . ((string)$name === $info['pool'] ? ' <span class="quiet">(this one)</span>' : '') . '<td class="n">' . bytes($size);
}
$body .= '</tbody></table>';
if ($info['holders'] !== []) {
    $body .= '<h2>Requests that hold back memory</h2><table id="holders"><thead><tr><th>Process<th class="n">Age<th class="n">Bytes</thead><tbody>';
    foreach ($info['holders'] as $holder) {
        $body .= sprintf('<tr><td>%d<td class="n">%s s<td class="n">%s', $holder['pid'], number_format($holder['seconds']), bytes($holder['bytes']));
    }
    $body .= '</tbody></table>';
}
$body .= '</section><section class="all"><h2>Keys</h2><form method="get"><label>that begin with <input name="prefix" value="' . h($prefix)
    . '"></label> <button>Show</button></form><p class="quiet">' . number_format($keys['seen']) . ' keys' . ($keys['all'] ? '' : ' were examined; there are more')
    . '. Hits are sampled.</p></section>';
$body .= ($prefix !== '' ? table('With this prefix', 'found', $keys['found'], $has_token) : '') . table('Largest', 'largest', $keys['largest'], $has_token, 'size')
    . table('Hottest', 'hottest', $keys['hottest'], $has_token, 'hits', $keys['seen'] > 0 ? 'No key has hits.' : 'No keys.')
    . '</main><script type="application/json" id="first">' . json_encode($first, JSON_HEX_TAG | JSON_HEX_AMP | JSON_THROW_ON_ERROR) . '</script>';
page($body, SCRIPT);
