import java.io.File;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.FilesApi;
import org.openapitools.client.api.RoomsApi;
import org.openapitools.client.model.Module;
import org.openapitools.client.model.RoomDraft;

public class Main {
  static ApiClient as(String token) {
    return new ApiClient()
        .setBasePath(System.getenv("BASE_URL"))
        .addDefaultHeader("Authorization", "Bearer " + System.getenv(token));
  }

  public static void main(String[] args) throws Exception {
    RoomsApi api = new RoomsApi(as("TOKEN"));
    List<String> rooms =
        api.listRooms("sample", null, 10, null, null, null, null).getResults().stream()
            .map(room -> '"' + room.getName() + '"')
            .toList();

    Module chat = new Module().type("chat.native");
    chat.putAdditionalProperty("config", java.util.Map.of("volatile", true));
    RoomDraft draft = new RoomDraft().name("By openapi-generator").addModuleConfigItem(chat);
    String created = api.createRoom("sample", draft).getId().toString();

    try {
      api.createRoom("sample", new RoomDraft().name(""));
      throw new AssertionError("A room without a name was made.");
    } catch (ApiException refused) {
      if (refused.getCode() != 400) throw refused;
    }

    String url = new FilesApi(as("UPLOADER")).uploadFile(new File(System.getenv("FILE")), null, null, null).getUrl().toString();
    System.out.printf("{\"rooms\": %s, \"created\": \"%s\", \"url\": \"%s\"}%n", rooms, created, url);
  }
}
