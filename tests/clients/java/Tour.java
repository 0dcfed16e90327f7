/*
 * The petstore through the Java client that openapi-generator makes of openapi.yaml, on the HTTP client of the JDK.
 *
 *   openapi-generator-cli generate -g java --library native -i openapi.yaml -o client \
 *     --additional-properties=openApiNullable=false,useJakartaEe=true,invokerPackage=petstore,apiPackage=petstore.api,modelPackage=petstore.model
 *   PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… java -cp … Tour
 *
 * On the class path: Jackson with its module jsr310, jakarta.annotation-api, and the classes of client/src/main.
 * The shop is empty at the start. The second key is one of the Free plan; it is used up.
 */

import java.net.URI;
import java.net.http.HttpHeaders;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import petstore.ApiClient;
import petstore.ApiException;
import petstore.api.AnimalsApi;
import petstore.api.CategoriesApi;
import petstore.api.InventoryApi;
import petstore.api.OrdersApi;
import petstore.model.Error;
import petstore.model.ErrorCode;
import petstore.model.InventoryUpdate;
import petstore.model.NewCategory;
import petstore.model.NewOrder;
import petstore.model.NewPet;
import petstore.model.OrderUpdate;
import petstore.model.PetStatus;

public final class Tour {
    private interface Call {
        void make() throws ApiException;
    }

    private static ApiClient client(String key) {
        var client = new ApiClient();
        client.updateBaseUri(System.getenv("PETSTORE_URL"));
        return client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    }

    /** Returns the refusal of a call with the given status. */
    private static ApiException refused(int status, Call call) {
        try {
            call.make();
        } catch (ApiException refusal) {
            equal(refusal.getCode(), status);
            return refusal;
        }
        throw new AssertionError("no " + status);
    }

    /** Returns the body of a refusal as the generated error type. */
    private static Error error(ApiException refusal) throws Exception {
        return ApiClient.createDefaultObjectMapper().readValue(refusal.getResponseBody(), Error.class);
    }

    private static void equal(Object found, Object expected) {
        if (!expected.equals(found)) {
            throw new AssertionError(expected + ", not " + found);
        }
    }

    /** Returns the cursor in the address that Link calls the next page, or null. */
    private static String nextCursor(java.util.Map<String, List<String>> headers) {
        var link = Pattern.compile("<([^>]+)>; rel=\"next\"").matcher(headers.get("link").get(0));
        if (!link.find()) {
            return null;
        }
        var cursor = Pattern.compile("(?:^|&)cursor=([^&]+)").matcher(URI.create(link.group(1)).getQuery());
        equal(cursor.find(), true);
        return cursor.group(1);
    }

    public static void main(String[] arguments) throws Exception {
        var api = client(System.getenv("PETSTORE_KEY"));
        var categories = new CategoriesApi(api);
        var animals = new AnimalsApi(api);
        var inventory = new InventoryApi(api);
        var orders = new OrdersApi(api);

        // A category and a pet, with names and texts beyond ASCII.
        var text = "Groß, flauschig – und hungrig.\nNur für Kenner.";
        var bears = categories.createCategory(new NewCategory().name("Bären").description(text), null);
        equal(bears.getDescription(), text);
        var pet = animals.createPet(new NewPet().name("Bär 🐻").categoryId(bears.getId()), null);
        var found = animals.listPets(null, null, null, List.of(PetStatus.AVAILABLE), null, "bär 🐻", null, null).get(0);
        equal(found.getName(), "Bär 🐻");

        // An order with a date, complete.
        var date = OffsetDateTime.parse("2030-01-01T12:00:00Z");
        var order = orders.placeOrder(new NewOrder().petId(pet.getId()).shipDate(date), "tour-1");
        equal(order.getShipDate().toInstant(), date.toInstant());

        // The only unit is taken.
        var plain = new NewOrder().petId(pet.getId());
        equal(error(refused(409, () -> orders.placeOrder(plain, null))).getCode(), ErrorCode.PET_NOT_AVAILABLE);
        var complete = orders.updateOrder(order.getId(), new OrderUpdate().complete(true), null, null);
        equal(complete.getComplete(), true);

        // Two more orders; all three are read two at a time.
        inventory.updateInventory(pet.getId(), new InventoryUpdate().quantity(2), null, null);
        orders.placeOrder(plain, null);
        orders.placeOrder(plain, null);
        equal(orders.listOrders(null, null, null, null, null, null).size(), 3);
        var pages = new ArrayList<Integer>();
        String cursor = null;
        do {
            var page = orders.listOrdersWithHttpInfo(2, cursor, null, null, null, null);
            pages.add(page.getData().size());
            cursor = nextCursor(page.getHeaders());
        } while (cursor != null);
        equal(pages, List.of(2, 1));

        // The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
        var free = new AnimalsApi(client(System.getenv("PETSTORE_FREE_KEY")));
        var refusal = refused(429, () -> {
            for (int asked = 0; asked < 1001; asked++) {
                free.listPets(null, null, null, null, null, null, null, null);
            }
        });
        equal(Set.of(ErrorCode.RATE_LIMIT_EXCEEDED, ErrorCode.QUOTA_EXCEEDED).contains(error(refusal).getCode()), true);
        HttpHeaders headers = refusal.getResponseHeaders();
        equal(headers.firstValueAsLong("Retry-After").orElse(0) >= 1, true);
        System.out.println("the tour is over");
    }
}
