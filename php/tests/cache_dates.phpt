--TEST--
Hone\Cache: dates of each kind of zone have the result of unserialize(serialize()), and change as such dates
--INI--
hone.cache_cli=1
memory_limit=512M
--FILE--
<?php
use Hone\Cache;

class Day extends DateTimeImmutable {}

class Noted extends DateTime
{
    public $note = 1;
}

class Asked extends DateTime
{
    public function __clone() { echo 'clone '; }

    public function __unserialize(array $data): void
    {
        echo 'unserialize ';
        parent::__unserialize($data);
    }
}

#[AllowDynamicProperties]
class Answers extends DateTimeImmutable
{
    public static array $data;

    public function __serialize(): array { return self::$data; }
}

/** What a program can see of a date, and of its changes. */
function seen(DateTimeInterface $date): string
{
    ob_start();
    var_dump($date, $date->getTimezone());
    $seen = preg_replace('/#\d+/', '#', ob_get_clean());
    $seen .= $date->format('c u e T I U P N t B o ') . serialize($date) . $date->getOffset();
    foreach (['+1 month', '-1 day 03:00', '+7200 seconds', 'first monday of next month', '@5', '+1 weekday'] as $change) {
        $changed = clone $date;
        $changed = $changed->modify($change);
        $seen .= $changed->format("\n$change c e U T I");
    }
    $changed = (clone $date)->setTimezone(new DateTimeZone('Asia/Tokyo'));
    $seen .= $changed->format("\nc e U");
    $changed = (clone $date)->setTimestamp(1000000000);
    $seen .= $changed->format("\nc U u T I");
    $changed = (clone $date)->setDate(2026, 10, 25)->setTime(2, 30);
    $seen .= $changed->format("\nc U T I");
    $changed = (clone $date)->add(new DateInterval('P1M2DT3H'));
    $seen .= $changed->format("\nc U T I");
    return $seen . json_encode($date->diff(new DateTimeImmutable('2026-07-07 07:07')));
}

function output(callable $call): array
{
    ob_start();
    try {
        $result = $call();
    } catch (Error $error) {
        return [null, ob_get_clean() . get_class($error) . ': ' . $error->getMessage()];
    }
    return [$result, ob_get_clean()];
}

function compare(string $what, array $dates): void
{
    // First, because serialize() makes a table of the properties of each date.
    [$stored, $output] = output(fn() => Cache::store('k', $dates));
    [$text, $written] = output(fn() => serialize($dates));
    if ($output !== $written || ($stored !== true && $text !== null)) {
        echo "$what: the store prints $output, not $written\n";
    }
    if ($text === null) {
        return;
    }
    [$wanted, $written] = output(fn() => unserialize($text));
    // The first fetch makes the first date of a zone by PHP, the second none.
    foreach (['first', 'second'] as $fetch) {
        [$dates, $output] = output(fn() => Cache::fetch('k'));
        if ($output !== $written || $dates != $wanted || serialize($dates) !== serialize($wanted)) {
            echo "$what: the $fetch fetch differs, and prints $output, not $written\n", serialize($dates), "\n";
        }
        foreach ($wanted ?? [] as $i => $date) {
            if ($date instanceof DateTimeInterface && output(fn() => seen($date)) !== output(fn() => seen($dates[$i]))) {
                echo "$what: element $i of the $fetch fetch differs\n", seen($date), "\n", seen($dates[$i]), "\n";
            }
        }
    }
}

$valgrind = getenv('USE_ZEND_ALLOC') === '0';
$zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Apia', 'Asia/Kolkata',
    'America/St_Johns', '+02:00', '-05:30', '+00:00', '+14:00', 'CEST', 'EST', 'Z', 'A', 'GMT', 'BST'];
foreach ($zones as $name) {
    $zone = new DateTimeZone($name);
    $dates = [];
    // Local times around the changes of zones, which exist twice or not at all.
    foreach (['2026-03-29 02:30', '2026-10-25 02:30', '2026-03-08 02:30', '2026-11-01 01:30', '2011-12-30 12:00', '1893-03-31 23:58'] as $at) {
        foreach ([-172801, -172800, -86400, -3600, 0, 1, 3600, 86400, 172799, 172800] as $seconds) {
            $dates[] = (new DateTimeImmutable($at, $zone))->modify("$seconds seconds");
            $dates[] = (new DateTime('@' . strtotime("$at UTC") + $seconds))->setTimezone($zone);
        }
        if ($valgrind) {
            break;
        }
    }
    compare("$name, changes", $dates);
    $dates = [];
    foreach (['0000-01-01 00:00', '0001-01-01 00:00', '0004-02-29 12:34', '1899-12-31 23:59:59.999999', '1900-02-28 01:02:03.000001',
        '1969-12-31 23:59:59.5', '2000-02-29 00:00', '2037-12-31 12:00', '2038-01-20 12:00', '2400-02-29 06:07:08.120000',
        '9999-12-31 23:59:59.999999', '+10000-01-01 00:00', '-0001-01-01 00:00', '-9999-12-31 00:00'] as $at) {
        $dates[] = new DateTimeImmutable($at, $zone);
        $dates[] = new Day($at, $zone);
    }
    compare("$name, years", $dates);
}

