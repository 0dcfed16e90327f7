<?php
/*
 * The petstore through the PHP client that openapi-generator makes of openapi.yaml.
 *
 *   openapi-generator-cli generate -g php -i openapi.yaml -o client --additional-properties=invokerPackage=PetstoreClient
 *   PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… php tour.php client/lib
 *
 * Guzzle and the client are loaded without Composer here: from Debian's php-guzzlehttp-guzzle, and from the given folder.
 * The shop is empty at the start. The second key is one of the Free plan; it is used up.
 */

declare(strict_types=1);

use PetstoreClient\Api\{AnimalsApi, CategoriesApi, InventoryApi, OrdersApi};
use PetstoreClient\Model\{Error, ErrorCode, InventoryUpdate, NewCategory, NewOrder, NewPet, OrderUpdate, PetStatus};
use PetstoreClient\{ApiException, Configuration};

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class) use ($argv): void {
    $file = $argv[1] . '/' . str_replace(['PetstoreClient\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});

function client(string $api, string $key): object
{
    $configuration = (new Configuration())->setHost(getenv('PETSTORE_URL'))->setAccessToken($key);
    return new $api(new GuzzleHttp\Client(), $configuration);
}

/** Returns the refusal of a call with the given status. */
function refused(int $status, callable $call): ApiException
{
    try {
        $call();
    } catch (ApiException $refusal) {
        equal($refusal->getCode(), $status);
        equal($refusal->getResponseObject()::class, Error::class);
        return $refusal;
    }
    throw new Exception("no $status");
}

function equal(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception(var_export($expected, true) . ', not ' . var_export($found, true));
    }
}

/** Returns the cursor in the address that Link calls the next page, or null. */
function nextCursor(array $headers): ?string
{
    if (!preg_match('/<([^>]+)>; rel="next"/', $headers['link'][0], $link)) {
        return null;
    }
    parse_str(parse_url($link[1], PHP_URL_QUERY), $query);
    return $query['cursor'];
}

$key = getenv('PETSTORE_KEY');
$categories = client(CategoriesApi::class, $key);
$animals = client(AnimalsApi::class, $key);
$inventory = client(InventoryApi::class, $key);
$orders = client(OrdersApi::class, $key);

// A category and a pet, with names and texts beyond ASCII.
$text = "Groß, flauschig – und hungrig.\nNur für Kenner.";
$bears = $categories->createCategory(new NewCategory(['name' => 'Bären', 'description' => $text]));
equal($bears->getDescription(), $text);
$pet = $animals->createPet(new NewPet(['name' => 'Bär 🐻', 'category_id' => $bears->getId()]));
[$found] = $animals->listPets(name: 'bär 🐻');
equal([$found->getName(), $found->getStatus()], ['Bär 🐻', PetStatus::AVAILABLE]);

// An order with a date, complete.
$date = new DateTime('2030-01-01T12:00:00Z');
$wanted = new NewOrder(['pet_id' => $pet->getId(), 'ship_date' => $date]);
$order = $orders->placeOrder($wanted, idempotency_key: 'tour-1');
equal($order->getShipDate()->getTimestamp(), $date->getTimestamp());

// The only unit is taken.
$plain = new NewOrder(['pet_id' => $pet->getId()]);
$refusal = refused(409, fn() => $orders->placeOrder($plain));
equal($refusal->getResponseObject()->getCode(), ErrorCode::PET_NOT_AVAILABLE);
equal($orders->updateOrder($order->getId(), new OrderUpdate(['complete' => true]))->getComplete(), true);

// Two more orders; all three are read two at a time.
$inventory->updateInventory($pet->getId(), new InventoryUpdate(['quantity' => 2]));
$orders->placeOrder($plain);
$orders->placeOrder($plain);
equal(count($orders->listOrders()), 3);
$pages = [];
$cursor = null;
do {
    [$page, , $headers] = $orders->listOrdersWithHttpInfo(limit: 2, cursor: $cursor);
    $pages[] = count($page);
    $cursor = nextCursor($headers);
} while ($cursor !== null);
equal($pages, [2, 1]);

// The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
$free = client(AnimalsApi::class, getenv('PETSTORE_FREE_KEY'));
$refusal = refused(429, function () use ($free): void {
    for ($asked = 0; $asked < 1001; $asked++) {
        $free->listPets();
    }
});
$code = $refusal->getResponseObject()->getCode();
equal(in_array($code, [ErrorCode::RATE_LIMIT_EXCEEDED, ErrorCode::QUOTA_EXCEEDED], true), true);
equal((int) $refusal->getResponseHeaders()['retry-after'][0] >= 1, true);
echo "the tour is over\n";
