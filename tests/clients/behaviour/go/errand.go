// The errand of the table's clients on go-retryablehttp, with its defaults: four retries, also of a POST.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/hashicorp/go-retryablehttp"
)

var next = regexp.MustCompile(`<([^>]+)>; rel="next"`)

type client struct{ http *retryablehttp.Client }

// need sends a request. It ends the program if the library has no more attempts for it.
func (c client) need(method, path, body, idempotencyKey string, value interface{}) (link string) {
	if path[0] == '/' {
		path = os.Getenv("PETSTORE_URL") + path
	}
	var content interface{}
	if body != "" {
		content = []byte(body)
	}
	request, err := retryablehttp.NewRequest(method, path, content)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PETSTORE_KEY"))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	answer, err := c.http.Do(request)
	check(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	check(err)
	if answer.StatusCode >= 400 {
		check(fmt.Errorf("%s %s: %d", method, path, answer.StatusCode))
	}
	check(json.Unmarshal(data, value))
	return answer.Header.Get("Link")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect(holds bool, what string) {
	if !holds {
		check(fmt.Errorf(what))
	}
}

func main() {
	c := client{retryablehttp.NewClient()}
	c.http.Logger = nil
	var anything interface{}
	// All pets, by the links of the server.
	pets := 0
	for path := "/pets?limit=20"; path != ""; {
		var page []interface{}
		found := next.FindStringSubmatch(c.need("GET", path, "", "", &page))
		pets += len(page)
		path = ""
		if found != nil {
			path = found[1]
		}
	}
	expect(pets >= 100, "pets are missing")
	// Some pets, each by its number.
	for pet := 1; pet <= 12; pet++ {
		c.need("GET", fmt.Sprintf("/pets?id=%d", pet), "", "", &anything)
	}
	// A category is read twice and changed.
	for times := 0; times < 2; times++ {
		c.need("GET", "/categories/1", "", "", &anything)
	}
	c.need("PUT", "/categories/1", `{"name": "Birds of prey"}`, "", &anything)
	// Two orders. What the library repeats has the same Idempotency-Key.
	for pet := 7; pet <= 8; pet++ {
		var order struct{ PetId int }
		c.need("POST", "/store/orders", fmt.Sprintf(`{"petId": %d}`, pet), fmt.Sprintf("order-of-%d", pet), &order)
		expect(order.PetId == pet, "an order of another pet")
	}
	var orders []interface{}
	c.need("GET", "/store/orders?petId=7", "", "", &orders)
	expect(len(orders) == 1, "there is not one order")
	c.need("GET", "/inventory", "", "", &anything)
}
