<?php
// Judges each case as PCRE does, without and with its Unicode mode: `php judge.php cases.json`.
declare(strict_types=1);

$judged = 0;
foreach (json_decode(file_get_contents($argv[1]), true, flags: JSON_THROW_ON_ERROR) as $case) {
    // As openapi-generator writes a pattern into a client.
    $pattern = '/' . str_replace('/', '\/', $case['pattern']) . '/';
    foreach (['bytes' => $pattern, 'text' => $pattern . 'u'] as $mode => $expression) {
        $judged++;
        if (preg_match($expression, $case['value']) !== (int) $case['valid']) {
            echo "$mode ", json_encode($case), "\n";
        }
    }
}
echo "$judged judged\n";
