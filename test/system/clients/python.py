import json
import os

from foyer import AuthenticatedClient
from foyer.api.files import upload_file
from foyer.api.rooms import create_room, list_rooms
from foyer.models import Faults, Module, Room, RoomDraft, RoomList, Upload, UploadForm
from foyer.types import File

base_url, path = os.environ["BASE_URL"], os.environ["FILE"]
client = AuthenticatedClient(base_url=base_url, token=os.environ["TOKEN"])

listed = list_rooms.sync("sample", client=client, page_size=10)
assert isinstance(listed, RoomList), listed

chat = Module.from_dict({"type": "chat.native", "config": {"volatile": True}})
draft = RoomDraft(name="By openapi-python-client", module_config=[chat])
made = create_room.sync("sample", client=client, body=draft)
assert isinstance(made, Room), made
assert made.module_config[0]["config"] == {"volatile": True}, made

refused = create_room.sync("sample", client=client, body=RoomDraft(name=""))
assert isinstance(refused, Faults), refused

uploader = AuthenticatedClient(base_url=base_url, token=os.environ["UPLOADER"])
with open(path, "rb") as payload:
    form = UploadForm(file=File(payload=payload, file_name="dot.svg", mime_type="image/svg+xml"))
    uploaded = upload_file.sync(client=uploader, body=form)
assert isinstance(uploaded, Upload), uploaded
rooms = [room.name for room in listed.results]
print(json.dumps({"rooms": rooms, "created": str(made.id), "url": uploaded.url}))
