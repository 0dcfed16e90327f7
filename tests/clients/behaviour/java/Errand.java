import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** The errand of the table's clients on the HTTP client of the JDK, as it is: it repeats no request after an answer. */
public final class Errand {
    private static final Pattern NEXT = Pattern.compile("<([^>]+)>; rel=\"next\"");
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** Sends a request. Ends the program if it fails. */
    private static HttpResponse<String> need(String method, String path, String body, String... headers) throws Exception {
        var url = path.startsWith("http") ? path : System.getenv("PETSTORE_URL") + path;
        var content = body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(url)).method(method, content);
        request.header("Authorization", "Bearer " + System.getenv("PETSTORE_KEY"));
        if (body != null) request.header("Content-Type", "application/json");
        if (headers.length > 0) request.headers(headers);
        var answer = CLIENT.send(request.build(), BodyHandlers.ofString());
        expect(answer.statusCode() < 400, method + " " + path + ": " + answer.statusCode());
        // The JDK has no parser of JSON. Here the beginning and the end have to do.
        var text = answer.body().strip();
        expect(text.matches("(?s)\\{.*\\}|\\[.*\\]"), method + " " + path + ": no JSON");
        return answer;
    }

    private static void expect(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    private static int count(String text, String part) {
        return text.split(Pattern.quote(part), -1).length - 1;
    }

    public static void main(String[] arguments) throws Exception {
        // All pets, by the links of the server.
        int pets = 0;
        for (var path = "/pets?limit=20"; path != null;) {
            var page = need("GET", path, null);
            pets += count(page.body(), "\"categoryId\"");
            var next = NEXT.matcher(page.headers().firstValue("Link").orElse(""));
            path = next.find() ? next.group(1) : null;
        }
        expect(pets >= 100, pets + " pets");
        // Some pets, each by its number.
        for (int pet = 1; pet <= 12; pet++) need("GET", "/pets?id=" + pet, null);
        // A category is read twice and changed.
        for (int times = 0; times < 2; times++) need("GET", "/categories/1", null);
        need("PUT", "/categories/1", "{\"name\": \"Birds of prey\"}");
        // Two orders.
        for (int pet = 7; pet <= 8; pet++) {
            var order = need("POST", "/store/orders", "{\"petId\": " + pet + "}", "Idempotency-Key", "order-of-" + pet);
            expect(order.body().contains("\"petId\":" + pet), "an order of another pet");
        }
        expect(count(need("GET", "/store/orders?petId=7", null).body(), "\"petId\"") == 1, "there is not one order");
        need("GET", "/inventory", null);
    }
}
