import t from "tap";
import { Database } from "../../db/postgres/database.js";
import { postgresStore } from "../../db/postgres/index.js";
import { startPostgres } from "../servers/postgres.js";
import { erasing } from "./postgres/erasing.js";
import { failover } from "./postgres/failover.js";
import { following } from "./postgres/following.js";
import { logs } from "./postgres/logs.js";
import { lost } from "./postgres/lost.js";
import { meeting } from "./postgres/meeting.js";
import { lanes } from "./postgres/lanes.js";
import { outages } from "./postgres/outages.js";
import { plans } from "./postgres/plans.js";
import type { Part } from "./postgres/setup.js";
import { remains } from "./postgres/remains.js";
import { searching } from "./postgres/searching.js";
import { silence } from "./postgres/silence.js";
import { staleness } from "./postgres/staleness.js";
import { starting } from "./postgres/starting.js";
import { upgrading } from "./postgres/upgrading.js";
import { texts } from "./postgres/texts.js";
import { storeContract } from "../db/store-contract/index.js";

const server = await startPostgres();
t.teardown(() => server.close());

void t.test("PostgreSQL", async (t) => {
  await storeContract(t, async () => {
    const url = await server.createDatabase();
    return async () =>
      postgresStore(await Database.open({ url, pool: 4 }, { create: true }));
  });
});

const parts: Record<string, Part> = {
  staleness,
  logs,
  lost,
  following,
  outages,
  silence,
  failover,
  starting,
  upgrading,
  lanes,
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
