// fetch HOST PORT: by net/http, then many at once.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

func get(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return strings.TrimSpace(string(body))
}

func main() {
	url := "http://" + os.Args[1] + ":" + os.Args[2]
	fmt.Println(get(url + "/go"))
	var wait sync.WaitGroup
	answers := make([]string, 50)
	for i := range answers {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			answers[i] = get(url + "/many")
		}(i)
	}
	wait.Wait()
	answered := 0
	for _, answer := range answers {
		if strings.HasPrefix(answer, "hello /many") {
			answered++
		}
	}
	fmt.Println(answered, "of 50")
}
