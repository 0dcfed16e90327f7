// The petstore through the Go client that openapi-generator makes of openapi.yaml.
//
//	openapi-generator-cli generate -g go -i openapi.yaml -o petstore \
//	  --additional-properties=packageName=petstore,withGoMod=false \
//	  --model-name-mappings=NewPet=PetInput,NewCategory=CategoryInput,NewOrder=OrderInput,NewWebhook=WebhookInput
//	go mod init tour && PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… go run .
//
// The shop is empty at the start. The second key is one of the Free plan; it is used up.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"tour/petstore"
)

func client(key string) *petstore.APIClient {
	configuration := petstore.NewConfiguration()
	configuration.Servers = petstore.ServerConfigurations{{URL: os.Getenv("PETSTORE_URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+key)
	return petstore.NewAPIClient(configuration)
}

// Returns the answer of a call that must succeed.
func done[T any](answer T, _ *http.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

// Returns the error that the service answered a refused call with.
func refused(err error) petstore.Error {
	var failure *petstore.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(fmt.Sprintf("no error of the API: %v", err))
	}
	return failure.Model().(petstore.Error)
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%v, not %v", expected, found))
	}
}

// Returns the cursor in the address that Link calls the next page, or an empty text.
func nextCursor(headers http.Header) string {
	link := regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(headers.Get("Link"))
	if link == nil {
		return ""
	}
	address, _ := url.Parse(link[1])
	return address.Query().Get("cursor")
}

func main() {
	ctx, api := context.Background(), client(os.Getenv("PETSTORE_KEY"))

	// A category and a pet, with names and texts beyond ASCII.
	input := petstore.NewCategoryInput("Bären")
	input.SetDescription("Groß, flauschig – und hungrig.\nNur für Kenner.")
	bears := done(api.CategoriesAPI.CreateCategory(ctx).CategoryInput(*input).Execute())
	equal(bears.GetDescription(), input.GetDescription())
	pet := done(api.AnimalsAPI.CreatePet(ctx).PetInput(*petstore.NewPetInput("Bär 🐻", bears.Id)).Execute())
	pets := done(api.AnimalsAPI.ListPets(ctx).Name("bär 🐻").Execute())
	equal(pets[0].Name, "Bär 🐻")
	equal(*pets[0].Status, petstore.AVAILABLE)

	// An order with a date, complete.
	wanted := petstore.NewOrderInput(pet.Id)
	wanted.SetShipDate(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	order := done(api.OrdersAPI.PlaceOrder(ctx).OrderInput(*wanted).IdempotencyKey("tour-1").Execute())
	equal(order.GetShipDate().UTC(), wanted.GetShipDate())

	// The only unit is taken.
	_, answer, err := api.OrdersAPI.PlaceOrder(ctx).OrderInput(*petstore.NewOrderInput(pet.Id)).Execute()
	equal(answer.StatusCode, 409)
	equal(refused(err).Code, petstore.PET_NOT_AVAILABLE)
	change := petstore.NewOrderUpdate()
	change.SetComplete(true)
	equal(done(api.OrdersAPI.UpdateOrder(ctx, order.GetId()).OrderUpdate(*change).Execute()).GetComplete(), true)

	// Two more orders; all three are read two at a time.
	done(api.InventoryAPI.UpdateInventory(ctx, pet.Id).InventoryUpdate(*petstore.NewInventoryUpdate(2)).Execute())
	for i := 0; i < 2; i++ {
		done(api.OrdersAPI.PlaceOrder(ctx).OrderInput(*petstore.NewOrderInput(pet.Id)).Execute())
	}
	equal(len(done(api.OrdersAPI.ListOrders(ctx).Execute())), 3)
	var pages []int
	request := api.OrdersAPI.ListOrders(ctx).Limit(2)
	for cursor := "first"; cursor != ""; request = request.Cursor(cursor) {
		orders, answer, err := request.Execute()
		pages = append(pages, len(done(orders, answer, err)))
		cursor = nextCursor(answer.Header)
	}
	equal(pages, []int{2, 1})

	// The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
	free := client(os.Getenv("PETSTORE_FREE_KEY"))
	for asked := 0; err == nil || asked == 0; asked++ {
		_, answer, err = free.AnimalsAPI.ListPets(ctx).Execute()
	}
	equal(answer.StatusCode, 429)
	if code := refused(err).Code; code != petstore.RATE_LIMIT_EXCEEDED && code != petstore.QUOTA_EXCEEDED {
		panic(code)
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 {
		panic("no Retry-After")
	}
	fmt.Println("the tour is over")
}
