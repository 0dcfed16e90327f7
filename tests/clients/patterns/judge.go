// Judges each case as Go does, in texts and in a character for each byte: `go run judge.go cases.json`.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

func main() {
	var cases []struct {
		Pattern, Value string
		Valid          bool
	}
	file, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(file, &cases)
	}
	if err != nil {
		panic(err)
	}
	judged := 0
	for _, it := range cases {
		pattern := regexp.MustCompile(it.Pattern)
		var bytes []rune
		for _, one := range []byte(it.Value) {
			bytes = append(bytes, rune(one))
		}
		for mode, value := range map[string]string{"text": it.Value, "bytes": string(bytes)} {
			judged++
			if pattern.MatchString(value) != it.Valid {
				fmt.Println(mode, it)
			}
		}
	}
	fmt.Println(judged, "judged")
}
