import t from "tap";
import { startPostgres } from "../servers/postgres.js";
import { failover } from "./postgres/failover.js";
import { outages } from "./postgres/outages.js";
import { silence } from "./postgres/silence.js";
import { starting } from "./postgres/starting.js";
import { upgrading } from "./postgres/upgrading.js";
import type { Part } from "./postgres/setup.js";

// A PostgreSQL that starts, ends, falls silent or is upgraded.

const server = await startPostgres();
t.teardown(() => server.close());

const parts: Record<string, Part> = {
  outages,
  silence,
  failover,
  starting,
  upgrading,
};

for (const [name, part] of Object.entries(parts)) {
  void t.test(name, (t) => part(t, server));
}
