# The petstore through the Ruby client that openapi-generator makes of openapi.yaml.
#
#   openapi-generator-cli generate -g ruby -i openapi.yaml -o client --additional-properties=gemName=petstore_client
#   PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… ruby -I client/lib tour.rb
#
# The shop is empty at the start. The second key is one of the Free plan; it is used up.

require 'cgi'
require 'petstore_client'
require 'time'
require 'uri'

include PetstoreClient

def client(key)
  address = URI(ENV.fetch('PETSTORE_URL'))
  configuration = Configuration.new do |it|
    it.scheme, it.host, it.base_path = address.scheme, "#{address.host}:#{address.port}", address.path
    it.access_token = key
  end
  ApiClient.new(configuration)
end

# Returns the refusal of a call with the given status, and its body as the generated error type.
def refused(status)
  yield
  raise "no #{status}"
rescue ApiError => e
  equal(e.code, status)
  [e, Error.build_from_hash(JSON.parse(e.response_body, symbolize_names: true))]
end

def equal(found, expected)
  raise "#{expected.inspect}, not #{found.inspect}" unless found == expected
end

# Returns the cursor in the address that Link calls the next page, or nil.
def next_cursor(headers)
  address = headers['Link'][/<([^>]+)>; rel="next"/, 1]
  address && CGI.parse(URI(address).query)['cursor'].first
end

api = client(ENV.fetch('PETSTORE_KEY'))
categories, animals = CategoriesApi.new(api), AnimalsApi.new(api)
inventory, orders = InventoryApi.new(api), OrdersApi.new(api)

# A category and a pet, with names and texts beyond ASCII.
text = "Groß, flauschig – und hungrig.\nNur für Kenner."
bears = categories.create_category(NewCategory.new(name: 'Bären', description: text))
equal(bears.description, text)
pet = animals.create_pet(NewPet.new(name: 'Bär 🐻', category_id: bears.id))
found = animals.list_pets(name: 'bär 🐻').first
equal([found.name, found.status], ['Bär 🐻', PetStatus::AVAILABLE])

# An order with a date, complete. A Time has to be given as its text, since the client would send it in a form of Ruby's own.
date = Time.utc(2030, 1, 1, 12)
order = orders.place_order(NewOrder.new(pet_id: pet.id, ship_date: date.iso8601), idempotency_key: 'tour-1')
equal(order.ship_date, date)

# The only unit is taken.
_, error = refused(409) { orders.place_order(NewOrder.new(pet_id: pet.id)) }
equal(error.code, ErrorCode::PET_NOT_AVAILABLE)
equal(orders.update_order(order.id, OrderUpdate.new(complete: true)).complete, true)

# Two more orders; all three are read two at a time.
inventory.update_inventory(pet.id, InventoryUpdate.new(quantity: 2))
2.times { orders.place_order(NewOrder.new(pet_id: pet.id)) }
equal(orders.list_orders.size, 3)
pages, options = [], { limit: 2 }
loop do
  page, _status, headers = orders.list_orders_with_http_info(options)
  pages << page.size
  options[:cursor] = next_cursor(headers) or break
end
equal(pages, [2, 1])

# The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
free = AnimalsApi.new(client(ENV.fetch('PETSTORE_FREE_KEY')))
refusal, error = refused(429) { 1001.times { free.list_pets } }
equal([ErrorCode::RATE_LIMIT_EXCEEDED, ErrorCode::QUOTA_EXCEEDED].include?(error.code), true)
equal(Integer(refusal.response_headers['Retry-After']) >= 1, true)
puts 'the tour is over'