mt_srand($seed = (int)(getenv('HONE_SEED') ?: random_int(1, 1 << 30)));
echo "HONE_SEED=$seed\n";
for ($i = 0; $i < ($valgrind ? 5 : 150); $i++) {
    $dates = [];
    for ($k = 0; $k < 10; $k++) {
        $class = [DateTime::class, DateTimeImmutable::class, Day::class, Noted::class, Asked::class][mt_rand(0, 4)];
        $text = sprintf('%04d-%02d-%02d %02d:%02d:%02d.%06d', mt_rand(0, 3) ? mt_rand(1950, 2040) : mt_rand(0, 9999), mt_rand(1, 12),
            mt_rand(1, 31), mt_rand(0, 23), mt_rand(0, 59), mt_rand(0, 59), mt_rand(0, 999999));
        $date = new $class($text, new DateTimeZone($zones[mt_rand(0, count($zones) - 1)]));
        if (mt_rand(0, 3) === 0) {
            $date = $date->modify('+' . mt_rand(0, 99999) . ' minutes');
        }
        if ($date instanceof Noted) {
            $date->note = $i;
        }
        $dates[] = $date;
        if (mt_rand(0, 3) === 0) {
            $dates[] = $date;
        }
    }
    compare("random dates $i", $dates);
}

// Arrays that a class returns need not be those of PHP.
foreach ([['DAY', 3, 'europe/berlin'], ['DAY', 2, 'EST'], ['DAY', 3, 'EST'], ['DAY', 2, 'today'], ['DAY', 2, 'EST midnight'], ['DAY', 1, '+1 day'],
    ['DAY', 1, '+25:00'], ['DAY', 1, '+02:00 midnight'], ['DAY', 3, 'No/Where'], ['DAY', 4, 'UTC'], ['DAY', '3', 'UTC'],
    ['2026-01-02 03:04:05', 3, 'UTC'], ['2026-02-31 03:04:05.000000', 3, 'UTC'], ['2100-02-29 03:04:05.000000', 3, 'UTC'],
    ['2026-01-02 24:00:00.000000', 3, 'UTC'], ['2026-01-02T03:04:05.000000', 3, 'UTC']] as $data) {
    // So that the request knows the zones.
    compare('known zones', [new DateTime('2026-01-01', new DateTimeZone('UTC')), new DateTime('2026-01-01', new DateTimeZone('EST'))]);
    foreach (['2026-01-02 00:00:00', '2026-03-04 13:04:05', '2026-05-06 00:00:00'] as $day) {
        Answers::$data = array_combine(['date', 'timezone_type', 'timezone'], str_replace('DAY', "$day.000000", $data));
        is_int($data[1]) && Answers::$data['timezone_type'] = $data[1];
        compare(json_encode($data), [new Answers()]);
        Answers::$data += ['more' => 1];
        compare(json_encode($data) . ' and more', [new Answers()]);
        Answers::$data = array_reverse(array_slice(Answers::$data, 0, 3));
        compare(json_encode($data) . ' reversed', [new Answers()]);
    }
}

// One date at several places, by references and in objects.
$date = new DateTime('2026-01-02 03:04', new DateTimeZone('UTC'));
$objects = [$date, (object)['date' => $date], [[$date]]];
$reference = [&$objects[0], 1];
compare('places', $objects);
compare('a reference to a date', $reference);
unset($reference);
compare('a date that was a reference', [$date, &$date]);
$once = [new DateTime('2026-01-02 03:04', new DateTimeZone('UTC'))];
$reference = &$once[0];
unset($reference);
$once[1] = $once[0];
$once[2] = new ArrayObject();
compare('a date that was a reference, at two places', $once);
Cache::store('k', $objects);
$copy = Cache::fetch('k');
$copy[0]->modify('+1 day');
echo json_encode([$copy[1]->date === $copy[0], $copy[2][0][0] === $copy[0], Cache::fetch('k')[0] == $date]), "\n";

// Dates that were not constructed, and dates in objects with methods.
compare('no time', [(new ReflectionClass(DateTime::class))->newInstanceWithoutConstructor()]);
compare('an iterator', [new ArrayObject([$date, $date]), $date, new ArrayIterator([$date])]);
?>
--EXPECTF--
HONE_SEED=%d
[true,true,true]
