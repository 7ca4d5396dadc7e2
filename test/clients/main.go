package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"

	"clients/foyer"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func as(token string) foyer.ClientOption {
	return foyer.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
}

func main() {
	ctx, base := context.Background(), os.Getenv("BASE_URL")
	client := must(foyer.NewClientWithResponses(base, as(os.Getenv("TOKEN"))))

	size := 10
	list := must(client.ListRoomsWithResponse(ctx, "sample", &foyer.ListRoomsParams{PageSize: &size}))
	if list.JSON200 == nil {
		panic(list.Status())
	}
	rooms := []string{}
	for _, room := range list.JSON200.Results {
		rooms = append(rooms, room.Name)
	}

	chat := foyer.Module{Type: "chat.native"}
	chat.Set("config", map[string]any{"volatile": true})
	made := must(client.CreateRoomWithResponse(ctx, "sample", foyer.RoomDraft{
		Name:         "By oapi-codegen",
		ModuleConfig: &[]foyer.Module{chat},
	}))
	if made.JSON201 == nil {
		panic(made.Status())
	}

	refused := must(client.CreateRoomWithResponse(ctx, "sample", foyer.RoomDraft{Name: ""}))
	if refused.JSON400 == nil {
		panic(refused.Status())
	}

	body := &strings.Builder{}
	form := multipart.NewWriter(body)
	part := must(form.CreateFormFile("file", "dot.svg"))
	must(io.Copy(part, must(os.Open(os.Getenv("FILE")))))
	form.Close()
	uploader := must(foyer.NewClientWithResponses(base, as(os.Getenv("UPLOADER"))))
	uploaded := must(uploader.UploadFileWithBodyWithResponse(ctx, nil, form.FormDataContentType(), strings.NewReader(body.String())))
	if uploaded.JSON201 == nil {
		panic(uploaded.Status())
	}
	fmt.Println(string(must(json.Marshal(map[string]any{
		"rooms":   rooms,
		"created": made.JSON201.Id,
		"url":     uploaded.JSON201.Url,
	}))))
}
