import t from "tap";
import { startPostgres } from "../servers/postgres.js";
import { cachedUsers } from "./postgres/cached-users.js";
import { erasing } from "./postgres/erasing.js";
import { following } from "./postgres/following.js";
import { lanes } from "./postgres/lanes.js";
import { logs } from "./postgres/logs.js";
import { lost } from "./postgres/lost.js";
import { meeting } from "./postgres/meeting.js";
import { plans } from "./postgres/plans.js";
import { remains } from "./postgres/remains.js";
import { searching } from "./postgres/searching.js";
import { staleness } from "./postgres/staleness.js";
import { tables } from "./postgres/tables.js";
import { texts } from "./postgres/texts.js";
import type { Part } from "./postgres/setup.js";

// What nodes keep of a shared PostgreSQL, and what it holds.

const server = await startPostgres();
t.teardown(() => server.close());

const parts: Record<string, Part> = {
  staleness,
  logs,
  lost,
  following,
  cachedUsers,
  lanes,
  tables,
  texts,
  plans,
  erasing,
  meeting,
  remains,
  searching,
};

for (const [name, part] of Object.entries(parts)) {
  void t.test(name, (t) => part(t, server));
}
