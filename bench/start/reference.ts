import { join } from "node:path";
import Database from "better-sqlite3";
import Fastify from "fastify";
import { newFolder } from "../servers.js";

// The reference: about the smallest possible server with Fastify and SQLite. Foyer's
// processor time and memory are compared with its.

const db = new Database(join(newFolder(), "reference.db"));
db.exec("CREATE TABLE rooms (id TEXT PRIMARY KEY, name TEXT) STRICT");
db.prepare("INSERT INTO rooms VALUES ('hall', 'Hall')").run();
const find = db.prepare("SELECT id, name FROM rooms WHERE id = ?");

const text = { type: "string" };
const app = Fastify();
app.get(
  "/healthz",
  {
    schema: {
      response: {
        200: { type: "object", properties: { id: text, name: text } },
      },
    },
  },
  async () => find.get("hall"),
);
await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
process.once("SIGTERM", () => process.exit());
