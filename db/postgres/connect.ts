import pg from "pg";
import { addressOf } from "../choice.js";
import { StoreError } from "../store.js";
import { explain } from "./errors.js";
import { expectVersion, versionOf } from "./upgrade.js";

/** How long a connection may take, in milliseconds. */
const CONNECT_TIMEOUT = 5000;

/** A connection for long work. It is of no pool, and no statement is too slow. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "foyer",
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
  });
  // What is under way fails with the same error.
  client.on("error", () => {});
  try {
    await client.connect();
    // The server may have limits for all others.
    await client.query(
      "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0",
    );
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    return explain(error);
  }
}

/**
 * A connection to a database that has the tables of this Foyer.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function connectToTables(url: string): Promise<pg.Client> {
  const client = await connect(url);
  try {
    if ((await versionOf(client)) === 0) {
      throw new StoreError(
        "unusable",
        `there are no worlds in ${addressOf(url)}`,
      );
    }
    await expectVersion(client);
    return client;
  } catch (error) {
    await client.end();
    return explain(error);
  }
}
