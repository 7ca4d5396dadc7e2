import { ACCESS, type Resource } from "../resource.js";

const LIST = "/api/v1/worlds/:world_id/sessions/";
const ONE = `${LIST}:session_id/`;

const sessions: Resource = {
  parameter: "session_id",
  access: {
    [`GET ${LIST}`]: ACCESS.read,
    [`POST ${LIST}`]: ACCESS.make,
    [`GET ${ONE}`]: ACCESS.readInRoom,
    [`PATCH ${ONE}`]: ACCESS.readInRoom,
    [`DELETE ${ONE}`]: ACCESS.deleteInRoom,
  },
  bodies: {
    "/sessions/": (title) => ({ title }),
    "/sessions/:session_id/": (title) => ({ title }),
  },
  async make({ program }, room) {
    const draft = { title: "x", room_id: room };
    const made = await program.createSession("demo", draft);
    return "session" in made ? made.session.value.id : "";
  },
  async has({ program }, id) {
    const { sessions } = await program.get("demo");
    return sessions.some(({ value }) => value.id === id);
  },
  life: {
    list: LIST,
    draft: {
      title: "Maps",
      abstract: "a",
      starts_at: "2027-03-01T09:00:00.000Z",
      ends_at: "2027-03-01T09:40:00.000Z",
      tags: ["maps"],
      state: "draft",
    },
    changes: { title: "Maps for all" },
    record: "session",
  },
};

export default sessions;
